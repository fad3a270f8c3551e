// A limit of requests per client and minute. Where replicas share a store they count together in it, and this
// process remembers what it saw: who is past the limit is refused without asking, so that a flood costs the
// store no more than the limit. Time is an argument.

import { GuardError } from '../core/errors.ts';
import type { Db } from '../store/db.ts';
import { insertRequest, removeRequests } from '../store/request-counts.ts';
import type { Chore } from './chores.ts';

const MINUTE_MS = 60_000;
/** Beyond this many clients in a minute the counts here start anew, rather than grow without end. */
const MAX_CLIENTS = 100_000;
/** A store that is down or slow is not waited for: the count of this process then decides alone. */
const PATIENCE_MS = 500;

export class RateLimit {
  readonly #perMinute: number;
  readonly #shared: Db | null;
  #counts = new Map<string, number>();
  #minute = 0;

  /** `shared` is the store in which replicas count together; null where there is one process only. */
  constructor(perMinute: number, shared: Db | null) {
    this.#perMinute = perMinute;
    this.#shared = shared;
  }

  /** Counts one request; throws when it is one too many. */
  async admit(client: string, now: number): Promise<void> {
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.#minute || this.#counts.size >= MAX_CLIENTS) this.#counts = new Map();
    this.#minute = minute;
    this.#refusePast(this.#note(client, 1), now);
    if (this.#shared === null) return;
    const everywhere = await inTime(insertRequest(this.#shared, minute, client));
    const here = this.#note(client, 0);
    // The minute may be over by now; what was counted in it is still this request's.
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
    throw new GuardError('rate_limited', 'Too many requests from your address.', { retryAfter });
  }
}

/** 0 when the store does not say. */
async function inTime(count: Promise<number>): Promise<number> {
  const late = Promise.withResolvers<number>();
  const timer = setTimeout(() => late.resolve(0), PATIENCE_MS);
  try {
    return await Promise.race([count.catch(() => 0), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Removes minutes that are over. The last one stays: replicas' clocks differ a little. */
export function forgetRequests(): Chore {
  let swept = 0;
  return async ({ db, now }) => {
    const minute = Math.floor(now() / MINUTE_MS);
    if (minute === swept) return false;
    await removeRequests(db, minute - 1);
    swept = minute;
    return false;
  };
}
