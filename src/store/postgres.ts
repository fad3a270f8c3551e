// The engine for many replicas: PostgreSQL through the runtime's own client, which pipelines (two round
// trips per audit commit) and cost a third less CPU than the alternatives when measured. Every connection
// has one user at a time and a timer of ours: a server that stops answering is dropped, never waited for.

import { SQL } from 'bun';
import {
  type Db,
  type Lane,
  type Locks,
  padded,
  type Row,
  type Transaction,
  UniqueViolation,
  type Value,
} from './db.ts';

const CONNECT_SECONDS = 2;
const STATEMENT_MS = 2000;
const LOCK_MS = 1000;
/** For a whole transaction, locks and commit included; counted here, so that it holds when the link is cut. */
const TRANSACTION_MS = 2500;
const ACQUIRE_MS = 2000;
const MIGRATION_LOCK = 'toolgate migrations';
const CHANNEL = 'toolgate_wake';
const UNIQUE_VIOLATION = '23505';

export async function openPostgres(url: string, poolSize: number): Promise<Db> {
  const db = new PostgresDb(url, poolSize);
  try {
    await refuseLossyServer(db);
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** What a connection gets unless it asks for something else: behind a pooling proxy our own SET may not reach it. */
async function refuseLossyServer(db: Db): Promise<void> {
  const lossy = await db.all<{ name: string }>(
    `SELECT name FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit') AND reset_val = 'off' ORDER BY name`,
  );
  if (lossy.length === 0) return;
  const names = lossy.map(({ name }) => `${name}=off`).join(' and ');
  throw new Error(
    `PostgreSQL runs with ${names}: an audit entry could be lost after it was promised. Turn it on.`,
  );
}

class PostgresDb implements Db {
  readonly #url: string;
  readonly #pool: Pool;
  readonly #lanes: Connection[] = [];
  readonly #listeners: (() => void)[] = [];
  #listening: SQL | null = null;

  constructor(url: string, poolSize: number) {
    this.#url = url;
    this.#pool = new Pool(url, poolSize);
  }

  all<T = Row>(sql: string, params: readonly Value[] = []): Promise<T[]> {
    return this.#pool.use((connection, deadline) => connection.all<T>(sql, params, deadline));
  }

  run(sql: string, params: readonly Value[] = []): Promise<number> {
    return this.#pool.use((connection, deadline) => connection.run(sql, params, deadline));
  }

  transaction<T>(locks: Locks, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#pool.use((connection, deadline) => connection.transaction(locks, work, deadline));
  }

  lane(): Lane {
    const connection = new Connection(this.#url);
    this.#lanes.push(connection);
    return connection;
  }

  async exclusively<T>(work: (lane: Lane) => Promise<T>): Promise<T> {
    const connection = new Connection(this.#url, { limits: false });
    try {
      await connection.all('SELECT pg_advisory_lock(hashtextextended($1, 0))', [MIGRATION_LOCK]);
      return await work(connection);
    } finally {
      connection.drop();
    }
  }

  wake(): void {
    for (const listener of this.#listeners) queueMicrotask(listener);
    this.all('SELECT pg_notify($1, $2)', [CHANNEL, '']).catch(() => {});
  }

  onWake(listener: () => void): void {
    this.#listeners.push(listener);
    if (this.#listening !== null) return;
    const tell = () => {
      for (const each of this.#listeners) each();
    };
    this.#listening = new SQL(options(this.#url));
    // Listens again by itself after a lost connection; what was missed meanwhile, polling finds.
    this.#listening.listen(CHANNEL, tell, tell).catch(() => {});
  }

  async close(): Promise<void> {
    await this.#listening?.close({ timeout: 0 }).catch(() => {});
    for (const lane of this.#lanes) lane.drop();
    this.#pool.close();
  }
}

/** A few connections, lent to one user at a time. */
class Pool {
  readonly #url: string;
  readonly #free: Connection[] = [];
  readonly #waiting: ((connection: Connection) => void)[] = [];
  readonly #all: Connection[] = [];
  readonly #size: number;

  constructor(url: string, size: number) {
    this.#url = url;
    this.#size = size;
  }

  /** Waiting for a connection is part of the time that the work has. */
  async use<T>(work: (connection: Connection, deadline: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + TRANSACTION_MS;
    const connection = await this.#take();
    try {
      return await work(connection, deadline);
    } finally {
      const next = this.#waiting.shift();
      if (next) next(connection);
      else this.#free.push(connection);
    }
  }

  close(): void {
    for (const connection of this.#all) connection.drop();
  }

  #take(): Promise<Connection> | Connection {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#all.length < this.#size) {
      const connection = new Connection(this.#url);
      this.#all.push(connection);
      return connection;
    }
    return new Promise((resolve, reject) => {
      const give = (connection: Connection) => {
        clearTimeout(timer);
        resolve(connection);
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(give), 1);
        reject(new Error(`No database connection became free within ${ACQUIRE_MS} ms.`));
      }, ACQUIRE_MS);
      this.#waiting.push(give);
    });
  }
}

type Reserved = Awaited<ReturnType<SQL['reserve']>>;
type Answer = Row[] & { count: number; command: string };

/** One connection, opened when needed, dropped when it fails or is late, opened anew for the next work. */
class Connection implements Lane {
  readonly #url: string;
  readonly #limits: boolean;
  #sql: SQL | null = null;
  #reserved: Reserved | null = null;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(url: string, { limits } = { limits: true }) {
    this.#url = url;
    this.#limits = limits;
  }

  all<T = Row>(sql: string, params: readonly Value[] = [], deadline?: number): Promise<T[]> {
    return this.#alone(async connection => plain<T>(await send(connection, sql, params)), deadline);
  }

  run(sql: string, params: readonly Value[] = [], deadline?: number): Promise<number> {
    return this.#alone(async connection => (await send(connection, sql, params)).count, deadline);
  }

  transaction<T>(locks: Locks, work: (tx: Transaction) => Promise<T>, deadline?: number): Promise<T> {
    return this.#alone(async connection => {
      const tx = new PostgresTransaction(connection);
      try {
        tx.begin(locks);
        const result = await work(tx);
        await tx.commit();
        return result;
      } catch (error) {
        throw await tx.rollback(error);
      }
    }, deadline);
  }

  drop(): void {
    const sql = this.#sql;
    this.#sql = null;
    this.#reserved = null;
    // Closes the socket; what still waits for an answer is rejected.
    sql?.close({ timeout: 0 }).catch(() => {});
  }

  #alone<T>(work: (connection: Reserved) => Promise<T>, deadline?: number): Promise<T> {
    const done = this.#queue.then(() => this.#inTime(work, deadline));
    this.#queue = done.catch(() => {});
    return done;
  }

  async #inTime<T>(
    work: (connection: Reserved) => Promise<T>,
    deadline = performance.now() + TRANSACTION_MS,
  ): Promise<T> {
    let late = false;
    const expire = () => {
      late = true;
      this.drop();
    };
    const timer = this.#limits ? setTimeout(expire, deadline - performance.now()) : undefined;
    try {
      return await work(this.#reserved ?? (await this.#open()));
    } catch (error) {
      if (late) throw new Error(`PostgreSQL did not answer within ${TRANSACTION_MS} ms.`, { cause: error });
      if (lost(error)) this.drop();
      throw told(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #open(): Promise<Reserved> {
    const sql = new SQL(options(this.#url));
    this.#sql = sql;
    try {
      const reserved = await sql.reserve();
      const limits = this.#limits
        ? `SET statement_timeout = ${STATEMENT_MS}; SET lock_timeout = ${LOCK_MS};
           SET idle_in_transaction_session_timeout = ${TRANSACTION_MS};`
        : '';
      await reserved.unsafe(
        `${limits} SET synchronous_commit = on; SET default_transaction_isolation = 'read committed'`,
      );
      this.#reserved = reserved;
      return reserved;
    } catch (error) {
      this.drop();
      throw error;
    }
  }
}

/**
 * Statements are sent at once and answered in order, so `begin` and the locks need no waiting: the first
 * query behind them sees a snapshot taken after the locks were granted.
 */
class PostgresTransaction implements Transaction {
  readonly #connection: Reserved;
  readonly #sent: Promise<Answer>[] = [];

  constructor(connection: Reserved) {
    this.#connection = connection;
  }

  begin(locks: Locks): void {
    this.#track(this.#connection`BEGIN`.execute() as Promise<Answer>);
    this.lock(locks).catch(() => {});
  }

  async lock({ shared = [], exclusive = [] }: Locks): Promise<void> {
    const names = [...new Set([...shared, ...exclusive])].sort();
    if (names.length === 0) return;
    const calls = padded(names).map((name, index) => {
      const lock = exclusive.includes(name) ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared';
      return `${lock}(hashtextextended($${index + 1}, 0))`;
    });
    await this.#send(`SELECT ${calls.join(', ')}`, padded(names));
  }

  async all<T = Row>(sql: string, params: readonly Value[] = []): Promise<T[]> {
    return plain<T>(await this.#send(sql, params));
  }

  async run(sql: string, params: readonly Value[] = []): Promise<number> {
    return (await this.#send(sql, params)).count;
  }

  defer(sql: string, params: readonly Value[]): void {
    this.#send(sql, params);
  }

  async script(sql: string): Promise<void> {
    // Texts compare by their bytes, as on SQLite, whatever the database's locale: ids must sort by time.
    await this.#connection.unsafe(sql.replace(/ text\b/g, ' text COLLATE "C"'));
  }

  async commit(): Promise<void> {
    const committed = this.#connection`COMMIT`.execute() as Promise<Answer>;
    const [last] = (await Promise.all([committed, ...this.#sent])) as [Answer, ...Answer[]];
    if (last.command !== 'COMMIT') throw new Error('PostgreSQL rolled the transaction back.');
  }

  /** The error to report: the first statement's that failed, since the others only failed after it. */
  async rollback(error: unknown): Promise<unknown> {
    const rolledBack = this.#connection`ROLLBACK`.execute().catch(() => {});
    const answers = await Promise.allSettled(this.#sent);
    await rolledBack;
    const first = answers.find(answer => answer.status === 'rejected');
    return first === undefined || !(error instanceof SQL.PostgresError) ? error : first.reason;
  }

  #send(sql: string, params: readonly Value[]): Promise<Answer> {
    return this.#track(send(this.#connection, sql, params));
  }

  #track(answer: Promise<Answer>): Promise<Answer> {
    this.#sent.push(answer);
    answer.catch(() => {});
    return answer;
  }
}

function options(url: string): SQL.Options {
  return {
    url,
    adapter: 'postgres',
    max: 1,
    connectionTimeout: CONNECT_SECONDS,
    idleTimeout: 0,
    maxLifetime: 0,
    bigint: true,
  };
}

function send(connection: Reserved, sql: string, params: readonly Value[]): Promise<Answer> {
  return connection.unsafe(sql, params as Value[]).execute() as Promise<Answer>;
}

/** Eight-byte integers arrive as BigInt; ours are times and counts, far below 2^53. */
function plain<T>(rows: Answer): T[] {
  return rows.map(row => {
    const out: Record<string, unknown> = {};
    for (const name in row) {
      const value: unknown = row[name];
      out[name] = typeof value === 'bigint' ? Number(value) : value;
    }
    return out as T;
  });
}

/** Whether the connection is no good any more: closed, or told to go by the server. */
function lost(error: unknown): boolean {
  if (!(error instanceof SQL.PostgresError)) return false;
  const state = String(error.errno ?? '');
  return state === '' || /^(08|57P)/.test(state);
}

function told(error: unknown): unknown {
  if (error instanceof SQL.PostgresError && String(error.errno) === UNIQUE_VIOLATION) {
    return new UniqueViolation(error.message, { cause: error });
  }
  return error;
}
