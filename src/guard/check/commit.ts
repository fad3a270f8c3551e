// Group commit: checks that wait share one transaction and one fsync. A lone check starts a commit at once;
// those that arrive while it runs make up the next group. Nobody gets an answer before the commit of their
// group has returned. What is decided and written inside is check.ts's; whose fault it is when that fails, blame.ts's.

import { auditFailed, GuardError, overloaded } from '../../core/errors.ts';
import { type Db, type Lane, StoreError, type Transaction } from '../../store/db.ts';
import { Apart, divide } from './blame.ts';

/**
 * In an overload each step of a commit waits for a turn of an event loop that is busy refusing: groups of 256 then left
 * half of what 1,000 do.
 */
const MAX_GROUP = 1024;
/** Each has a lock, and PostgreSQL has room for 6,400 by default, for all replicas. */
const MAX_KEYS = 256;
/** With the sweep that finds who is late, three seconds. */
const CHECK_LIMIT_MS = 2900;
const SWEEP_MS = 100;
/** Who waits longer than this is behind more than the store can take: newcomers are better told at once. */
const PATIENCE_MS = 1000;

interface CommitObserver {
  committed(size: number): void;
  /** Checks got no verdict for this reason: a whole group, or one of its members. */
  failed(error: unknown): void;
}

interface Waiting<Request, Result> {
  request: Request;
  deadline: number;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export interface GroupWork<Request, Result> {
  keyOf(request: Request): string;
  /** Tells the callers of one key apart. */
  callerOf(request: Request): string;
  /** Locks that the transaction of a group of these keys starts with. */
  shares(keyIds: ReadonlySet<string>): string[];
  /** Decides and writes; one result, or error, per request, in order. */
  decide(tx: Transaction, requests: readonly Request[]): Promise<(Result | GuardError)[]>;
  /** Called once the results are committed. */
  committed(results: readonly (Result | GuardError)[]): void;
}

export class GroupCommit<Request, Result> {
  readonly #lane: Lane;
  readonly #work: GroupWork<Request, Result>;
  readonly #limit: number;
  readonly #observer: CommitObserver;
  #queue: Waiting<Request, Result>[] = [];
  #flying: Waiting<Request, Result>[] = [];
  #running: Promise<void> | null = null;
  readonly #apart = new Apart();

  constructor(db: Db, work: GroupWork<Request, Result>, limit: number, observer: CommitObserver) {
    this.#lane = db.lane();
    this.#work = work;
    this.#limit = limit;
    this.#observer = observer;
  }

  get depth(): number {
    return this.#queue.length + this.#flying.length;
  }

