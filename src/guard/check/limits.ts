// Limits, in the transaction that records the calls they count. What is used of a limit is read under locks, for which
// other transactions that count for the same subject wait. The calls of a group are decided in order, each with what
// the ones before it have counted, and the new counts are written beside the audit entries: they commit together or not
// at all.
//
// The clocks of replicas differ. A call is decided by the earlier of the replica's and the database's time, at which
// more still counts, and is counted by the later one, so that it counts longer. So clocks that differ can only make a
// limit stricter.

import type { Considered, Meter } from '../../core/decision/consider.ts';
import type { CompiledLimit } from '../../core/policy/compiled-policy.ts';
import { countsUntil, identityOf, unitsAllowed } from '../../core/policy/limit.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { addCounts, type Counted, type LimitCount, usedOf } from '../../store/limits.ts';
import { limitLock } from '../locks.ts';

/** A call that counts: what it adds, and for whom. */
export interface Metered {
  meter: Meter & { subject: string };
  policyId: string;
  keyId: string;
}

/** The time by which calls are decided, and how far the database's clock is ahead of this replica's. */
export interface LimitTime {
  decidedAt: number;
  aheadMs: number;
}

export async function readTime(tx: Transaction, now: () => number): Promise<LimitTime> {
  const before = now();
  const storeTime = (await tx.lockedAt()) ?? before;
  return { decidedAt: Math.min(before, storeTime), aheadMs: Math.max(0, storeTime - now()) };
}

/**
 * Counts are locked by stripes, because each lock takes room in PostgreSQL's memory. Transactions whose counts share a
 * stripe wait for each other.
 */
const STRIPES = 256;

/** What one limit counts for one subject, in the transaction of a group. */
interface Account extends Counted {
  used: number;
  /** What the group would add if it were allowed as a whole. */
  wanted: number;
  /** One row for each time at which calls stop counting. In one group there are few such times. */
  added: LimitCount[];
}

export class LimitFacts {
  readonly #accounts: ReadonlyMap<Metered, Account>;
  readonly #aheadMs: number;
  readonly #added: LimitCount[] = [];

  private constructor(accounts: ReadonlyMap<Metered, Account>, aheadMs: number) {
    this.#accounts = accounts;
    this.#aheadMs = aheadMs;
  }

  static async read(tx: Transaction, metered: readonly Metered[], time: LimitTime): Promise<LimitFacts> {
    const { accounts, byCall } = accountsOf(metered);
    const locks = accounts.map(each => countLock(each.limitId, each.subject));
    const [, used] = await Promise.all([tx.lock({ exclusive: locks }), usedOf(tx, accounts, time.decidedAt)]);
    accounts.forEach((account, index) => {
      account.used = used[index] as number;
    });
    return new LimitFacts(byCall, time.aheadMs);
  }

  /** As `read`, without the locks: for callers that only look at limits and count nothing. */
  static async glance(
    tx: Transaction,
    metered: readonly Metered[],
    now: number,
  ): Promise<Pick<LimitFacts, 'isUsedUp'>> {
    const { accounts, byCall } = accountsOf(metered);
    const used = await usedOf(tx, accounts, now);
    accounts.forEach((account, index) => {
      account.used = used[index] as number;
    });
    return new LimitFacts(byCall, 0);
  }

  /** Whether the limit has no room for this call. */
  isUsedUp(metered: Metered): boolean {
    const { used } = this.#of(metered);
    return used + metered.meter.units > unitsAllowed(metered.meter.limit.limit);
  }

  /** Whether the limit could run out of room before the whole group is decided. */
  mayBeUsedUp(metered: Metered): boolean {
    const { used, wanted } = this.#of(metered);
    return used + wanted > unitsAllowed(metered.meter.limit.limit);
  }

  /** Counts a call that is allowed; `at` is the time of its audit entry. */
  count(metered: Metered, at: number): void {
    const { meter, policyId, keyId } = metered;
    const account = this.#of(metered);
    const endsAt = countsUntil(meter.limit.limit, at + this.#aheadMs);
    account.used += meter.units;
    const row = account.added.find(each => each.endsAt === endsAt);
    if (row !== undefined) {
      row.amount += meter.units;
      return;
    }
    const { limitId, subject } = account;
    const added: LimitCount = {
      limitId,
      subject,
      endsAt,
      amount: meter.units,
      policyId,
      name: meter.limit.name,
      keyId: ofOneKey(meter.limit) ? keyId : null,
    };
    account.added.push(added);
    this.#added.push(added);
  }

  write(tx: Transaction): void {
    addCounts(tx, this.#added);
  }

  #of(metered: Metered): Account {
    return this.#accounts.get(metered) as Account;
  }
}

/** What a call counts for, if the rule that applies has a limit. */
export function meteredBy({ meter, policy }: Considered, keyId: string): Metered | null {
  if (meter === null || meter.subject === null) return null;
  return { meter: meter as Metered['meter'], policyId: policy.id, keyId };
}

function accountsOf(metered: readonly Metered[]): { accounts: Account[]; byCall: Map<Metered, Account> } {
  const accounts: Account[] = [];
  const byCall = new Map<Metered, Account>();
  const byLimit = new Map<string, Map<string, Account>>();
  for (const each of metered) {
    const limitId = limitIdOf(each);
    const { subject, units } = each.meter;
    let ofLimit = byLimit.get(limitId);
    if (ofLimit === undefined) {
      ofLimit = new Map();
      byLimit.set(limitId, ofLimit);
    }
    let account = ofLimit.get(subject);
    if (account === undefined) {
      account = { limitId, subject, used: 0, wanted: 0, added: [] };
      ofLimit.set(subject, account);
      accounts.push(account);
    }
    account.wanted += units;
    byCall.set(each, account);
  }
  return { accounts, byCall };
}

const ofOneKey = ({ limit: { per = 'key' } }: CompiledLimit): boolean => per === 'key' || per === 'session';

export function countLock(limitId: string, subject: string): string {
  return limitLock(Bun.hash.xxHash32(`${limitId} ${subject}`) % STRIPES);
}

const limitIds = new WeakMap<CompiledLimit, string>();

function limitIdOf({ meter: { limit }, policyId }: Metered): string {
  let id = limitIds.get(limit);
  if (id === undefined) {
    id = limitId(policyId, limit.name, limit.limit);
    limitIds.set(limit, id);
  }
  return id;
}

/** A limit belongs to its policy by its name. What is counted starts anew when its window, unit, sum or subject changes. */
export function limitId(policyId: string, name: string, limit: CompiledLimit['limit']): string {
  const text = `${policyId}\n${name}\n${identityOf(limit)}`;
  return new Bun.CryptoHasher('sha256').update(text).digest('base64url');
}
