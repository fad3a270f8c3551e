// Puts a copy in the place of the SQLite store. The copy is first written beside the store, where the caller verifies
// it, and takes the store's name in one step at the end. A process that is killed at any point leaves the old store or
// the new one. The store that was there is kept under another name.

import { Database } from 'bun:sqlite';
import { chownSync, existsSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  COMPANIONS,
  copyBytes,
  isDiskFault,
  leaveDatabase,
  requireOneFile,
  requireWholeCopy,
  sizeOf,
  syncPath,
} from './sqlite-copy.ts';
import { type HeldFile, holdFile } from './sqlite-lock.ts';

const BUSY_MS = 5000;

export class Restore {
  readonly #store: HeldFile;
  /** The copy, beside the store. Nothing but the database is in it. */
  readonly draft: string;
  /** The copy of the old store, while it is made. */
  readonly #part: string;

  /** Throws if a process serves the store, or if there is a store and `force` is false. */
  constructor(store: string, force: boolean) {
    this.#store = holdFile(store, { makes: false });
    // Nobody else restores this store now, so what lies there was left behind by a process that was killed.
    this.draft = `${this.path}.restoring`;
    rmSync(this.draft, { force: true });
    this.#part = `${this.path}.keeping`;
    this.#giveToOwner(`${this.path}.lock`);
    if (!this.#isThere() || force) return;
    this.#store.release();
    throw new Error(
      `${this.path} is there already, and a restore does not replace a store unasked. With --force it takes its place, ` +
        'and the store that was there is kept beside it.',
    );
  }

  get path(): string {
    return this.#store.path;
  }

  /** Throws unless the file is a whole copy. Returns the size of the store in it. */
  copy(source: string): number {
    const real = realpathSync(source);
    if (real === this.path) throw new Error('it is the store itself.');
    requireOneFile(real);
    this.#copy(real, this.draft);
    const bytes = requireWholeCopy(this.draft);
    leaveDatabase(this.draft, bytes);
    return bytes;
  }

  /** Puts the copy in its place. Returns the name under which the store that was there is kept; null if there was none. */
  finish(now: number): string | null {
    const kept = this.#isThere() ? this.#keep(now) : null;
    // SQLite would apply these files of the old store to the new one.
    for (const end of COMPANIONS) rmSync(`${this.path}${end}`, { force: true });
    syncPath(dirname(this.path));
    renameSync(this.draft, this.path);
    syncPath(dirname(this.path));
    return kept;
  }

  /** An empty file is what a start leaves that was killed at once. */
  #isThere(): boolean {
    return sizeOf(this.path) > 0 || sizeOf(`${this.path}-wal`) > 0;
  }

  /** Must be called at the end, whatever happened. */
  close(): void {
    rmSync(this.draft, { force: true });
    for (const end of ['', ...COMPANIONS]) rmSync(`${this.#part}${end}`, { force: true });
    this.#store.release();
  }

  /**
   * Copies the old store, before SQLite opens it, since SQLite removes the log of some damaged files. A second name (a
   * link) would cost no space, but until the end of the restore the service would refuse a store with two names.
   */
  #keep(now: number): string {
    const kept = freeName(`${this.path}.before-${new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')}`);
    const part = this.#part;
    for (const end of ['', ...COMPANIONS]) {
      rmSync(`${part}${end}`, { force: true });
      if (existsSync(`${this.path}${end}`)) this.#copy(`${this.path}${end}`, `${part}${end}`);
    }
    // From here on the old store is whole without its log, which must be gone before the new one gets its name.
    if (mergeLog(this.path)) mergeLog(part);
    // The copy gets its name when it is complete.
    for (const end of [...COMPANIONS, '']) {
      if (existsSync(`${part}${end}`)) renameSync(`${part}${end}`, `${kept}${end}`);
    }
    syncPath(dirname(this.path));
    return kept;
  }

  #copy(source: string, target: string): void {
    copyBytes(source, target);
    this.#giveToOwner(target);
  }

  /** Where root restores for a service of another user, that service must be able to use the files. */
  #giveToOwner(file: string): void {
    if (process.getuid?.() !== 0) return;
    const { uid, gid } = statSync(existsSync(this.path) ? this.path : dirname(this.path));
    chownSync(file, uid, gid);
  }
}

/**
 * Moves the write-ahead log of a store into its file. False if the store is damaged, so that this cannot be done. Throws
 * if the disk does not allow it.
 */
function mergeLog(path: string): boolean {
  let busy: number;
  try {
    const db = new Database(path, { readwrite: true, create: false });
    try {
      db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
      // A statement that is not ended keeps the file open after `close`, and its log is not removed.
      using checkpoint = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
      busy = (checkpoint.get() as { busy: number }).busy;
    } finally {
      db.close();
    }
  } catch (error) {
    if (isDiskFault(error)) throw error;
    return false;
  }
  if (busy === 0) return true;
  throw new Error(`Another program is reading ${path}: try again when it has finished.`);
}

function freeName(name: string): string {
  for (let number = 1; ; number++) {
    const free = number === 1 ? name : `${name}-${number}`;
    if (!existsSync(free)) return free;
  }
}
