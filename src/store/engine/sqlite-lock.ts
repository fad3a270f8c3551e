// One SQLite file serves one process. This file resolves the path of the database, creates it readable by its owner
// only, and takes two locks: one on a file beside it, which all versions and systems use, and one on the database
// itself, which also holds if the file was moved or is mounted under another path. The operating system releases both
// when the process ends.

import { Database } from 'bun:sqlite';
import { closeSync, constants, lstatSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type FileLock, lockDescriptor } from './file-lock.ts';

const FOR_OWNER = 0o600;

export interface HeldFile {
  /** The real path of the file: SQLite puts its write-ahead log beside that name. */
  path: string;
  /**
   * Must be called after every handle is closed, because closing any descriptor of a file releases SQLite's own locks
   * on it.
   */
  release(): void;
}

/**
 * Creates the file if it does not exist, unless `makes` is false: then only its name is held. Throws when another
 * process serves it.
 */
export function holdFile(path: string, { makes } = { makes: true }): HeldFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (makes) makeEmpty(path);
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  const real = isThere ? realFile(path) : join(realpathSync(dirname(path)), basename(path));
  makeEmpty(`${real}.lock`);
  const beside = lockBeside(real);
  const itself = isThere ? lockItself(real) : null;
  if (itself === 'taken') {
    beside.close();
    throw inUse(real);
  }
  return {
    path: real,
    release: () => {
      itself?.release();
      beside.close();
    },
  };
}

/**
 * The file behind a path, with links resolved. A file with a second name is refused: SQLite names the write-ahead log
 * after the name it is opened by, so what was committed under one name would be missing under the other.
 */
export function realFile(path: string): string {
  const real = whereIs(path);
  const { nlink, isFolder } = kindOf(real);
  if (isFolder) throw new Error(`${real} is a folder; the store is a file, such as ${real}/toolgate.db.`);
  if (nlink > 1) {
    throw new Error(
      `${real} has ${nlink} names (hard links). SQLite keeps what was last committed beside the name it was opened ` +
        'by, so a second name would lose it: remove the other names, and use `toolgate backup` to make a copy.',
    );
  }
  return real;
}

function kindOf(path: string): { nlink: number; isFolder: boolean } {
  const found = statSync(path);
  return { nlink: found.nlink, isFolder: found.isDirectory() };
}

function whereIs(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new Error(`There is no store at ${path}, or it is a link that leads nowhere.`, { cause: error });
  }
}

/** SQLite would make the file readable by others. Its other files get the mode of this one. */
function makeEmpty(path: string): void {
  try {
    closeSync(openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, FOR_OWNER));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Takes SQLite's own lock, on a small file beside the database. */
function lockBeside(path: string): Database {
  const lock = new Database(`${path}.lock`, { create: true, readwrite: true });
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE');
    lock.exec('PRAGMA journal_mode = DELETE');
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    throw inUse(path, error);
  }
}

function lockItself(path: string): FileLock | 'taken' | null {
  return lockDescriptor(openSync(path, 'r+'));
}

function inUse(path: string, cause?: unknown): Error {
  return new Error(
    `Another process has ${path} open. One SQLite file serves one process: stop the other one, ` +
      'or use PostgreSQL (TOOLGATE_DATABASE_URL=postgres://…) to run several.',
    { cause },
  );
}
