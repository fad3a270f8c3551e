// The interface of the store, which both engines implement. SQL is written once, with $1-style parameters, in the files
// of src/store; only the files of this folder that are named after an engine, and backup.ts, depend on one.

export type Value = string | number | null;
export type Row = Record<string, Value>;

export interface Queries {
  all<T = Row>(sql: string, params?: readonly Value[]): Promise<T[]>;
  /** Returns how many rows the statement changed. */
  run(sql: string, params?: readonly Value[]): Promise<number>;
}

export interface Transaction extends Queries {
  /**
   * Queues a statement whose result is not needed. It is executed before the commit at the latest, and the commit fails
   * if it fails. On PostgreSQL it is sent together with the commit, which saves a round trip.
   */
  defer(sql: string, params: readonly Value[]): void;
  /**
   * Queues rows to be inserted, as `defer` queues a statement. `values` are those of the first row, then those of the
   * next, and so on; there may be none.
   */
  insert(into: Into, values: readonly Value[]): void;
  /** Takes further locks, and waits for them. */
  lock(locks: Locks): Promise<void>;
  /**
   * The time on the clock of the database server, which all replicas share, when the transaction had the locks that it
   * began with. Null on SQLite, where the process and its store are on one machine.
   */
  lockedAt(): Promise<number | null>;
  /** Runs several statements without parameters. */
  script(sql: string): Promise<void>;
}

/** A table of which many rows are inserted at a time. */
export interface Into {
  table: string;
  /** The columns that are written, in the order of their values. */
  columns: readonly (readonly [name: string, type: 'text' | 'bigint'])[];
  /** The end of the statement. */
  then: 'ON CONFLICT DO NOTHING' | '';
}

export function into(
  table: string,
  columns: Record<string, 'text' | 'bigint'>,
  then: Into['then'] = '',
): Into {
  return { table, columns: Object.entries(columns), then };
}

/**
 * Named locks on facts (a key with its sessions and grants; a policy), held until the transaction ends. A transaction
 * that relies on a fact takes its lock shared, one that changes it takes it exclusively. Waiting is fair: a change
 * never waits behind readers that came later. Locks are taken in the order of their names, so that transactions cannot
 * deadlock. SQLite has one writer at a time and needs no locks.
 */
export interface Locks {
  shared?: readonly string[];
  exclusive?: readonly string[];
}

/** Something that runs queries and transactions. */
export interface Lane extends Queries {
  transaction<T>(locks: Locks, work: (tx: Transaction) => Promise<T>): Promise<T>;
}

export interface Db extends Lane {
  /** A lane with its own connection, so that work there does not wait until others give one back. */
  lane(): Lane;
  /**
   * Runs `work` without time limits, and only while no other process runs such work on the same store. `onWait` is called
   * if there is one.
   */
  exclusively<T>(work: (lane: Lane) => Promise<T>, onWait?: () => void): Promise<T>;
  /** Signals every replica, including this one, that there is work. The signal may be lost. */
  wake(): void;
  onWake(listener: () => void): void;
  /** Sends a short message to every replica, including this one. It may be lost too. Resolves once it is on its way. */
  sendHint(word: string): Promise<void>;
  onHint(listener: (word: string) => void): void;
  /** Whether such messages can reach other replicas. */
  readonly hintsReachReplicas: boolean;
  /** How many bytes the store takes. */
  size(): Promise<number>;
  /** How many times SQLite's write-ahead log could not be moved into the file; 0 on PostgreSQL. */
  readonly moveErrors: number;
  close(): Promise<void>;
}

/** The same store, whose queries and transactions run through lanes that `through` makes of its own. */
export function dbThrough(db: Db, through: (lane: Lane) => Lane): Db {
  return {
    ...through(db),
    lane: () => through(db.lane()),
    exclusively: (work, onWait) => db.exclusively(lane => work(through(lane)), onWait),
    wake: () => db.wake(),
    onWake: listener => db.onWake(listener),
    sendHint: word => db.sendHint(word),
    onHint: listener => db.onHint(listener),
    hintsReachReplicas: db.hintsReachReplicas,
    size: () => db.size(),
    moveErrors: db.moveErrors,
    close: () => db.close(),
  };
}

/**
 * A failure of the store itself: lost connection, timeout, lock, full disk, damage. Whether the work took effect may be
 * unknown.
 */
export class StoreError extends Error {}

/** It is unknown whether a write is durable, or where it went, so the process must not go on. */
export class FatalStoreError extends StoreError {}

/** Another transaction held a lock for longer than this work may wait; a retry may succeed. */
export class Blocked extends StoreError {}

/** The store refused a value in a statement. Nothing of the transaction was written. */
export class Refused extends Error {}

/** A row with this value already exists. */
export class UniqueViolation extends Refused {}

/** `$1, $2, …` for one row, starting after the given offset. */
export function placeholders(count: number, offset = 0): string {
  return Array.from({ length: count }, (_, index) => `$${offset + index + 1}`).join(', ');
}

/**
 * Bounds the number of different statements: a list of ids is padded to the next power of two by repeating the last id,
 * so that 1 to 64 ids need seven prepared statements instead of 64.
 */
export function padded<Id extends Value>(ids: readonly Id[]): Id[] {
  const size = 2 ** Math.ceil(Math.log2(Math.max(ids.length, 1)));
  return Array.from({ length: size }, (_, index) => ids[Math.min(index, ids.length - 1)] as Id);
}
