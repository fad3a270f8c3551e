// The engine for several replicas: PostgreSQL through the runtime's own client, which pipelines (two round trips per
// audit commit) and took a third less CPU time than the alternatives when measured. Each connection has one user at a
// time and a timer of ours: if the server stops answering, the connection is dropped.

import { SQL } from 'bun';
import { GuardError } from '../../core/errors.ts';
import {
  type Db,
  type Lane,
  type Locks,
  type Queries,
  type Row,
  StoreError,
  type Transaction,
  type Value,
} from './db.ts';
import { Connection, deadlineOf, options, type Server, unlimited } from './postgres-connection.ts';
import { refuseUnfit } from './postgres-engine.ts';
import { isLacking, unreachable } from './postgres-errors.ts';

const ACQUIRE_MS = 2000;
/**
 * The longest queue for a connection. Further requests would only wait until they time out, so they are refused at
 * once.
 */
const MOST_WAITING = 2000;
const EXCLUSIVE_RETRY_MS = 100;
/** Longer than the interval between two background writes, which notice a read-only server in that time. */
const LISTEN_ANEW_MS = 2000;
const MIGRATION_LOCK = 'toolgate migrations';
const CHANNEL = 'toolgate_wake';

export async function openPostgres(
  url: string,
  poolSize: number,
  { pooling = 'session', patience = 1 }: Partial<Pick<Server, 'pooling' | 'patience'>> = {},
): Promise<Db> {
  const db = new PostgresDb({ url, pooling, patience }, poolSize);
  try {
    await db.refuseUnfit();
    return db;
  } catch (error) {
    await db.close();
    throw explained(url, error);
  }
}

/** Opens one connection for reading. It refuses no server, and it changes nothing. */
export async function readPostgres(
  url: string,
  pooling: Server['pooling'],
): Promise<Queries & { close(): Promise<void> }> {
  const connection = new Connection({ url, pooling, patience: 1, misled: () => {} });
  try {
    await connection.all('SELECT 1');
  } catch (error) {
    connection.drop();
    throw explained(url, error);
  }
  return {
    all: (sql, params) => connection.all(sql, params),
    run: () => Promise.reject(new Error('the store is open for reading only')),
    close: async () => connection.drop(),
  };
}

/** Throws if the engine could not keep what the store relies on, as a start would. It takes two locks, and writes nothing. */
export async function tryEngine(url: string, pooling: Server['pooling']): Promise<void> {
  const server = { url, pooling, patience: 1, misled: () => {} };
  const [one, other] = [new Connection(server), new Connection(server)];
  try {
    await refuseUnfit(one, other);
  } catch (error) {
    throw explained(url, error);
  } finally {
    one.drop();
    other.drop();
  }
}

function explained(url: string, error: unknown): unknown {
  if (!(error instanceof StoreError && error.cause instanceof SQL.PostgresError)) return error;
  return new Error(unreachable(error) ? whereTo(url, error) : refusal(url, error), { cause: error });
}

/**
 * The runtime only says that the connection failed. The message names the host only, because the URL contains a
 * password.
 */
function whereTo(url: string, error: Error): string {
  return `PostgreSQL at ${new URL(url).host} cannot be reached: ${error.message}. Is TOOLGATE_DATABASE_URL right, and the server up?`;
}

/** The server's message may name the user or the database, but never the password. */
function refusal(url: string, error: StoreError): string {
  if (isLacking(error)) {
    return (
      `The database at ${new URL(url).host} speaks PostgreSQL’s protocol, but lacks what the store needs: ` +
      `${error.message}. docs/operating.md says which engines can be used.`
    );
  }
  return `PostgreSQL at ${new URL(url).host} refuses us: ${error.message}. TOOLGATE_DATABASE_URL names the user, the password and the database.`;
}

class PostgresDb implements Db {
  readonly #server: Server;
  readonly #pool: Pool;
  readonly #lanes: Connection[] = [];
  readonly #listeners: (() => void)[] = [];
  readonly #hinted: ((word: string) => void)[] = [];
  readonly moveErrors = 0;
  #listening: SQL | null = null;
  #moving: Timer | undefined;

