// The port to the store: what both engines offer, and nothing more. SQL is written once, with $1-style
// parameters, in the files beside this one; only sqlite.ts and postgres.ts know which engine runs it.

export type Value = string | number | null;
export type Row = Record<string, Value>;

export interface Queries {
  all<T = Row>(sql: string, params?: readonly Value[]): Promise<T[]>;
  /** How many rows a statement changed. */
  run(sql: string, params?: readonly Value[]): Promise<number>;
}

export interface Transaction extends Queries {
  /**
   * Queues a statement whose result nobody needs; it takes effect no later than the commit, which fails
   * if it does. On PostgreSQL it travels together with the commit and saves a round trip.
   */
  defer(sql: string, params: readonly Value[]): void;
  /** Waits for further locks. */
  lock(locks: Locks): Promise<void>;
  /** Several statements at once, without parameters. */
  script(sql: string): Promise<void>;
}

/**
 * Named locks on facts (a key with its sessions and grants; a policy), held to the end of the transaction.
 * Whoever relies on a fact shares its lock, whoever changes it holds it alone, and waiting is fair: a change
 * never waits behind readers that came later. They are taken in the order of their names, so that no two
 * transactions wait for each other in a ring. SQLite has one writer at a time and needs none.
 */
export interface Locks {
  shared?: readonly string[];
  exclusive?: readonly string[];
}

/** Somewhere transactions run. */
export interface Lane extends Queries {
  transaction<T>(locks: Locks, work: (tx: Transaction) => Promise<T>): Promise<T>;
}

export interface Db extends Lane {
  /** A lane of its own, so that what runs there never waits for a connection. */
  lane(): Lane;
  /** Runs `work` without time limits, while no other process runs such work on the same store. */
  exclusively<T>(work: (lane: Lane) => Promise<T>): Promise<T>;
  /** Tells every replica, this one included, that there is work; a hint that may be lost. */
  wake(): void;
  onWake(listener: () => void): void;
  /** Says a word to every replica, this one included; it may be lost too. */
  tell(word: string): void;
  onTold(listener: (word: string) => void): void;
  close(): Promise<void>;
}

/** The store's own trouble, whoever asks and whatever for: lost, late, locked, full, broken. The outcome may be unknown. */
export class StoreError extends Error {}

/** A write that may or may not be durable: the process must not go on as if it knew. */
export class FatalStoreError extends StoreError {}

/** Somebody held a lock for longer than this work may wait; the same may work later. */
export class Blocked extends StoreError {}

/** The store refused a value that a statement brought. Nothing of its transaction was written, for certain. */
export class Refused extends Error {}

/** A row with this value is there already. */
export class UniqueViolation extends Refused {}

/** `$1, $2, …` for one row, from the given offset on. */
export function placeholders(count: number, offset = 0): string {
  return Array.from({ length: count }, (_, index) => `$${offset + index + 1}`).join(', ');
}

/**
 * Bounds the number of different statements: a list of ids is padded to the next power of two by repeating
 * its last, so that 1 to 64 ids need seven prepared statements and not 64.
 */
export function padded<Id extends Value>(ids: readonly Id[]): Id[] {
  const size = 2 ** Math.ceil(Math.log2(Math.max(ids.length, 1)));
  return Array.from({ length: size }, (_, index) => ids[Math.min(index, ids.length - 1)] as Id);
}

const MOST_ROWS = 64;

/**
 * Inserts many rows at a time, deferred. They go in by powers of two, so that groups of every size need seven
 * prepared statements.
 */
export function rowInserts(
  into: string,
  fields: number,
  then = '',
): (tx: Transaction, count: number, push: (params: Value[], index: number) => void) => void {
  const statements = new Map<number, string>();
  for (let rows = 1; rows <= MOST_ROWS; rows *= 2) {
    const values = Array.from({ length: rows }, (_, row) => `(${placeholders(fields, row * fields)})`);
    statements.set(rows, `INSERT INTO ${into} VALUES ${values.join(', ')} ${then}`);
  }
  return (tx, count, push) => {
    let rows = MOST_ROWS;
    for (let at = 0; at < count; at += rows) {
      while (rows > count - at) rows /= 2;
      const params: Value[] = [];
      for (let index = at; index < at + rows; index++) push(params, index);
      tx.defer(statements.get(rows) as string, params);
    }
  };
}
