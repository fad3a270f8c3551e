// Limits how long a request to an upstream may take: one limit for silence, and one for the whole request, however much
// progress is reported. The limit aborts the request's AbortController, and the wire does the rest.

import { UpstreamError } from './wire.ts';

/** The longest time that a timer of the runtime accepts; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** The upstream took too long. */
export class UpstreamTimeout extends UpstreamError {}

/** One timer serves both limits: a sign of life only moves the time at which silence ends, which is cheaper than a timer. */
export class TimeLimit {
  readonly #cancel: AbortController;
  readonly #silentMs: number;
  readonly #wholeMs: number;
  readonly #endsAt: number;
  #silentUntil: number;
  #timer: Timer;
  /** Set once the time is up. */
  exceeded: UpstreamTimeout | null = null;

  constructor(cancel: AbortController, silentMs: number, wholeMs: number) {
    const now = performance.now();
    this.#cancel = cancel;
    this.#silentMs = silentMs;
    this.#wholeMs = wholeMs;
    this.#silentUntil = now + silentMs;
    this.#endsAt = now + wholeMs;
    this.#timer = after(Math.min(silentMs, wholeMs), this.#look);
  }

  /** Starts the limit for silence again: the upstream showed a sign of life. */
  renew(): void {
    this.#silentUntil = performance.now() + this.#silentMs;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  readonly #look = (): void => {
    const left = Math.min(this.#silentUntil, this.#endsAt) - performance.now();
    // A timer may fire a moment early.
    if (left > 1) this.#timer = after(left, this.#look);
    else this.#expire();
  };

  #expire(): void {
    const why =
      this.#endsAt < this.#silentUntil
        ? `the upstream did not finish within ${inSeconds(this.#wholeMs)}, whatever progress it reported`
        : `the upstream did not answer within ${inSeconds(this.#silentMs)}`;
    this.exceeded = new UpstreamTimeout(why);
    this.#cancel.abort(this.exceeded);
  }
}

export function after(ms: number, work: () => void): Timer {
  return setTimeout(work, Math.min(ms, LONGEST_MS));
}

export function inSeconds(ms: number): string {
  return `${ms / 1000} s`;
}