  constructor(server: Omit<Server, 'misled'>, poolSize: number) {
    this.#server = { ...server, misled: () => this.#listenAnewSoon() };
    this.#pool = new Pool(this.#server, poolSize);
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

  async size(): Promise<number> {
    const [row] = await this.all<{ bytes: number }>('SELECT pg_database_size(current_database()) AS bytes');
    return row?.bytes ?? 0;
  }

  async refuseUnfit(): Promise<void> {
    const other = new Connection(this.#server);
    try {
      await refuseUnfit(this, other);
    } finally {
      other.drop();
    }
  }

  lane(): Lane {
    const connection = new Connection(this.#server);
    this.#lanes.push(connection);
    return connection;
  }

  async exclusively<T>(work: (lane: Lane) => Promise<T>, onWait = () => {}): Promise<T> {
    const [holder, worker] = [unlimited(this.#server), unlimited(this.#server)];
    try {
      for (let attempts = 0; ; attempts++) {
        const done = await holder.transaction({}, async tx => {
          return (await tookLock(tx)) ? { result: await work(worker) } : null;
        });
        if (done !== null) return done.result;
        if (attempts === 0) onWait();
        await Bun.sleep(EXCLUSIVE_RETRY_MS);
      }
    } finally {
      holder.drop();
      worker.drop();
    }
  }

  wake(): void {
    for (const listener of this.#listeners) queueMicrotask(listener);
    void this.#notify('');
  }

  onWake(listener: () => void): void {
    this.#listeners.push(listener);
    this.#listen();
  }

  async sendHint(word: string): Promise<void> {
    if (this.hintsReachReplicas) await this.#notify(word);
    else for (const each of this.#hinted) queueMicrotask(() => each(word));
  }

  get hintsReachReplicas(): boolean {
    return this.#server.pooling === 'session';
  }

  onHint(listener: (word: string) => void): void {
    this.#hinted.push(listener);
    this.#listen();
  }

  async #notify(word: string): Promise<void> {
    await this.all('SELECT pg_notify($1, $2)', [CHANNEL, word]).catch(() => {});
  }

  #listen(): void {
    if (this.#listening !== null || this.#server.pooling === 'transaction') return;
    const wake = () => {
      for (const each of this.#listeners) each();
    };
    const hear = (word: string) => {
      if (word === '') wake();
      else for (const each of this.#hinted) each(word);
    };
    const listening = new SQL(options(this.#server));
    this.#listening = listening;
    // The client listens again by itself after a lost connection, but not if it has had none. Polling finds what was missed.
    listening.listen(CHANNEL, hear, wake).catch(() => {
      if (this.#listening === listening) this.#listenAnewSoon();
    });
  }

  /**
   * The listening connection writes nothing, so it would not notice a read-only server. It reconnects after the others
   * had time to.
   */
  #listenAnewSoon(): void {
    clearTimeout(this.#moving);
    this.#moving = setTimeout(() => {
      this.#listening?.close({ timeout: 0 }).catch(() => {});
      this.#listening = null;
      this.#listen();
    }, LISTEN_ANEW_MS);
  }

  async close(): Promise<void> {
    clearTimeout(this.#moving);
    const listening = this.#listening;
    this.#listening = null;
    await listening?.close({ timeout: 0 }).catch(() => {});
    for (const lane of this.#lanes) lane.drop();
    this.#pool.close();
  }
}

/**
 * The lock belongs to a transaction beside the work, because behind a pooling proxy there is no session. It is tried
 * and not waited for, because a waiting transaction would occupy a connection that the work may need.
 */
async function tookLock(tx: Transaction): Promise<boolean> {
  const [row] = await tx.all<{ took: number }>(
    'SELECT CASE WHEN pg_try_advisory_xact_lock(hashtextextended($1, 0)) THEN 1 ELSE 0 END AS took',
    [MIGRATION_LOCK],
  );
  return row?.took === 1;
}

/** A few connections, each lent to one user at a time. */
class Pool {
  readonly #server: Server;
  readonly #free: Connection[] = [];
  readonly #waiting: ((connection: Connection) => void)[] = [];
  readonly #all: Connection[] = [];
  readonly #size: number;

  constructor(server: Server, size: number) {
    this.#server = server;
    this.#size = size;
  }

  /** The time spent waiting for a connection counts towards the limit of the work. */
  async use<T>(work: (connection: Connection, deadline: number) => Promise<T>): Promise<T> {
    const deadline = deadlineOf(this.#server);
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
      const connection = new Connection(this.#server);
      this.#all.push(connection);
      return connection;
    }
    if (this.#waiting.length >= MOST_WAITING) {
      throw new GuardError('overloaded', 'Too many requests wait for the database.', { retryAfter: 1 });
    }
    const acquireMs = ACQUIRE_MS * this.#server.patience;
    return new Promise((resolve, reject) => {
      const give = (connection: Connection) => {
        clearTimeout(timer);
        resolve(connection);
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(give), 1);
        reject(new StoreError(`No database connection became free within ${acquireMs} ms.`));
      }, acquireMs);
      this.#waiting.push(give);
    });
  }
}
