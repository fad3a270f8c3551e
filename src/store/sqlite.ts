// The embedded engine: one SQLite file, one process. Two handles: a writer whose transactions queue up
// one after another, and a reader that only ever sees what is committed, so that a query between two steps
// of a transaction cannot see it half done. A transaction is over once its part of the write-ahead log is synced,
// which a thread of its own does: a slow disk delays whoever waits for that commit, and nobody else.

import { Database, SQLiteError, type SQLQueryBindings, type Statement } from 'bun:sqlite';
import { closeSync, openSync } from 'node:fs';
import {
  type Db,
  FatalStoreError,
  type Lane,
  type Queries,
  Refused,
  type Row,
  StoreError,
  type Transaction,
  UniqueViolation,
  type Value,
} from './db.ts';
import { type HeldFile, holdFile, realFile } from './sqlite-lock.ts';
// @ts-expect-error: the compiler does not know that a module can be imported as text.
import syncThread from './sync-thread.ts' with { type: 'text' };
import { Thread } from './thread.ts';

const SQLITE_IOERR_FSYNC = 1034;
const SQLITE_IOERR_DIR_FSYNC = 1290;
/** How long a foreign process may hold the file before a transaction fails; waited for without blocking. */
const BUSY_MS = 1000;
const BUSY_STEP_MS = 10;
/** At the start nobody waits for us yet, and whoever reads the file from outside may be about to let go of it. */
const BUSY_AT_START_MS = 10_000;

export function openSqlite(path: string, onFatal: (error: Error) => void): Db {
  return new SqliteDb(holdFile(path), onFatal);
}

/** For reading beside the process that serves the file, or a copy of it; takes no lock and changes nothing. */
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
  readonly #log: SyncedLog;
  readonly #listeners: (() => void)[] = [];
  readonly #told: ((word: string) => void)[] = [];
  #queue: Promise<unknown> = Promise.resolve();

  constructor(file: HeldFile, onFatal: (error: Error) => void) {
    const { path } = file;
    this.#onFatal = onFatal;
    this.#file = file;
    this.#writer = new Handle(openFile(path));
    this.#reader = new Handle(openFile(path));
    this.#reader.exec('PRAGMA query_only = ON');
    this.#log = new SyncedLog(path);
  }

  /** What was read may be committed and not yet synced; nobody learns of it before it is. */
  async all<T = Row>(sql: string, params: readonly Value[] = []): Promise<T[]> {
    const rows = await this.#reader.all<T>(sql, params);
    return this.#log.synced ? rows : this.#durable(rows);
  }

  run(sql: string, params: readonly Value[] = []): Promise<number> {
    return this.transaction({}, tx => tx.run(sql, params));
  }

  transaction<T>(_locks: unknown, work: (tx: Transaction) => Promise<T>): Promise<T> {
    // Counted from here, so that a queue behind a locked file fails together and not one after another.
    const patience = performance.now() + BUSY_MS;
    const committed = this.#queue.then(() => this.#alone(work, patience));
    this.#queue = committed.catch(() => {});
    // The next transaction may begin meanwhile: what it syncs comes after this in the same log.
    return committed.then(result => this.#durable(result));
  }

  async #durable<T>(result: T): Promise<T> {
    try {
      await this.#log.sync();
      return result;
    } catch (error) {
      // A second sync after a failed one can report success for pages that never reached the disk.
      const fatal = new FatalStoreError('The disk failed to make a write durable (fsync).', { cause: error });
      this.#onFatal(fatal);
      throw fatal;
    }
  }

  async #alone<T>(work: (tx: Transaction) => Promise<T>, patience: number): Promise<T> {
    await this.#begin(patience);
    try {
      const result = await work(this.#writer);
      this.#writer.exec('COMMIT');
      this.#log.grew();
      return result;
    } catch (error) {
      if (error instanceof FatalStoreError) this.#onFatal(error);
      this.#writer.rollback();
      throw error;
    }
  }

  async #begin(patience: number): Promise<void> {
    for (;;) {
      try {
        return this.#writer.exec('BEGIN IMMEDIATE');
      } catch (error) {
        if (!isBusy(error) || performance.now() > patience) throw error;
        await Bun.sleep(BUSY_STEP_MS);
      }
    }
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

  tell(word: string): void {
    for (const each of this.#told) queueMicrotask(() => each(word));
  }

  onTold(listener: (word: string) => void): void {
    this.#told.push(listener);
  }

  async close(): Promise<void> {
    await this.#queue;
    await this.#log.close();
    this.#reader.close();
    this.#writer.close();
    this.#file.release();
  }
}