  /** Whether one more would only wait: the queue is full, or moves so slowly that its end comes too late. */
  get overloaded(): boolean {
    if (this.#queue.length >= this.#limit) return true;
    if (this.#queue.length <= MAX_GROUP) return false;
    const oldest = this.#queue[0] as Waiting<Request, Result>;
    return oldest.deadline - performance.now() < CHECK_LIMIT_MS - PATIENCE_MS;
  }

  /** What the store was already waited for counts: a check is answered in time as a whole. */
  submit(request: Request, waitedMs = 0): Promise<Result> {
    if (this.overloaded) return Promise.reject(overloaded());
    return new Promise((resolve, reject) => {
      this.#queue.push({ request, deadline: performance.now() + CHECK_LIMIT_MS - waitedMs, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves once everything submitted so far is answered. */
  async drain(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    const sweeper = setInterval(() => this.#expire(), SWEEP_MS);
    while (this.#queue.length > 0) {
      await this.#gathered();
      this.#take();
      if (this.#flying.length > 0) await this.#commit(this.#flying);
      this.#flying = [];
    }
    clearInterval(sweeper);
    this.#running = null;
  }

  /**
   * Whatever arrives within one turn of the event loop rides along, and further turns are waited for as long as
   * each brings more: a lone check waits for none, and under load a commit, which costs the same for one as for
   * many, is shared by twice as many (CPU time per check fell by a sixth).
   */
  async #gathered(): Promise<void> {
    let waiting: number;
    do {
      waiting = this.#queue.length;
      await new Promise(setImmediate);
    } while (this.#queue.length > waiting && this.#queue.length < MAX_GROUP);
  }

  /** Those who waited longest, as many as one transaction takes. */
  #take(): void {
    const keyIds = new Set<string>();
    const waiting = this.#apart.isEmpty ? this.#queue : this.#apart.turn(this.#queue, this.#keyOf);
    const end = waiting.findIndex(({ request }, index) => {
      const keyId = this.#work.keyOf(request);
      if (index === MAX_GROUP || (keyIds.size === MAX_KEYS && !keyIds.has(keyId))) return true;
      keyIds.add(keyId);
      return false;
    });
    this.#flying = waiting.splice(0, end < 0 ? waiting.length : end);
    if (waiting === this.#queue) return;
    const taken = new Set(this.#flying);
    this.#queue = this.#queue.filter(each => !taken.has(each));
  }

  readonly #keyOf = ({ request }: Waiting<Request, Result>): string => this.#work.keyOf(request);
  readonly #callerOf = ({ request }: Waiting<Request, Result>): string => this.#work.callerOf(request);

  async #commit(group: readonly Waiting<Request, Result>[]): Promise<void> {
    try {
      const spoilt = await this.#attempt(group);
      if (spoilt === null) return;
      if (group.length > 1) await this.#divide(group);
      this.#fail(group, spoilt);
    } catch (error) {
      this.#fail(group, error);
    }
  }

  /**
   * Decides a group in one transaction. What one of its members threw is answered, and then nothing is written, for
   * certain: such a group may be decided again. The store's own trouble, whose outcome may be unknown, is thrown.
   */
  async #attempt(group: readonly Waiting<Request, Result>[]): Promise<Error | null> {
    const requests = group.map(each => each.request);
    const keyIds = new Set(group.map(this.#keyOf));
    let results: (Result | GuardError)[];
    try {
      results = await this.#lane.transaction({ shared: this.#work.shares(keyIds) }, tx =>
        this.#work.decide(tx, requests),
      );
    } catch (error) {
      if (error instanceof StoreError) throw error;
      return error as Error;
    }
    this.#observer.committed(group.length);
    this.#work.committed(results);
    for (const [index, each] of group.entries()) this.#answer(each, results[index] as Result | GuardError);
    return null;
  }

  #answer(each: Waiting<Request, Result>, result: Result | GuardError): void {
    if (!(result instanceof GuardError)) {
      each.resolve(result);
      return;
    }
    if (result.code === 'audit_failed') this.#observer.failed(result.cause);
    each.reject(result);
  }

  /** Who was late meanwhile is answered, and not decided any more. */
  async #divide(group: readonly Waiting<Request, Result>[]): Promise<void> {
    const origin = { keyOf: this.#keyOf, callerOf: this.#callerOf };
    const bad = await divide(group, origin, async part => {
      const now = performance.now();
      const inTime = part.filter(each => each.deadline > now);
      return inTime.length === 0 || (await this.#attempt(inTime)) === null;
    });
    for (const keyId of bad) this.#apart.add(keyId);
  }

  /** Whoever was answered before stays answered. */
  #fail(group: readonly Waiting<Request, Result>[], error: unknown): void {
    this.#observer.failed(error);
    const failed = auditFailed(error);
    for (const each of group) each.reject(failed);
  }

  /** A check is answered in time even while the store is not; its entry may still be written. */
  #expire(): void {
    const now = performance.now();
    const late = (each: Waiting<Request, Result>) => each.deadline <= now;
    const expired = [...this.#flying.filter(late), ...this.#queue.filter(late)];
    if (expired.length === 0) return;
    this.#queue = this.#queue.filter(each => !late(each));
    const failed = auditFailed(new Error(`no commit within ${CHECK_LIMIT_MS} ms`));
    for (const each of expired) each.reject(failed);
  }
}
