// Group commit: checks that wait share one transaction and one fsync. A lone check starts a commit at once; the checks
// that arrive while it runs form the next group. No check is answered before the commit of its group has returned.
// check.ts decides the checks and writes their entries. When a group fails, blame.ts finds the checks that caused it.

import { auditFailed, GuardError, overloaded } from '../../core/errors.ts';
import type { Span } from '../../core/wire/span.ts';
import { type Db, type Lane, StoreError, type Transaction } from '../../store/engine/db.ts';
import { divide, Quarantine } from './blame.ts';

/**
 * Under overload each step of a commit waits for its turn on an event loop that is busy refusing requests. Groups of at
 * most 256 then answered half as many checks per second as groups of 1,000.
 */
const MAX_GROUP = 1024;
/** A group takes one lock for each key. By default PostgreSQL has room for 6,400 locks, for all replicas together. */
const MAX_KEYS = 256;
/** A check is answered within three seconds: it fails after this time, and late ones are looked for every SWEEP_MS. */
const CHECK_LIMIT_MS = 2900;
const SWEEP_MS = 100;
/** When the oldest check in a long queue has waited this long, the store is too slow, and new checks are refused. */
const PATIENCE_MS = 1000;
/** No group gathers for longer: somebody's large requests may make each turn of the event loop take milliseconds. */
const GATHER_MS = 2;

/** What is known of a group whose commit has returned. Times are in milliseconds. */
export interface CommittedGroup {
  size: number;
  /** From the arrival of its first check to the beginning of its transaction. */
  waited: number;
  /** From there until its entries were durable. */
  took: number;
}

export interface CommitObserver {
  committed(group: CommittedGroup): void;
  /** A whole group, or one of its members, got no verdict because of this error. */
  failed(error: unknown): void;
}

interface Waiting<Item, Result> {
  request: Item;
  /** `performance.now()` when it came into this queue. */
  queuedAt: number;
  deadline: number;
  /** Takes the answer. Only the first one counts. */
  answer: (answer: Result | GuardError) => void;
}

/** Says that a request was not decided, because it belongs into the groups of the next GroupCommit. */
export const MOVED = Symbol('moved');

/** Says that a request was not decided, because its group has worked long enough: it belongs into a later group. */
export const LATER = Symbol('later');

/** What became of a request in its group. */
export type Outcome<Result> = Result | GuardError | typeof MOVED | typeof LATER;

/** What became of a group. */
export interface DecidedGroup<Result> {
  /** One outcome for each request, in order. */
  results: Outcome<Result>[];
  /** Called once the results are committed. */
  afterCommit: () => void;
}

export interface GroupWork<Item, Result> {
  keyOf(request: Item): string;
  /** Distinguishes the callers that share a key. */
  callerOf(request: Item): string;
  /** The shared locks that the transaction of a group with these keys and requests takes first. */
  shares(keyIds: ReadonlySet<string>, requests: readonly Item[]): string[];
  /** The span of a request, if it is traced. */
  spanOf?(request: Item): Span | undefined;
  /** Whether a request probably belongs into the groups of the next GroupCommit. */
  moves?(request: Item): boolean;
  /**
   * Prepares a request that was left for a later group: it does the work that would take too long while locks are held.
   * Null if there is no such work.
   */
  prepare?(request: Item): Promise<void> | null;
  /** Decides the requests and writes their entries. */
  decideGroup(tx: Transaction, requests: readonly Item[]): Promise<DecidedGroup<Result>>;
}

export class GroupCommit<Item, Result> {
  readonly #lane: Lane;
  readonly #work: GroupWork<Item, Result>;
  readonly #limit: number;
  readonly #observer: CommitObserver;
  readonly #next: GroupCommit<Item, Result> | null;
  readonly #clock: () => number;
  #queue: Waiting<Item, Result>[] = [];
  #underWay: Waiting<Item, Result>[] = [];
  /** Those of the group under way that are decided in a later one. */
  readonly #later = new Set<Waiting<Item, Result>>();
  #running: Promise<void> | null = null;
  /** The preparations that are under way. */
  readonly #preparing = new Set<Promise<void>>();
  /** How many checks waited when the last group was put together. */
  #lastSize = 0;
  readonly #quarantine = new Quarantine();

  /**
   * `next` decides the requests that `work` moves to it, in transactions of its own. `clock` says how long a group has
   * gathered.
   */
  constructor(
    db: Db,
    work: GroupWork<Item, Result>,
    limit: number,
    observer: CommitObserver,
    next: GroupCommit<Item, Result> | null = null,
    clock: () => number = () => performance.now(),
  ) {
    this.#lane = db.lane();
    this.#work = work;
    this.#limit = limit;
    this.#observer = observer;
    this.#next = next;
    this.#clock = clock;
  }

