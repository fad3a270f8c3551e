// A limit of requests per client and minute, counted in this process. Time is an argument.

import { GuardError } from '../core/errors.ts';

const WINDOW_MS = 60_000;
/** Beyond this many clients in a minute the counts start anew, rather than grow without end. */
const MAX_CLIENTS = 100_000;

export class RateLimit {
  readonly #perMinute: number;
  #counts = new Map<string, number>();
  #window = 0;

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** Counts one request; throws when it is one too many. */
  admit(client: string, now: number): void {
    const window = Math.floor(now / WINDOW_MS);
    if (window !== this.#window || this.#counts.size >= MAX_CLIENTS) this.#counts = new Map();
    this.#window = window;
    const count = (this.#counts.get(client) ?? 0) + 1;
    this.#counts.set(client, count);
    if (count <= this.#perMinute) return;
    const retryAfter = Math.ceil(((window + 1) * WINDOW_MS - now) / 1000);
    throw new GuardError('rate_limited', 'Too many requests from your address.', { retryAfter });
  }
}
