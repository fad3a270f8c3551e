// The checks that wait for a group, and those whose group is under way. It says how long a group gathers, which checks it
// has, when new checks are refused, and which ones have waited too long. commit.ts decides the groups.

import { auditFailed, type GuardError } from '../../core/errors.ts';
import { Quarantine } from './blame.ts';

/**
 * Under overload each step of a commit waits for its turn on an event loop that is busy refusing requests. Groups of at
 * most 256 then answered half as many checks per second as groups of 1,000.
 */
const MAX_GROUP = 1024;
/** A group takes one lock for each key. By default PostgreSQL has room for 6,400 locks, for all replicas together. */
const MAX_KEYS = 256;
/** A check is answered within three seconds: it fails after this time. */
const CHECK_LIMIT_MS = 2900;
/** When the oldest check in a long queue has waited this long, the store is too slow, and new checks are refused. */
const PATIENCE_MS = 1000;
/** No group gathers for longer: somebody's large requests may make each turn of the event loop take milliseconds. */
const GATHER_MS = 2;

export interface Waiting<Item, Result> {
  request: Item;
  /** `performance.now()` when it came into this queue. */
  queuedAt: number;
  deadline: number;
  /** Takes the answer. Only the first one counts. */
  answer: (answer: Result | GuardError) => void;
}

export class CheckQueue<Item, Result> {
  readonly #keyOf: (waiting: Waiting<Item, Result>) => string;
  readonly #limit: number;
  readonly #clock: () => number;
  #queue: Waiting<Item, Result>[] = [];
  #underWay: Waiting<Item, Result>[] = [];
  /** How many checks waited when the last group was put together. */
  #lastSize = 0;
  readonly #quarantine = new Quarantine();

  /** `clock` says how long a group has gathered. */
  constructor(keyOf: (waiting: Waiting<Item, Result>) => string, limit: number, clock: () => number) {
    this.#keyOf = keyOf;
    this.#limit = limit;
    this.#clock = clock;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  /** How many wait, together with those whose group is under way. */
  get depth(): number {
    return this.#queue.length + this.#underWay.length;
  }

  /** Whether a new check is refused: the queue is full, or moves so slowly that the answer would come too late. */
  get overloaded(): boolean {
    if (this.#queue.length >= this.#limit) return true;
    if (this.#queue.length <= MAX_GROUP) return false;
    const oldest = this.#queue[0] as Waiting<Item, Result>;
    return oldest.deadline - performance.now() < CHECK_LIMIT_MS - PATIENCE_MS;
  }

  /** `waitedMs` is the time that it has already waited elsewhere. */
  enter(request: Item, queuedAt: number, waitedMs: number, answer: Waiting<Item, Result>['answer']): void {
    this.#queue.push({ request, queuedAt, deadline: queuedAt + CHECK_LIMIT_MS - waitedMs, answer });
  }

  /** Puts a check that was taken behind all others. */
  putBack(each: Waiting<Item, Result>): void {
    this.#queue.push(each);
  }

  /** The checks of these keys get groups of their own for a while. */
  quarantine(keyIds: readonly string[]): void {
    for (const keyId of keyIds) this.#quarantine.add(keyId);
  }

  /**
   * Waits for one turn of the event loop, and for further ones, 2 ms at most, as long as each brings more checks.
   * A commit costs the same for one check as for many. Under load this doubles the checks that share one (CPU time per
   * check fell by a sixth), and a lone check waits for a single turn.
   *
   * A group that is smaller than the one before it waits for one turn more, because callers that were just answered can
   * come back in the next turn at the earliest. Otherwise groups of 1 and of 63 took turns with 64 callers.
   */
  async gathered(): Promise<void> {
    let turns = this.#queue.length < this.#lastSize ? 2 : 1;
    const end = this.#clock() + GATHER_MS;
    do {
      const waiting = this.#queue.length;
      await new Promise(setImmediate);
      turns = this.#queue.length > waiting ? 1 : turns - 1;
    } while (turns > 0 && this.#queue.length < MAX_GROUP && this.#clock() < end);
    this.#lastSize = this.#queue.length;
  }

  /** Takes the checks that have waited longest, as many as one transaction may have. They are under way until `ended`. */
  take(): readonly Waiting<Item, Result>[] {
    const keyIds = new Set<string>();
    const waiting = this.#quarantine.isEmpty ? this.#queue : this.#quarantine.turn(this.#queue, this.#keyOf);
    const end = waiting.findIndex((each, index) => {
      const keyId = this.#keyOf(each);
      if (index === MAX_GROUP || (keyIds.size === MAX_KEYS && !keyIds.has(keyId))) return true;
      keyIds.add(keyId);
      return false;
    });
    this.#underWay = waiting.splice(0, end < 0 ? waiting.length : end);
    if (waiting === this.#queue) return this.#underWay;
    const taken = new Set(this.#underWay);
    this.#queue = this.#queue.filter(each => !taken.has(each));
    return this.#underWay;
  }

  /** Must be called when the group under way has ended. */
  ended(): void {
    this.#underWay = [];
  }

  /** Rejects checks that are past their deadline, even while the store hangs. Their entries may still be written. */
  expire(): void {
    const now = performance.now();
    const late = (each: Waiting<Item, Result>) => each.deadline <= now;
    const expired = [...this.#underWay.filter(late), ...this.#queue.filter(late)];
    if (expired.length === 0) return;
    this.#queue = this.#queue.filter(each => !late(each));
    const failed = tooLate();
    for (const each of expired) each.answer(failed);
  }
}

export function tooLate(): GuardError {
  return auditFailed(new Error(`no commit within ${CHECK_LIMIT_MS} ms`));
}

/** The time from which the time limit of a check is counted. */
export function arrivedAt({ deadline }: { deadline: number }): number {
  return deadline - CHECK_LIMIT_MS;
}