  get depth(): number {
    const here = this.#queue.length + this.#underWay.length + this.#preparing.size;
    return here + (this.#next?.depth ?? 0);
  }

  /** Whether a new check is refused: the queue is full, or moves so slowly that the answer would come too late. */
  get overloaded(): boolean {
    if (this.#queue.length >= this.#limit) return true;
    if (this.#queue.length <= MAX_GROUP) return false;
    const oldest = this.#queue[0] as Waiting<Item, Result>;
    return oldest.deadline - performance.now() < CHECK_LIMIT_MS - PATIENCE_MS;
  }

  /** `waitedMs` is the time that the check has already waited for the store; it counts toward the time limit. */
  submit(request: Item, waitedMs = 0): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#enter(request, performance.now(), waitedMs, answer =>
        answer instanceof GuardError ? reject(answer) : resolve(answer),
      );
    });
  }

  /**
   * Submits several requests, each of which waits, fails and is refused by itself. The promise resolves once all of them
   * are answered, with the error of those that failed. A promise for each of them would cost a tenth of their price.
   */
  submitAll(requests: readonly Item[], waitedMs = 0): Promise<(Result | GuardError)[]> {
    const answers: (Result | GuardError | undefined)[] = requests.map(() => undefined);
    let open = requests.length;
    const queuedAt = performance.now();
    return new Promise(resolve => {
      const all = () => resolve(answers as (Result | GuardError)[]);
      if (open === 0) all();
      requests.forEach((request, index) => {
        this.#enter(request, queuedAt, waitedMs, answer => {
          if (answers[index] !== undefined) return;
          answers[index] = answer;
          if (--open === 0) all();
        });
      });
    });
  }

  #enter(request: Item, queuedAt: number, waitedMs: number, answer: Waiting<Item, Result>['answer']): void {
    if (this.#next !== null && this.#work.moves?.(request))
      this.#next.#enter(request, queuedAt, waitedMs, answer);
    else if (this.overloaded) answer(overloaded());
    else {
      this.#queue.push({ request, queuedAt, deadline: queuedAt + CHECK_LIMIT_MS - waitedMs, answer });
      this.#running ??= this.#run();
    }
  }

  /** Resolves once everything submitted so far is answered. */
  async drain(): Promise<void> {
    while (this.#running !== null || this.#preparing.size > 0)
      await Promise.all([this.#running, ...this.#preparing]);
    await this.#next?.drain();
  }

  async #run(): Promise<void> {
    const sweeper = setInterval(() => this.#expire(), SWEEP_MS);
    while (this.#queue.length > 0) {
      await this.#gathered();
      this.#take();
      if (this.#underWay.length > 0) await this.#commit(this.#underWay);
      this.#underWay = [];
      this.#putBack();
    }
    clearInterval(sweeper);
    this.#running = null;
  }

  /**
   * They go behind all others, because a flood of checks that take long would otherwise fill every group. Those that have
   * waited too long are rejected.
   */
  #putBack(): void {
    if (this.#later.size === 0) return;
    for (const each of this.#later) {
      const prepared = this.#work.prepare?.(each.request) ?? null;
      if (prepared === null) this.#queue.push(each);
      else this.#putBackAfter(prepared, each);
    }
    this.#later.clear();
    this.#expire();
  }

  /** Other requests do not wait for the preparation. If it takes too long, the request is answered with that error. */
  #putBackAfter(prepared: Promise<void>, each: Waiting<Item, Result>): void {
    const late = setTimeout(() => {
      each.answer(tooLate());
      // The request is answered, so no group may decide it, even if this timer fired a moment before the deadline.
      each.deadline = 0;
    }, each.deadline - performance.now());
    const back = () => {
      this.#queue.push(each);
      this.#expire();
      if (this.#queue.length > 0) this.#running ??= this.#run();
    };
    const done = prepared
      .then(back, error => this.#fail([each], error))
      .finally(() => {
        clearTimeout(late);
        this.#preparing.delete(done);
      });
    this.#preparing.add(done);
  }

  /**
   * Waits for one turn of the event loop, and for further ones, 2 ms at most, as long as each brings more checks.
   * A commit costs the same for one check as for many. Under load this doubles the checks that share one (CPU time per
   * check fell by a sixth), and a lone check waits for a single turn.
   *
   * A group that is smaller than the one before it waits for one turn more, because callers that were just answered can
   * come back in the next turn at the earliest. Otherwise groups of 1 and of 63 took turns with 64 callers.
   */
  async #gathered(): Promise<void> {
    let turns = this.#queue.length < this.#lastSize ? 2 : 1;
    const end = this.#clock() + GATHER_MS;
    do {
      const waiting = this.#queue.length;
      await new Promise(setImmediate);
      turns = this.#queue.length > waiting ? 1 : turns - 1;
    } while (turns > 0 && this.#queue.length < MAX_GROUP && this.#clock() < end);
    this.#lastSize = this.#queue.length;
  }

  /** Takes the checks that have waited longest, as many as one transaction may have. */
  #take(): void {
    const keyIds = new Set<string>();
    const waiting = this.#quarantine.isEmpty ? this.#queue : this.#quarantine.turn(this.#queue, this.#keyOf);
    const end = waiting.findIndex(({ request }, index) => {
      const keyId = this.#work.keyOf(request);
      if (index === MAX_GROUP || (keyIds.size === MAX_KEYS && !keyIds.has(keyId))) return true;
      keyIds.add(keyId);
      return false;
    });
    this.#underWay = waiting.splice(0, end < 0 ? waiting.length : end);
    if (waiting === this.#queue) return;
    const taken = new Set(this.#underWay);
    this.#queue = this.#queue.filter(each => !taken.has(each));
  }

  readonly #keyOf = ({ request }: Waiting<Item, Result>): string => this.#work.keyOf(request);
  readonly #callerOf = ({ request }: Waiting<Item, Result>): string => this.#work.callerOf(request);

  async #commit(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const error = await this.#attempt(group);
      if (error === null) return;
      if (group.length > 1) await this.#divide(group);
      this.#fail(group, error);
    } catch (error) {
      this.#fail(group, error);
    }
  }

  /**
   * Decides a group in one transaction. An error that one of its members caused is returned: it is then certain that
   * nothing was written, and the group may be decided again. An error of the store itself is thrown, since it may be
   * unknown whether the transaction was committed.
   */
  async #attempt(group: readonly Waiting<Item, Result>[]): Promise<Error | null> {
    const requests = group.map(each => each.request);
    const keyIds = new Set(group.map(this.#keyOf));
    const startedAt = performance.now();
    let decided: DecidedGroup<Result>;
    try {
      decided = await this.#lane.transaction({ shared: this.#work.shares(keyIds, requests) }, tx =>
        this.#work.decideGroup(tx, requests),
      );
    } catch (error) {
      this.#trace(group, startedAt, 'commit_failed');
      if (error instanceof StoreError) throw error;
      return error as Error;
    }
    this.#trace(group, startedAt, null);
    this.#observer.committed({
      size: group.length,
      waited: startedAt - arrivedAt(group[0] as Waiting<Item, Result>),
      took: performance.now() - startedAt,
    });
    decided.afterCommit();
    for (const [index, each] of group.entries())
      this.#answer(each, decided.results[index] as Outcome<Result>);
    return null;
  }

  /** Adds to the spans of requests how long they waited for their group, and how long its transaction took. */
  #trace(group: readonly Waiting<Item, Result>[], startedAt: number, failure: string | null): void {
    for (const { request, queuedAt } of group) {
      const span = this.#work.spanOf?.(request);
      if (span === undefined || !span.sampled) continue;
      span.child('toolgate.wait', 'internal', queuedAt).end(null, startedAt);
      const commit = span.child('toolgate.commit', 'internal', startedAt);
      commit.set({ 'toolgate.group_size': group.length });
      commit.end(failure);
    }
  }

  #answer(each: Waiting<Item, Result>, result: Outcome<Result>): void {
    if (result === MOVED) {
      const now = performance.now();
      const { answer } = each;
      // From now on only the next GroupCommit answers it, even if the rest of this group fails.
      each.answer = () => {};
      (this.#next as GroupCommit<Item, Result>).#enter(each.request, now, now - arrivedAt(each), answer);
      return;
    }
    if (result === LATER) {
      each.queuedAt = performance.now();
      this.#later.add(each);
      return;
    }
    if (result instanceof GuardError && result.code === 'audit_failed') this.#observer.failed(result.cause);
    each.answer(result);
  }

  /** Checks whose deadline has passed were already rejected by #expire and are not decided again. */
  async #divide(group: readonly Waiting<Item, Result>[]): Promise<void> {
    const origin = { keyOf: this.#keyOf, callerOf: this.#callerOf };
    const bad = await divide(group, origin, async part => {
      const now = performance.now();
      const inTime = part.filter(each => each.deadline > now);
      return inTime.length === 0 || (await this.#attempt(inTime)) === null;
    });
    for (const keyId of bad) this.#quarantine.add(keyId);
  }

  /** It has no effect on checks that were already answered. */
  #fail(members: readonly Waiting<Item, Result>[], error: unknown): void {
    this.#observer.failed(error);
    const failed = auditFailed(error);
    const group = members.filter(each => !this.#later.has(each));
    for (const each of group) each.answer(failed);
  }

  /** Rejects checks that are past their deadline, even while the store hangs. Their entries may still be written. */
  #expire(): void {
    const now = performance.now();
    const late = (each: Waiting<Item, Result>) => each.deadline <= now;
    const expired = [...this.#underWay.filter(late), ...this.#queue.filter(late)];
    if (expired.length === 0) return;
    this.#queue = this.#queue.filter(each => !late(each));
    const failed = tooLate();
    for (const each of expired) each.answer(failed);
  }
}

function tooLate(): GuardError {
  return auditFailed(new Error(`no commit within ${CHECK_LIMIT_MS} ms`));
}

function arrivedAt({ deadline }: { deadline: number }): number {
  return deadline - CHECK_LIMIT_MS;
}
