// Against guessing passwords: few failures per account and address, and not many per address over all
// accounts. Counted in the store, so that replicas count together. An attempt counts as failed before its
// password is looked at, so that many at once are no way around; success takes its account's failures back. Of one
// address, only a few attempts are under way at a time: each may wait for a hash, and the others stand behind it.

import { GuardError } from '../../core/errors.ts';
import type { Queries } from '../../store/db.ts';
import {
  insertFailure,
  recentFailures,
  removeAccountFailures,
  removeFailures,
  removeOldFailures,
  type SignInFailure,
} from '../../store/sign-ins.ts';
import type { Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { signInLock } from '../locks.ts';
import { hashToken } from '../secrets.ts';

const WINDOW_MS = 5 * 60_000;
const PER_ACCOUNT = 5;
const PER_ADDRESS = 50;

const AT_ONCE_PER_ADDRESS = 10;
/** Fewer than wait for a hash (passwords.ts): what is beyond it is refused before it costs a transaction. */
const AT_ONCE = 50;
const underWay = new Map<string, number>();
let inAll = 0;

/** Runs an attempt unless too many are under way in this process, of its address or in all. */
export async function oneOfFew<T>(ip: string, attempt: () => Promise<T>): Promise<T> {
  const others = underWay.get(ip) ?? 0;
  if (others >= AT_ONCE_PER_ADDRESS) {
    const sentence = 'Too many attempts at once from this address. Try again in a moment.';
    throw new GuardError('rate_limited', sentence, { retryAfter: 1 });
  }
  if (inAll >= AT_ONCE) {
    throw new GuardError('overloaded', 'Too many people sign in right now.', { retryAfter: 10 });
  }
  inAll++;
  underWay.set(ip, others + 1);
  try {
    return await attempt();
  } finally {
    inAll--;
    const left = (underWay.get(ip) ?? 1) - 1;
    if (left === 0) underWay.delete(ip);
    else underWay.set(ip, left);
  }
}

/** Counts an attempt; refuses it when it is one too many. */
export async function admitAttempt(deps: Deps, email: string, ip: string): Promise<void> {
  const account = accountOf(email);
  await deps.db.transaction({ exclusive: [signInLock(ip)] }, async tx => {
    const at = deps.now();
    await removeOldFailures(tx, at - WINDOW_MS);
    const failures = await recentFailures(tx, ip, at - WINDOW_MS, PER_ADDRESS);
    const own = failures.filter(each => each.account === account);
    refusePast(own, PER_ACCOUNT, at);
    refusePast(failures, PER_ADDRESS, at);
    await insertFailure(tx, { id: newId(), account, ip, at });
  });
}

/** Failures come latest first: the one that has to grow old is the last within the limit. */
function refusePast(failures: readonly SignInFailure[], limit: number, now: number): void {
  const oldest = failures[limit - 1];
  if (oldest === undefined) return;
  const retryAfter = Math.max(1, Math.ceil((oldest.at + WINDOW_MS - now) / 1000));
  throw new GuardError('rate_limited', 'Too many failed attempts. Wait a few minutes, then try again.', {
    retryAfter,
  });
}

export function forgetFailures(tx: Queries, email: string, ip: string): Promise<void> {
  return removeFailures(tx, accountOf(email), ip);
}

/** Whoever resets an account need not wait for what was tried before. */
export function forgetAccount(tx: Queries, email: string): Promise<void> {
  return removeAccountFailures(tx, accountOf(email));
}

const accountOf = (email: string): string => hashToken(email);
