// Makes a consistent copy of the SQLite store while the service runs. A handle of its own reads one snapshot of the
// database and writes it, compacted, to a new file, which ends with its checksum. It delays no commit.

import { Database } from 'bun:sqlite';
import { closeSync, openSync, rmSync, statSync } from 'node:fs';
import { endCopy } from './sqlite-copy.ts';
import { realFile } from './sqlite-lock.ts';

const BUSY_MS = 5000;

/** Returns the size of the copy in bytes. Throws when the source is missing or the target already exists. */
export function backupSqlite(source: string, target: string): number {
  const db = new Database(realFile(source), { readonly: true });
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    makeNew(target);
    return copy(db, target);
  } finally {
    db.close();
  }
}

/**
 * Makes an empty file that only its owner can read, for SQLite to fill. Links are not followed, not even dangling ones.
 */
function makeNew(target: string): void {
  try {
    closeSync(openSync(target, 'wx', 0o600));
  } catch (error) {
    throw new Error(`${target} ${whyNot(error as NodeJS.ErrnoException)}`, { cause: error });
  }
}

function whyNot({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'EEXIST')
    return 'is there already, as a file or as a link; a backup never replaces one. Choose another name.';
  if (code === 'ENOENT')
    return 'cannot be made: its folder is not there. Make the folder first, or name another place.';
  if (code === 'EACCES' || code === 'EROFS')
    return 'cannot be made: this user may not write there. Name another place, or run this as the user of the service.';
  return `cannot be made: ${message}`;
}

function copy(db: Database, target: string): number {
  try {
    db.prepare('VACUUM INTO ?').run(target);
    endCopy(target);
    return statSync(target).size;
  } catch (error) {
    rmSync(target, { force: true });
    throw error;
  }
}
