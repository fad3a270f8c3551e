// The files of an open SQLite store: whether those under its names are still the ones that the process has open, and
// whether a write-ahead log belongs to the file beside it. A process that goes on after `rm toolgate.db*` would answer
// verdicts into files that nobody can open any more.

import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { FatalStoreError } from './db.ts';

/** What is read of the header of a database: its magic text, its page size, and the two bytes of its mode. */
const HEADER_BYTES = 20;
const PAGE_SIZE_AT = 16;
const MODE_AT = 18;
/** The mode of a database with a write-ahead log. A copy that `toolgate backup` wrote has another one. */
const HAS_LOG = 2;
/**
 * What is read of the index of the log (https://sqlite.org/walformat.html): its number of pages, and the salt that the
 * header of the log has too.
 */
const INDEX_BYTES = 40;
const PAGES_AT = 16;
const INDEX_SALT_AT = 32;
const LOG_HEADER_BYTES = 32;
const LOG_SALT_AT = 16;
const SALT_BYTES = 8;
const FRAME_HEADER_BYTES = 24;

/** One file of the store, by a descriptor of its own. */
class OpenFile {
  readonly path: string;
  readonly descriptor: number;
  readonly #dev: bigint;
  readonly #ino: bigint;
  readonly #bytes: Buffer;

  /** `bytes` are as many as `start` reads. */
  constructor(path: string, bytes: number) {
    this.path = path;
    this.descriptor = openSync(path, 'r');
    const { dev, ino } = fstatSync(this.descriptor, { bigint: true });
    this.#dev = dev;
    this.#ino = ino;
    this.#bytes = Buffer.alloc(bytes);
  }

  /** The size of the file under the path. Throws if it is not the open one. */
  size(): bigint {
    const { dev, ino, size } = this.#found();
    if (dev !== this.#dev || ino !== this.#ino) throw replaced(this.path);
    return size;
  }

  /** What the open file begins with. It is overwritten by the next call. */
  start(): Buffer {
    this.#bytes.fill(0);
    readSync(this.descriptor, this.#bytes, 0, this.#bytes.length, 0);
    return this.#bytes;
  }

  #found() {
    try {
      return statSync(this.path, { bigint: true });
    } catch (error) {
      throw replaced(this.path, error);
    }
  }
}

export class OpenFiles {
  readonly #database: OpenFile;
  readonly #log: OpenFile;
  /** Other processes find the locks of the log in it. */
  readonly #index: OpenFile;
  readonly #header: Buffer;
  #size: bigint;

  /** Must be called when SQLite has opened all of them. */
  constructor(path: string) {
    this.#database = new OpenFile(path, HEADER_BYTES);
    this.#log = new OpenFile(`${path}-wal`, LOG_HEADER_BYTES);
    this.#index = new OpenFile(`${path}-shm`, INDEX_BYTES);
    this.#header = Buffer.from(this.#database.start());
    this.#size = this.#database.size();
  }

  /** A descriptor of the log. */
  get log(): number {
    return this.#log.descriptor;
  }

  /** Throws if a name leads elsewhere by now, or if another program has written over a file. */
  verify(): void {
    this.#index.size();
    const size = this.#database.size();
    // Nothing here makes it smaller, and SQLite changes its mode only while nobody else has it open.
    if (size < this.#size || !this.#database.start().equals(this.#header)) {
      throw overwritten(this.#database.path);
    }
    this.#size = size;
    // A program from outside may begin the log again between two reads.
    if (!this.#isLogWhole() && !this.#isLogWhole()) throw overwritten(this.#log.path);
  }

  /**
   * Must be called after every handle is closed, because closing any descriptor of a file releases SQLite's own locks on
   * it.
   */
  close(): void {
    for (const { descriptor } of [this.#database, this.#log, this.#index]) closeSync(descriptor);
  }

  /** Whether the log begins as its index says, and has as many pages. */
  #isLogWhole(): boolean {
    const index = this.#index.start();
    const pages = index.readUInt32LE(PAGES_AT);
    const size = this.#log.size();
    if (pages === 0) return true;
    const frame = FRAME_HEADER_BYTES + this.#header.readUInt16BE(PAGE_SIZE_AT);
    const salt = this.#log.start().subarray(LOG_SALT_AT, LOG_SALT_AT + SALT_BYTES);
    return (
      size >= LOG_HEADER_BYTES + pages * frame &&
      salt.equals(index.subarray(INDEX_SALT_AT, INDEX_SALT_AT + SALT_BYTES))
    );
  }
}

const WHAT_TO_DO =
  'Verdicts would be lost, so none is given any more. Put the files back as they were, or a backup in their place with ' +
  '`toolgate restore`, while the service is stopped.';

function replaced(path: string, cause?: unknown): FatalStoreError {
  const what = 'was removed, moved or replaced while the service had it open';
  return new FatalStoreError(`${path} ${what}. ${WHAT_TO_DO}`, { cause });
}

function overwritten(path: string): FatalStoreError {
  const what = 'was written over by another program while the service had it open';
  return new FatalStoreError(`${path} ${what}. ${WHAT_TO_DO}`);
}

/**
 * Throws if the write-ahead log beside a database is that of another one. SQLite would remove it if the database is
 * empty, and would write its pages into a copy that was put in the place of the database.
 */
export function requireOwnLog(path: string): void {
  const log = `${path}-wal`;
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const mode = modeOf(path);
  if (mode === HAS_LOG) return;
  const what = mode === null ? 'is missing or empty' : 'is a backup that was put in its place';
  throw new Error(
    `${log} holds what a store has committed last, but ${path} ${what}. Put the file back that belongs to the log. If it ` +
      `is gone, or you want the backup, move ${log} away first; what is only in the log is then missing.`,
  );
}

/** Null if the file is empty. */
function modeOf(path: string): number | null {
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    return readSync(file, header, 0, HEADER_BYTES, 0) === 0 ? null : (header[MODE_AT] as number);
  } finally {
    closeSync(file);
  }
}
