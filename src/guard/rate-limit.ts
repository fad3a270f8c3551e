// Limits the requests of a client per minute. Replicas that share a store count together in it. This process also
// remembers the counts it has seen and refuses a client past the limit without asking the store, so that a flood of
// requests costs the store no more than the limit. Time is an argument.

import { GuardError } from '../core/errors.ts';
import type { Db } from '../store/engine/db.ts';
import { insertRequest, removeRequests } from '../store/request-counts.ts';
import { type Chore, everyMinute } from './chores.ts';

const MINUTE_MS = 60_000;
/**
 * If more clients than this come in a minute, the counts in memory start again from zero, so that they stay bounded.
 */
const MAX_CLIENTS = 100_000;
/** The longest wait for the store. If it is down or slower than this, only the count of this process applies. */
const PATIENCE_MS = 500;

export class RateLimit {
  readonly #perMinute: number;
  readonly #shared: Db | null;
  readonly #message: string;
  #counts = new Map<string, number>();
  #minute = 0;

  /** `shared` is the store in which replicas count together, or null if there is only one process. */
  constructor(perMinute: number, shared: Db | null, message = 'Too many requests from your address.') {
    this.#perMinute = perMinute;
    this.#shared = shared;
    this.#message = message;
  }

  /** Counts one request, and throws if it is beyond the limit. */
  async admit(client: string, now: number): Promise<void> {
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.#minute || this.#counts.size >= MAX_CLIENTS) this.#counts = new Map();
    this.#minute = minute;
    this.#refusePast(this.#note(client, 1), now);
    if (this.#shared === null) return;
    const everywhere = await inTime(insertRequest(this.#shared, minute, client));
    const here = this.#note(client, 0);
    // The minute may be over by now. The request still counts in the minute in which it came.
    if (minute === this.#minute) this.#note(client, Math.max(everywhere - here, 0));
    this.#refusePast(everywhere, now);
  }

  #note(client: string, more: number): number {
    const count = (this.#counts.get(client) ?? 0) + more;
    this.#counts.set(client, count);
    return count;
  }

  #refusePast(count: number, now: number): void {
    if (count <= this.#perMinute) return;
    const retryAfter = Math.ceil((MINUTE_MS - (now % MINUTE_MS)) / 1000);
    throw new GuardError('rate_limited', this.#message, { retryAfter });
  }
}

/** The count, or 0 if the store fails or does not answer in time. */
async function inTime(count: Promise<number>): Promise<number> {
  const late = Promise.withResolvers<number>();
  const timer = setTimeout(() => late.resolve(0), PATIENCE_MS);
  try {
    return await Promise.race([count.catch(() => 0), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Removes the counts of past minutes. The last one is kept, because the clocks of replicas differ a little. */
export function forgetRequests(): Chore {
  return everyMinute(async ({ db, now }) => {
    await removeRequests(db, Math.floor(now() / MINUTE_MS) - 1);
    return false;
  });
}
