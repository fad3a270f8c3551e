// A consistent copy of the embedded store, taken while the service runs: a reader of its own sees one moment of
// the database and writes it, packed, to a new file. It holds up no commit.

import { Database } from 'bun:sqlite';
import { existsSync, statSync } from 'node:fs';

const BUSY_MS = 5000;

/** Bytes of the copy. Throws when the source is missing or the target is there already. */
export function backupSqlite(source: string, target: string): number {
  if (!existsSync(source)) throw new Error(`There is no store at ${source}.`);
  if (existsSync(target)) throw new Error(`${target} is there already; a backup never replaces a file.`);
  const db = new Database(source, { readonly: true });
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    db.prepare('VACUUM INTO ?').run(target);
    return statSync(target).size;
  } finally {
    db.close();
  }
}
