// Limits the guessing of passwords: few failures for an account and address, and not many for an address over all
// accounts. The store counts them, so that replicas count together. An attempt counts as failed before its password is
// verified, so that many attempts at once do not get around the limit; a success removes the failures of its account.
// An address may have only a few attempts at a time, because each may wait for a hash and delay the others.

import { GuardError } from '../../core/errors.ts';
import type { Queries } from '../../store/engine/db.ts';
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
/**
 * Fewer than may wait for a hash (passwords.ts), so that further attempts are refused before they cost a transaction.
 */
const AT_ONCE = 50;
const underWay = new Map<string, number>();
let inAll = 0;

/** Runs an attempt unless this process has too many at once, from its address or in total. */
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

/** Counts an attempt, and throws if it is beyond the limit. */
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

/** Failures are sorted latest first, so the last one within the limit is the one that has to leave the window. */
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

/** After a reset the person need not wait because of earlier failures. */
export function forgetAccount(tx: Queries, email: string): Promise<void> {
  return removeAccountFailures(tx, accountOf(email));
}

const accountOf = (email: string): string => hashToken(email);
