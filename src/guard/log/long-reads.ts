// Long reads of the audit log (replay, suggestions, the report of a shadow) take turns: one at a time, and only a few
// wait. Between their pieces they leave the event loop to checks.

import { GuardError } from '../../core/errors.ts';

const MOST_WAITING = 8;
const RETRY_AFTER_S = 2;

export class LongReads {
  /** How many read or wait. */
  #taken = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** Reads once all that came before have ended. */
  async take<T>(read: () => Promise<T>): Promise<T> {
    if (this.#taken > MOST_WAITING) {
      throw new GuardError('overloaded', 'Too many long reads of the audit log are waiting.', {
        retryAfter: RETRY_AFTER_S,
      });
    }
    this.#taken++;
    const turn = this.#last.then(read);
    this.#last = turn.catch(() => {});
    try {
      return await turn;
    } finally {
      this.#taken--;
    }
  }
}

const turns = new LongReads();

/** Runs a long read of the audit log when it is its turn in this process. */
export function inTurn<T>(read: () => Promise<T>): Promise<T> {
  return turns.take(read);
}

/** Must be awaited between two pieces of a long read. */
export function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}

/** How long something is computed before the event loop gets a turn. */
const SLICE_MS = 4;

/** A long computation that is done in slices, between which the event loop gets a turn. */
export class Slices {
  #begun = performance.now();

  /** Must be awaited after each small piece of the work. */
  async next(): Promise<void> {
    if (performance.now() - this.#begun < SLICE_MS) return;
    await nextTurn();
    this.#begun = performance.now();
  }
}
