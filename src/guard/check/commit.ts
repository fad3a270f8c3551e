// Group commit: checks that wait share one transaction and one fsync. A lone check starts a commit at once; the checks
// that arrive while it runs form the next group. No check is answered before the commit of its group has returned.
// check-queue.ts has the checks that wait, and check.ts decides those of a group and writes their entries. When a group
// fails, blame.ts finds the checks that caused it.

import { auditFailed, GuardError, overloaded } from '../../core/errors.ts';
import { type Db, type Lane, StoreError } from '../../store/engine/db.ts';
import { divide } from './blame.ts';
import { arrivedAt, CheckQueue, tooLate, type Waiting } from './check-queue.ts';
import {
  type CommitObserver,
  type DecidedGroup,
  type GroupWork,
  LATER,
  MOVED,
  type Outcome,
} from './group-work.ts';

/** How often checks that have waited too long are looked for. */
const SWEEP_MS = 100;

export class GroupCommit<Item, Result> {
  readonly #lane: Lane;
  readonly #work: GroupWork<Item, Result>;
  readonly #observer: CommitObserver;
  readonly #next: GroupCommit<Item, Result> | null;
  readonly #queue: CheckQueue<Item, Result>;
  /** The checks of the group under way that are decided in a later group. */
  readonly #later = new Set<Waiting<Item, Result>>();
  #running: Promise<void> | null = null;
  /** What is under way for single requests, before their group or after it. */
  readonly #preparing = new Set<Promise<void>>();

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
    this.#observer = observer;
    this.#next = next;
    this.#queue = new CheckQueue(this.#keyOf, limit, clock);
  }

  get depth(): number {
    return this.#queue.depth + this.#preparing.size + (this.#next?.depth ?? 0);
  }

  /** Whether a new check is refused. */
  get overloaded(): boolean {
    return this.#queue.overloaded;
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
      this.#queue.enter(request, queuedAt, waitedMs, answer);
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
    const sweeper = setInterval(() => this.#queue.expire(), SWEEP_MS);
    while (!this.#queue.isEmpty) {
      await this.#queue.gathered();
      const group = this.#queue.take();
      if (group.length > 0) await this.#commit(group);
      this.#queue.ended();
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
      if (prepared === null) this.#queue.putBack(each);
      else this.#putBackAfter(prepared, each);
    }
    this.#later.clear();
    this.#queue.expire();
  }

  /** Other requests do not wait for the preparation. If it takes too long, the request is answered with that error. */
  #putBackAfter(prepared: Promise<void>, each: Waiting<Item, Result>): void {
    const late = setTimeout(() => {
      each.answer(tooLate());
      // The request is answered, so no group may decide it, even if this timer fired a moment before the deadline.
      each.deadline = 0;
    }, each.deadline - performance.now());
    const back = () => {
      this.#queue.putBack(each);
      this.#queue.expire();
      if (!this.#queue.isEmpty) this.#running ??= this.#run();
    };
    const done = prepared
      .then(back, error => this.#fail([each], error))
      .finally(() => {
        clearTimeout(late);
        this.#preparing.delete(done);
      });
    this.#preparing.add(done);
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
      const shared = this.#work.shares(keyIds, requests);
      const exclusive = this.#work.takes?.(requests) ?? [];
      decided = await this.#lane.transaction({ shared, exclusive }, tx =>
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
    const { results, beforeAnswer } = decided;
    for (let index = 0; index < group.length; index++) {
      const each = group[index] as Waiting<Item, Result>;
      const result = results[index] as Outcome<Result>;
      const first = beforeAnswer?.get(index);
      if (first === undefined) this.#answer(each, result);
      else this.#answerAfter(first(), each, result);
    }
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

  #answerAfter(first: Promise<void>, each: Waiting<Item, Result>, result: Outcome<Result>): void {
    const done = first.then(() => {
      this.#preparing.delete(done);
      this.#answer(each, result);
    });
    this.#preparing.add(done);
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

  /** Checks whose deadline has passed were already rejected by the queue and are not decided again. */
  async #divide(group: readonly Waiting<Item, Result>[]): Promise<void> {
    const origin = { keyOf: this.#keyOf, callerOf: this.#callerOf };
    const bad = await divide(group, origin, async part => {
      const now = performance.now();
      const inTime = part.filter(each => each.deadline > now);
      return inTime.length === 0 || (await this.#attempt(inTime)) === null;
    });
    this.#queue.quarantine(bad);
  }

  /** It has no effect on checks that were already answered. */
  #fail(members: readonly Waiting<Item, Result>[], error: unknown): void {
    this.#observer.failed(error);
    const failed = auditFailed(error);
    const group = members.filter(each => !this.#later.has(each));
    for (const each of group) each.answer(failed);
  }
}
