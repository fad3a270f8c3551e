// The embedded engine: one SQLite file, one process, two handles. The writer runs one transaction after another. The
// reader sees only what is committed, so that a query between two steps of a transaction cannot see it half done. A
// transaction is over once its part of the write-ahead log is synced. A separate thread does that, so a slow disk
// delays only the requests that wait for that commit. Another one moves the log into the file (sqlite-log-mover.ts).
// sqlite-files.ts finds out whether others touched the files.

import { Database } from 'bun:sqlite';
import {
  type Db,
  FatalStoreError,
  type Lane,
  type Queries,
  type Row,
  type Transaction,
  type Value,
} from './db.ts';
import { OpenFiles, requireOwnLog } from './sqlite-files.ts';
import { Handle, isBusy } from './sqlite-handle.ts';
import { type HeldFile, holdFile, realFile } from './sqlite-lock.ts';
import { LogMover } from './sqlite-log-mover.ts';
// @ts-expect-error: the compiler does not know that a module can be imported as text.
import syncThread from './sync-thread.ts' with { type: 'text' };
import { Thread } from './thread.ts';

/** How long another process may lock the file before a transaction fails. Waiting does not block the event loop. */
const BUSY_MS = 1000;
const BUSY_STEP_MS = 10;
/** At the start no request is waiting yet, and a program that reads the file from outside may be about to finish. */
const BUSY_AT_START_MS = 10_000;
/** How often it is looked whether the files are still there while nothing is committed; every commit looks too. */
const LOOK_MS = 1000;

/** `onMoving` learns when moving the write-ahead log into the file begins to fail, and when it works again (null). */
export function openSqlite(
  path: string,
  onFatal: (error: Error) => void,
  onMoving: (failure: unknown) => void = () => {},
): Db {
  const file = holdFile(path);
  try {
    requireOwnLog(file.path);
    return new SqliteDb(file, onFatal, onMoving);
  } catch (error) {
    file.release();
    throw error;
  }
}

/**
 * Opens the file, or a copy of it, for reading while another process serves it. It takes no lock and changes nothing.
 */
export function readSqlite(path: string): Queries & { close(): Promise<void> } {
  const file = new Database(realFile(path), { readonly: true });
  file.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  const handle = new Handle(file);
  return {
    all: (sql, params) => handle.all(sql, params),
    run: () => Promise.reject(new Error('the store is open for reading only')),
    close: async () => handle.close(),
  };
}

