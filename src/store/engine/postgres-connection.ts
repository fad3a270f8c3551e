// One connection to PostgreSQL and its transactions: time limits and pipelined statements. postgres.ts says which
// connection does what, and postgres-errors.ts what an error means.

import { SQL } from 'bun';
import {
  type Into,
  type Lane,
  type Locks,
  padded,
  type Row,
  StoreError,
  type Transaction,
  type Value,
} from './db.ts';
import { asStoreError, leadsToStandby, lost } from './postgres-errors.ts';
import { columnInsert } from './postgres-inserts.ts';

const CONNECT_SECONDS = 2;
/** The pause between two attempts, so that a server that is just starting is not asked a hundred times a second. */
const RECONNECT_MS = 250;
const STATEMENT_MS = 2000;
const LOCK_MS = 1000;
/**
 * The limit for a whole transaction, including locks and commit. We measure it ourselves, so that it also holds when
 * the network fails.
 */
const TRANSACTION_MS = 2500;
/**
 * How long a migration waits for a lock on a table. Every later check on that table waits as well, so this must be well
 * below LOCK_MS. Otherwise a dump, which uses every table as long as it runs, would stop them all.
 */
const EXCLUSIVE_LOCK_MS = 300;
/**
 * `transaction` is for a proxy that assigns a server connection for one transaction at a time. Nothing then outlives a
 * transaction: no prepared statement, no setting, no LISTEN.
 */
export type Pooling = 'session' | 'transaction';

export interface Server {
  url: string;
  pooling: Pooling;
  /** All time limits are multiplied by it: 1 in the service, more in tests, whose machine may pause for seconds. */
  patience: number;
  /** Called when a connection turns out to lead to a read-only server. */
  misled: () => void;
}

export const deadlineOf = ({ patience }: Server): number => performance.now() + TRANSACTION_MS * patience;

const ISOLATION = { SET: 'default_transaction_isolation', 'SET LOCAL': 'transaction_isolation' } as const;

/** PostgreSQL's now() would be the time at which the transaction began: it may have waited for locks since. */
const CLOCK = 'CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint) AS at';

type Reserved = Awaited<ReturnType<SQL['reserve']>>;
type QueryResult = Row[] & { count: number; command: string };

/** One connection. It is opened when needed, dropped when it fails or is late, and opened again for the next work. */
export class Connection implements Lane {
  readonly #server: Server;
  readonly #limits: boolean;
  #sql: SQL | null = null;
  #reserved: Reserved | null = null;
  #queue: Promise<unknown> = Promise.resolve();
  #openAfter = 0;

  constructor(server: Server, { limits } = { limits: true }) {
    this.#server = server;
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
        tx.begin(locks, this.#server.pooling === 'transaction' ? this.#settings('SET LOCAL') : '');
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
    // This closes the socket and rejects statements that are still waiting for an answer.
    sql?.close({ timeout: 0 }).catch(() => {});
  }

  #alone<T>(work: (connection: Reserved) => Promise<T>, deadline?: number): Promise<T> {
    const done = this.#queue.then(() => this.#inTime(work, deadline));
    this.#queue = done.catch(() => {});
    return done;
  }

