// Limits how long a request to an upstream may take: one limit for silence, and one for the whole request, however much
// progress is reported. The limit aborts the request's AbortController, and the wire does the rest.

import { UpstreamError } from './wire.ts';

/** The longest time that a timer of the runtime accepts; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** The upstream took too long. */
export class UpstreamTimeout extends UpstreamError {}

export class TimeLimit {
  readonly #cancel: AbortController;
  readonly #silentMs: number;
  readonly #whole: Timer;
  #silent: Timer;
  /** Set once the time is up. */
  exceeded: UpstreamTimeout | null = null;

  constructor(cancel: AbortController, silentMs: number, wholeMs: number) {
    this.#cancel = cancel;
    this.#silentMs = silentMs;
    this.#silent = this.#waitForSign();
    const why = `the upstream did not finish within ${inSeconds(wholeMs)}, whatever progress it reported`;
    this.#whole = after(wholeMs, () => this.#expire(why));
  }

  /** Starts the limit for silence again: the upstream showed a sign of life. */
  renew(): void {
    clearTimeout(this.#silent);
    if (this.exceeded === null) this.#silent = this.#waitForSign();
  }

  stop(): void {
    clearTimeout(this.#silent);
    clearTimeout(this.#whole);
  }

  #waitForSign(): Timer {
    const why = `the upstream did not answer within ${inSeconds(this.#silentMs)}`;
    return after(this.#silentMs, () => this.#expire(why));
  }

  #expire(why: string): void {
    this.exceeded ??= new UpstreamTimeout(why);
    this.#cancel.abort(this.exceeded);
  }
}

export function after(ms: number, work: () => void): Timer {
  return setTimeout(work, Math.min(ms, LONGEST_MS));
}

export function inSeconds(ms: number): string {
  return `${ms / 1000} s`;
}