class SqliteDb implements Db {
  readonly #onFatal: (error: Error) => void;
  readonly #file: HeldFile;
  readonly #writer: Handle;
  readonly #reader: Handle;
  readonly #files: OpenFiles;
  readonly #looking: Timer;
  readonly #log: SyncedLog;
  readonly #mover: LogMover;
  readonly #listeners: (() => void)[] = [];
  readonly #hinted: ((word: string) => void)[] = [];
  /** One process has the store for itself. */
  readonly hintsReachReplicas = false;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(file: HeldFile, onFatal: (error: Error) => void, onMoving: (failure: unknown) => void) {
    const { path } = file;
    this.#onFatal = onFatal;
    this.#file = file;
    this.#writer = new Handle(openFile(path));
    this.#reader = new Handle(openFile(path));
    this.#reader.exec('PRAGMA query_only = ON');
    this.#files = new OpenFiles(path);
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
    this.#looking.unref();
    this.#log = new SyncedLog(this.#files);
    this.#mover = new LogMover(path, {
      unmovedPages: () => this.#writer.unmovedPages(),
      between: work => this.#inTurn(work),
      look: () => this.#look(),
      notSynced: error => this.#broken(error),
      moving: onMoving,
    });
  }

  /** What was read may be committed but not yet synced; it is returned only after the sync. */
  async all<T = Row>(sql: string, params: readonly Value[] = []): Promise<T[]> {
    const rows = await this.#reader.all<T>(sql, params);
    return this.#log.synced ? rows : this.#durable(rows);
  }

  run(sql: string, params: readonly Value[] = []): Promise<number> {
    return this.transaction({}, tx => tx.run(sql, params));
  }

  transaction<T>(_locks: unknown, work: (tx: Transaction) => Promise<T>): Promise<T> {
    // The time is measured from here, so that all transactions queued behind a locked file fail together and not one
    // after another.
    const busyUntil = performance.now() + BUSY_MS;
    const committed = this.#inTurn(() => this.#alone(work, busyUntil));
    // The next transaction may begin in the meantime, because the log is synced in order.
    return committed.then(result => this.#durable(result));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => {});
    return done;
  }

  async #durable<T>(result: T): Promise<T> {
    try {
      await this.#log.sync();
      return result;
    } catch (error) {
      throw this.#broken(error);
    }
  }

  /** Whether the files are still those that are open. */
  #look(): FatalStoreError | null {
    try {
      this.#files.verify();
      return null;
    } catch (error) {
      return this.#broken(error);
    }
  }

  /** A second sync after a failed one can report success for pages that never reached the disk. */
  #broken(error: unknown): FatalStoreError {
    const isTold = error instanceof FatalStoreError;
    const message = 'The disk failed to make a write durable (fsync).';
    const fatal = isTold ? error : new FatalStoreError(message, { cause: error });
    this.#log.fail(fatal);
    this.#onFatal(fatal);
    return fatal;
  }

  async #alone<T>(work: (tx: Transaction) => Promise<T>, busyUntil: number): Promise<T> {
    await this.#begin(busyUntil);
    try {
      const result = await work(this.#writer);
      this.#writer.exec('COMMIT');
      this.#log.grew();
      this.#mover.committed();
      return result;
    } catch (error) {
      if (error instanceof FatalStoreError) this.#broken(error);
      this.#writer.rollback();
      throw error;
    }
  }

  async #begin(busyUntil: number): Promise<void> {
    for (;;) {
      try {
        return this.#writer.exec('BEGIN IMMEDIATE');
      } catch (error) {
        if (!isBusy(error) || performance.now() > busyUntil) throw error;
        await Bun.sleep(BUSY_STEP_MS);
      }
    }
  }

  async size(): Promise<number> {
    const [row] = await this.all<{ bytes: number }>(
      'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
    );
    return row?.bytes ?? 0;
  }

  get moveErrors(): number {
    return this.#mover.failures;
  }

  lane(): Lane {
    return this;
  }

  exclusively<T>(work: (lane: Lane) => Promise<T>): Promise<T> {
    return work(this);
  }

  wake(): void {
    for (const listener of this.#listeners) queueMicrotask(listener);
  }

  onWake(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async sendHint(word: string): Promise<void> {
    for (const each of this.#hinted) queueMicrotask(() => each(word));
  }

  onHint(listener: (word: string) => void): void {
    this.#hinted.push(listener);
  }

  async close(): Promise<void> {
    await this.#queue;
    await this.#mover.close();
    await this.#log.close();
    clearInterval(this.#looking);
    // SQLite moves the log into the file when the last handle closes.
    this.#look();
    this.#reader.close();
    this.#writer.close();
    this.#files.close();
    this.#file.release();
  }
}

function openFile(path: string): Database {
  const db = new Database(path, { create: true, readwrite: true });
  db.exec(`PRAGMA busy_timeout = ${BUSY_AT_START_MS}`);
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA synchronous = NORMAL');
  db.exec('PRAGMA wal_autocheckpoint = 0');
  db.exec(`PRAGMA busy_timeout = ${BUSY_STEP_MS}`);
  return db;
}

/**
 * Makes the content of the write-ahead log durable. SQLite (with synchronous=NORMAL) syncs the log only before it
 * copies pages from it, which keeps the file consistent but does not make a commit durable; this class does. With every
 * sync delayed by 10 ms, other requests take 0.07 ms at the median under a load of checks; with SQLite's own syncs they
 * took 34 ms. The thread is used for nothing else: in the runtime's thread pool, two DNS look-ups that did not resolve
 * blocked every commit.
 */
class SyncedLog {
  readonly #files: OpenFiles;
  readonly #thread = new Thread<number, null>(syncThread);
  #running: Promise<void> = Promise.resolve();
  #upcoming: Promise<void> | null = null;
  #commits = 0;
  #syncedCommits = 0;
  #failed: FatalStoreError | null = null;

  constructor(files: OpenFiles) {
    this.#files = files;
  }

  grew(): void {
    this.#commits++;
  }

  /** From now on nothing counts as synced. */
  fail(error: FatalStoreError): void {
    this.#failed ??= error;
  }

  /** Whether everything that is committed is on the disk. */
  get synced(): boolean {
    return this.#syncedCommits === this.#commits && this.#failed === null;
  }

  /** All commits made while a sync is running share the next one. */
  sync(): Promise<void> {
    this.#upcoming ??= this.#running.then(() => {
      this.#upcoming = null;
      this.#running = this.#sync();
      return this.#running;
    });
    return this.#upcoming;
  }

  async close(): Promise<void> {
    await this.sync().catch(() => {});
    this.#thread.end();
  }

  async #sync(): Promise<void> {
    const commits = this.#commits;
    await this.#thread.ask(this.#files.log);
    // To sync a log that was removed succeeds as well, so the files are verified afterwards.
    this.#files.verify();
    if (this.#failed !== null) throw this.#failed;
    this.#syncedCommits = commits;
  }
}