  async #inTime<T>(
    work: (connection: Reserved) => Promise<T>,
    deadline = deadlineOf(this.#server),
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
      if (late)
        throw new StoreError(
          `PostgreSQL did not answer within ${TRANSACTION_MS * this.#server.patience} ms.`,
          { cause: error },
        );
      if (lost(error)) this.drop();
      if (leadsToStandby(error)) this.#server.misled();
      throw asStoreError(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #open(): Promise<Reserved> {
    const wait = this.#openAfter - performance.now();
    if (wait > 0) await Bun.sleep(wait);
    // The handler also runs while the connection is idle, so that the next user gets a new one.
    const closed = () => {
      if (this.#sql === sql) this.drop();
    };
    const sql = new SQL({ ...options(this.#server), onclose: closed });
    this.#sql = sql;
    try {
      const reserved = await sql.reserve();
      // Behind a pooling proxy the settings would stay on a connection that others use.
      if (this.#server.pooling === 'session') await reserved.unsafe(this.#settings('SET'));
      this.#reserved = reserved;
      return reserved;
    } catch (error) {
      this.#openAfter = performance.now() + RECONNECT_MS;
      this.drop();
      throw error;
    }
  }

  #settings(set: keyof typeof ISOLATION): string {
    const [statement, lock, idle] = this.#limits
      ? [STATEMENT_MS, LOCK_MS, TRANSACTION_MS].map(ms => ms * this.#server.patience)
      : [0, EXCLUSIVE_LOCK_MS, 0];
    return `${set} statement_timeout = ${statement}; ${set} lock_timeout = ${lock};
      ${set} idle_in_transaction_session_timeout = ${idle};
      ${set} synchronous_commit = on; ${set} ${ISOLATION[set]} = 'read committed'`;
  }
}

/**
 * Statements are pipelined: they are sent at once and answered in order, so nothing waits for the answers to BEGIN and
 * the locks. The first query after them gets a snapshot that is taken after the locks were granted.
 */
class PostgresTransaction implements Transaction {
  readonly #connection: Reserved;
  readonly #sent: Promise<QueryResult>[] = [];
  /** The answer to the first locks. */
  #locked: Promise<QueryResult> | null = null;

  constructor(connection: Reserved) {
    this.#connection = connection;
  }

  /** `settings` are SET statements for this transaction. */
  begin(locks: Locks, settings = ''): void {
    const begun = settings === '' ? this.#connection`BEGIN` : this.#connection.unsafe(`BEGIN; ${settings}`);
    this.#track(begun.execute() as Promise<QueryResult>);
    this.#locked = this.#lock(locks);
  }

  async lock(locks: Locks): Promise<void> {
    await this.#lock(locks);
  }

  /** Takes the locks one after another and then reads the time, in one statement. */
  #lock({ shared = [], exclusive = [] }: Locks): Promise<QueryResult> | null {
    const names = [...new Set([...shared, ...exclusive])].sort();
    if (names.length === 0) return null;
    const taken = new Set(exclusive);
    const calls = padded(names).map((name, index) => {
      const lock = taken.has(name) ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared';
      return `${lock}(hashtextextended($${index + 1}, 0))`;
    });
    return this.#send(`SELECT ${calls.join(', ')}, ${CLOCK}`, padded(names));
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

  insert(into: Into, values: readonly Value[]): void {
    if (values.length === 0) return;
    const { sql, params } = columnInsert(into, values);
    this.#send(sql, params);
  }

  async lockedAt(): Promise<number | null> {
    this.#locked ??= this.#send(`SELECT ${CLOCK}`, []);
    const [row] = plain<{ at: number }>(await this.#locked);
    return row?.at ?? null;
  }

  async script(sql: string): Promise<void> {
    // Text is compared by its bytes, as on SQLite, whatever the locale of the database is: ids must sort by time.
    await this.#connection.unsafe(sql.replace(/ text\b/g, ' text COLLATE "C"'));
  }

  async commit(): Promise<void> {
    const committed = this.#connection`COMMIT`.execute() as Promise<QueryResult>;
    const [last] = (await Promise.all([committed, ...this.#sent])) as [QueryResult, ...QueryResult[]];
    if (last.command !== 'COMMIT') throw new StoreError('PostgreSQL rolled the transaction back.');
  }

  /**
   * Returns the error to report: that of the first failed statement, because the later ones only failed because of it.
   */
  async rollback(error: unknown): Promise<unknown> {
    const rolledBack = this.#connection`ROLLBACK`.execute().catch(() => {});
    const answers = await Promise.allSettled(this.#sent);
    await rolledBack;
    const first = answers.find(answer => answer.status === 'rejected');
    return first === undefined || !(error instanceof SQL.PostgresError) ? error : first.reason;
  }

  #send(sql: string, params: readonly Value[]): Promise<QueryResult> {
    return this.#track(send(this.#connection, sql, params));
  }

  #track(answer: Promise<QueryResult>): Promise<QueryResult> {
    this.#sent.push(answer);
    answer.catch(() => {});
    return answer;
  }
}

export const unlimited = (server: Server): Connection => new Connection(server, { limits: false });

/** The address asks for the certificate of the server to be verified. */
const VERIFIED = /[?&]sslmode=verify-(?:ca|full)\b/;

export function options({ url, pooling, patience }: Server): SQL.Options {
  return {
    url,
    prepare: pooling === 'session',
    adapter: 'postgres',
    max: 1,
    connectionTimeout: CONNECT_SECONDS * patience,
    idleTimeout: 0,
    maxLifetime: 0,
    bigint: true,
    // This is set explicitly, because an environment variable could turn it off. With another mode it would be turned on.
    ...(VERIFIED.test(url) && { tls: { rejectUnauthorized: true } }),
  };
}

function send(connection: Reserved, sql: string, params: readonly Value[]): Promise<QueryResult> {
  return connection.unsafe(sql, params as Value[]).execute() as Promise<QueryResult>;
}

/** Eight-byte integers arrive as BigInt; ours are times and counts far below 2^53. */
function plain<T>(rows: QueryResult): T[] {
  return rows.map(row => {
    const out: Record<string, unknown> = {};
    for (const name in row) {
      const value: unknown = row[name];
      out[name] = typeof value === 'bigint' ? Number(value) : value;
    }
    return out as T;
  });
}