function openFile(path: string): Database {
  const db = new Database(path, { create: true, readwrite: true });
  db.exec(`PRAGMA busy_timeout = ${BUSY_AT_START_MS}`);
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA synchronous = NORMAL');
  db.exec(`PRAGMA busy_timeout = ${BUSY_STEP_MS}`);
  return db;
}

/**
 * Makes what is in the write-ahead log durable. SQLite itself (synchronous=NORMAL) syncs it only before it copies
 * from it, which keeps the file whole; that a commit lasts is what is promised here. With every sync delayed by
 * 10 ms, other requests take 0.07 ms at the median under a load of checks, where SQLite's own syncs made it 34. The
 * thread is the log's own: in the runtime's pool, two names that did not resolve kept every check from its commit.
 */
class SyncedLog {
  readonly #path: string;
  readonly #thread = new Thread<number, null>(syncThread);
  #file: number | null = null;
  #running: Promise<void> = Promise.resolve();
  #upcoming: Promise<void> | null = null;
  #commits = 0;
  #syncedCommits = 0;

  constructor(path: string) {
    this.#path = `${path}-wal`;
  }

  grew(): void {
    this.#commits++;
  }

  /** Whether all that is committed is on the disk. */
  get synced(): boolean {
    return this.#syncedCommits === this.#commits;
  }

  /** Whoever commits while a sync is running shares the one after it. */
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
    if (this.#file !== null) closeSync(this.#file);
  }

  async #sync(): Promise<void> {
    this.#file ??= openSync(this.#path, 'r');
    const commits = this.#commits;
    await this.#thread.ask(this.#file);
    this.#syncedCommits = commits;
  }
}

/** One handle with its prepared statements. Errors are told apart here, once. */
class Handle implements Queries, Transaction {
  readonly #db: Database;
  readonly #statements = new Map<string, Statement<unknown, SQLQueryBindings[]>>();

  constructor(db: Database) {
    this.#db = db;
  }

  async all<T>(sql: string, params: readonly Value[] = []): Promise<T[]> {
    return withStoreErrors(() => this.#prepare(sql).all(...params) as T[]);
  }

  async run(sql: string, params: readonly Value[] = []): Promise<number> {
    return withStoreErrors(() => this.#prepare(sql).run(...params).changes);
  }

  defer(sql: string, params: readonly Value[]): void {
    withStoreErrors(() => this.#prepare(sql).run(...params));
  }

  async lock(): Promise<void> {}

  async script(sql: string): Promise<void> {
    this.exec(sql.replace(/CREATE TABLE [^;]*\n\);/g, inOneTree));
  }

  exec(sql: string): void {
    withStoreErrors(() => this.#db.exec(sql));
  }

  rollback(): void {
    if (this.#db.inTransaction) this.exec('ROLLBACK');
  }

  close(): void {
    this.#db.close();
  }

  #prepare(sql: string): Statement<unknown, SQLQueryBindings[]> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql.replace(/\$(\d+)/g, '?$1'));
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** Rows live in the tree of their primary key: one tree less to write per row. Numbers are given by that tree. */
function inOneTree(table: string): string {
  if (!table.includes(' AS IDENTITY')) return `${table.slice(0, -1)} WITHOUT ROWID;`;
  return table.replace(/bigint GENERATED BY DEFAULT AS IDENTITY/, 'integer');
}

function withStoreErrors<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    if (error.errno === SQLITE_IOERR_FSYNC || error.errno === SQLITE_IOERR_DIR_FSYNC) {
      // A second fsync after a failed one can report success for pages that never reached the disk.
      throw new FatalStoreError('The disk failed to make a write durable (fsync).', { cause: error });
    }
    if (error.code === 'SQLITE_CONSTRAINT_UNIQUE' || error.code === 'SQLITE_CONSTRAINT_PRIMARYKEY') {
      throw new UniqueViolation(error.message, { cause: error });
    }
    throw new (ABOUT_VALUES.test(error.code ?? '') ? Refused : StoreError)(error.message, { cause: error });
  }
}

/** Values that a table or SQLite itself does not take; everything else is the store's own trouble. */
const ABOUT_VALUES = /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/;

function isBusy(error: unknown): boolean {
  return error instanceof StoreError && (error.cause as SQLiteError).code === 'SQLITE_BUSY';
}
