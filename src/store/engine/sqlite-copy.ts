// A copy of the SQLite store as a file: whether all of it is there and is what `toolgate backup` wrote. A backup ends
// with a line behind its last page that has the SHA-256 of everything before it. SQLite ignores that line; it shows
// every changed bit, also in the middle of a text, which SQLite itself cannot notice.

import { Database } from 'bun:sqlite';
import {
  appendFileSync,
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Queries } from './db.ts';

const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
const CHUNK = 1 << 20;
const LAST_LINE = /^toolgate backup sha256 ([0-9a-f]{64})\n$/;
const LAST_LINE_BYTES = 88;
/** The mode of a file that SQLite has written as a copy. The service changes it as soon as it opens the file. */
const NOT_SERVED = 1;
const MOST_FAULTS = 3;
const DISK_FAULT =
  /^(ENOSPC|EDQUOT|EFBIG|EROFS|SQLITE_FULL|SQLITE_IOERR_(WRITE|FSYNC|TRUNCATE|SHMSIZE|SHMMAP))$/;
/** Files beside a database which SQLite would apply to it. */
const LOGS = ['-wal', '-journal'];
/** The same files and the index of the write-ahead log, which holds no data of its own. */
export const COMPANIONS = [...LOGS, '-shm'];

/** Appends the checksum to a new copy, and syncs the file and its folder. */
export function endCopy(path: string): void {
  appendFileSync(path, `toolgate backup sha256 ${digestOf(path, statSync(path).size)}\n`);
  syncPath(path);
  syncPath(dirname(path));
}

/** Throws unless it is a file, and if a part of the database may be in another one. Returns its path without links. */
export function requireOneFile(path: string): string {
  // SQLite puts a log beside the file itself, not beside a link to it.
  const real = realpathSync(path);
  if (!statSync(real).isFile()) throw new Error('it is not a file.');
  if (LOGS.some(end => sizeOf(`${real}${end}`) > 0)) {
    throw new Error(
      'a write-ahead log is beside it, so it is a store that is in use or was copied by other means, not a backup. ' +
        'Make a copy of it with `toolgate backup`.',
    );
  }
  return real;
}

/** Throws unless the file is a whole database and matches its checksum. Returns the size of the database in it. */
export function requireWholeCopy(path: string): number {
  const { pages, served, size } = headerOf(path);
  if (size < pages) throw new Error(`it was cut short: ${size} of ${pages} bytes are left.`);
  const rest = textAt(path, pages, Math.min(size - pages, LAST_LINE_BYTES + 1));
  const [, digest] = LAST_LINE.exec(rest) ?? [];
  // Once a service has used the file as its store, the line no longer says anything about it.
  if (served || rest === '') return pages;
  if (digest === undefined || digest !== digestOf(path, pages)) {
    throw new Error(
      'its checksum does not match: the file was changed or damaged since the backup was made. Use another backup.',
    );
  }
  return pages;
}

/**
 * Copies the first bytes of a file to a new one that only its owner can read, and syncs it. Throws unless all of them
 * are there.
 */
export function copyBytes(source: string, target: string, bytes = statSync(source).size): void {
  const from = openSync(source, 'r');
  try {
    const to = openSync(target, 'wx', 0o600);
    try {
      for (const chunk of chunksOf(from, bytes)) writeWhole(to, chunk);
      if (fstatSync(to).size !== bytes) throw new Error(`${source} was changed while it was copied.`);
      fsyncSync(to);
    } finally {
      closeSync(to);
    }
  } finally {
    closeSync(from);
  }
}

/** A disk that gets full takes a part of what is written and reports nothing; only the next attempt fails. */
function writeWhole(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
}

/** Whether a copy failed because of the disk that it was written to, not because of what was copied. */
export function isDiskFault(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && DISK_FAULT.test(code);
}

/** Removes the line with the checksum: what remains is the database. */
export function leaveDatabase(path: string, bytes: number): void {
  truncateSync(path, bytes);
  syncPath(path);
}

/** Throws unless SQLite finds the database sound, and it is a store of this program. */
export function requireSoundStore(path: string): void {
  const db = new Database(path, { readonly: true });
  try {
    const faults = faultsOf(db);
    if (faults.length > 0) throw new Error(`it is damaged: ${faults.join('; ')}. Use another backup.`);
    const tables = db
      .prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name IN ('migrations', 'settings')`)
      .all();
    if (tables.length !== 2) throw new Error('it is a SQLite database, but not a store of Toolgate.');
  } finally {
    db.close();
  }
}

function faultsOf(db: Database): string[] {
  try {
    const rows = db.prepare(`PRAGMA integrity_check(${MOST_FAULTS})`).all() as { integrity_check: string }[];
    return rows.map(row => row.integrity_check).filter(text => text !== 'ok');
  } catch (error) {
    return [(error as Error).message];
  }
}

export interface Counts {
  entries: number;
  /** When the newest audit entry was made; null if there is none. */
  newestAt: number | null;
  policies: number;
  keys: number;
}

/** What a person recognises a store by. */
export async function countsOf(db: Queries): Promise<Counts> {
  const [row] = await db.all<Counts>(
    `SELECT (SELECT count(*) FROM audit_entries) AS entries, (SELECT max(at) FROM audit_entries) AS "newestAt",
       (SELECT count(*) FROM policies) AS policies, (SELECT count(*) FROM keys) AS keys`,
  );
  return row as Counts;
}

/** Makes a file, or the names in a folder, durable. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The size of a file; 0 if there is none. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function headerOf(path: string): { pages: number; served: boolean; size: number } {
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    readSync(file, header, 0, HEADER_BYTES, 0);
    if (header.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new Error('it is not a SQLite database.');
    const pageSize = header.readUInt16BE(16);
    const pages = (pageSize === 1 ? 65_536 : pageSize) * header.readUInt32BE(28);
    return { pages, served: header[18] !== NOT_SERVED, size: fstatSync(file).size };
  } finally {
    closeSync(file);
  }
}

function textAt(path: string, at: number, bytes: number): string {
  const file = openSync(path, 'r');
  try {
    const text = Buffer.alloc(bytes);
    readSync(file, text, 0, bytes, at);
    return text.toString('latin1');
  } finally {
    closeSync(file);
  }
}

function digestOf(path: string, bytes: number): string {
  const hasher = new Bun.CryptoHasher('sha256');
  const file = openSync(path, 'r');
  try {
    for (const chunk of chunksOf(file, bytes)) hasher.update(chunk);
  } finally {
    closeSync(file);
  }
  return hasher.digest('hex');
}

function* chunksOf(file: number, bytes: number): Generator<Uint8Array> {
  const buffer = Buffer.alloc(CHUNK);
  for (let left = bytes; left > 0; ) {
    const read = readSync(file, buffer, 0, Math.min(CHUNK, left), null);
    if (read === 0) return;
    left -= read;
    yield buffer.subarray(0, read);
  }
}
