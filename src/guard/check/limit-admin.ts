// What happens to the counts of limits beside the checks: operators see and reset them, and those that ended long ago
// are removed. limits.ts counts the calls themselves.

import { GuardError } from '../../core/errors.ts';
import { amountOf, type Limit, unitsAllowed } from '../../core/policy/limit.ts';
import { DAY } from '../../core/time/duration.ts';
import type { Queries } from '../../store/engine/db.ts';
import { type Counted, deleteCounts, listUsed, removeEnded, type Used } from '../../store/limits.ts';
import { newestTime } from '../../store/log/newest-time.ts';
import { findPolicy, findPolicyVersion } from '../../store/policies.ts';
import { recordChange } from '../changes.ts';
import { type Chore, everyMinute } from '../chores.ts';
import type { Actor, Deps } from '../deps.ts';
import { POLICIES_LOCK } from '../locks.ts';
import { countLock, limitId, readTime } from './limits.ts';
import { noSuchPolicy } from './policies.ts';

/** What a subject has used of a limit, in calls or as an amount. */
export interface LimitUse {
  policyId: string;
  name: string;
  per: NonNullable<Limit['per']>;
  subject: string;
  used: number;
  atMost: number;
  windowEndsAt: number;
}

interface Uses {
  limits: LimitUse[];
  /** The last one of this page, if there may be more. */
  last: Counted | null;
}

/**
 * A page of what is used. Counts of an earlier definition of a limit are left out, because they count for nothing; so a
 * page may have fewer than `atMost` entries, and still not be the last one.
 */
export async function listLimits(
  { db, now }: Deps,
  { policyId, keyId }: { policyId?: string | undefined; keyId?: string | undefined },
  atMost: number,
  after: Counted,
): Promise<Uses> {
  const policies = new Map<string, Promise<Map<string, Limit>>>();
  const limitsOf = (id: string): Promise<Map<string, Limit>> => {
    const found = policies.get(id) ?? currentLimits(db, id);
    policies.set(id, found);
    return found;
  };
  const limitIds = policyId === undefined ? undefined : [...(await limitsOf(policyId)).keys()];
  if (limitIds?.length === 0) return { limits: [], last: null };
  const rows = await listUsed(db, { limitIds, keyId }, now(), atMost + 1, after);
  const page = rows.slice(0, atMost);
  const limits: LimitUse[] = [];
  for (const row of page) {
    const limit = (await limitsOf(row.policyId)).get(row.limitId);
    if (limit !== undefined) limits.push(useOf(row, limit));
  }
  return { limits, last: rows.length > atMost ? (page.at(-1) ?? null) : null };
}

function useOf({ policyId, name, subject, used, endsAt }: Used, limit: Limit): LimitUse {
  return {
    policyId,
    name,
    per: limit.per ?? 'key',
    subject,
    used: amountOf(limit, used),
    atMost: amountOf(limit, unitsAllowed(limit)),
    windowEndsAt: endsAt,
  };
}

async function currentLimits(db: Queries, policyId: string): Promise<Map<string, Limit>> {
  const limits = Object.entries((await limitsByName(db, policyId)) ?? {});
  return new Map(limits.map(([name, limit]) => [limitId(policyId, name, limit), limit]));
}

/** Null if there is no such policy. */
async function limitsByName(db: Queries, policyId: string): Promise<Readonly<Record<string, Limit>> | null> {
  const policy = await findPolicy(db, policyId);
  if (policy === null) return null;
  return (await findPolicyVersion(db, policyId, policy.version))?.limits ?? {};
}

interface Reset {
  policyId: string;
  name: string;
  subject: string;
}

/** Once this has returned, the limit counts anew for the subject. Nothing need have been counted. */
export async function resetLimit(
  deps: Deps,
  actor: Actor,
  { policyId, name, subject }: Reset,
): Promise<void> {
  const counted = { limitId: await requireLimit(deps.db, policyId, name), subject };
  const locks = { shared: [POLICIES_LOCK], exclusive: [countLock(counted.limitId, subject)] };
  await deps.db.transaction(locks, async tx => {
    // A limit that was changed meanwhile counts anew by that.
    if ((await requireLimit(tx, policyId, name)) !== counted.limitId) return;
    if (!(await deleteCounts(tx, counted))) return;
    await recordChange(tx, deps, actor, 'limit.reset', policyId, { name, subject });
  });
}

/** Returns the id of the limit. */
async function requireLimit(db: Queries, policyId: string, name: string): Promise<string> {
  const limits = await limitsByName(db, policyId);
  if (limits === null) throw noSuchPolicy();
  const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
  if (limit === undefined) throw new GuardError('not_found', 'The policy has no limit with this name.');
  return limitId(policyId, name, limit);
}

/** Counts are kept this long after their end, because a replica whose clock is slow still reads them. */
const KEPT_MS = DAY;
/** A batch takes about as long as one of retention's, which has the same size. */
const BATCH = 500;

/** Removes what ended a day ago, once a minute. */
export function forgetCounts(): Chore {
  return everyMinute(async deps => (await forgetEnded(deps)) === BATCH);
}

/**
 * A clock that is ahead must not remove what other replicas still count by, nor this one once its clock is right: so
 * neither the database's time nor the newest entry of the log is passed. SQLite has no clock of its own.
 */
function forgetEnded({ db, now }: Deps): Promise<number> {
  return db.transaction({}, async tx => {
    const { decidedAt } = await readTime(tx, now);
    const recordedAt = (await newestTime(tx)) ?? 0;
    return removeEnded(tx, Math.min(decidedAt, recordedAt) - KEPT_MS, BATCH);
  });
}
