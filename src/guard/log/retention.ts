// Removes rows that are older than the retention period: audit entries once they are counted (and sealed, if the log is
// sealed, and shipped, if it is shipped), and whatever belonged to calls of that age and has ended. Policies, keys,
// operators and the log of changes are kept. docs/decisions/0006-retention.md gives the reasons.

import type { VerifierKey } from '../../core/log/checkpoint.ts';
import { floorTo } from '../../core/time/buckets.ts';
import { DAY, MINUTE } from '../../core/time/duration.ts';
import { oldestPending } from '../../store/deliveries.ts';
import { readProgress, writeProgress } from '../../store/log/progress.ts';
import {
  BATCH,
  deleteAudit,
  deleteDeliveries,
  deleteEnded,
  deleteMcpSessions,
  ENDED,
} from '../../store/log/retention.ts';
import { entryIdAt } from '../../store/log/seals.ts';
import { shippedByAll } from '../../store/log/shipping.ts';
import { firstIdFrom } from '../../store/log/slots.ts';
import { type Chore, everyMinute } from '../chores.ts';
import type { Deps } from '../deps.ts';
import { timeOfId } from '../ids.ts';
import { ROLLUPS_LOCK } from '../locks.ts';
import { KEPT_FROM, ROLLED_UP } from './marks.ts';
import { givenUpPlaces } from './signed-checkpoints.ts';

/**
 * The mark that says how far the last pass deleted. The next one starts earlier, for entries that became visible late.
 */
const DELETED = 'audit deleted';
const LOOK_BACK_MS = 2 * DAY;
/** A delivery is retried for up to four days, and its event is needed until then, even if the retention is shorter. */
const DELIVERY_MS = 5 * DAY;
/** An MCP session expires after a day without use. */
const MCP_SESSION_MS = 7 * DAY;

interface RetentionOptions {
  /** How long rows are kept; null: for ever. */
  retention: number | null;
  /** The key that signs the checkpoints of the sealed log; null: the log is not sealed. */
  sealedBy: VerifierKey | null;
  /** The targets to which the log is shipped. What one of them has not confirmed is kept. */
  shippedTo?: readonly string[];
  /** Called after a pass that removed something, with the number of rows removed from each table. */
  removed: (counts: Record<string, number>) => void;
}

/** Runs one pass a minute, in steps of one statement each. */
export function retire(options: RetentionOptions): Chore {
  let counts: Record<string, number> = {};
  return everyMinute(async deps => {
    const more = await firstFull(deps, options, (table, count) => {
      if (count > 0) counts[table] = (counts[table] ?? 0) + count;
    });
    if (more) return true;
    if (Object.keys(counts).length > 0) options.removed(counts);
    counts = {};
    return false;
  });
}

/** Deletes one batch from each table, and stops with true at the first table that has more to delete. */
async function firstFull(
  deps: Deps,
  { retention, sealedBy, shippedTo = [] }: RetentionOptions,
  note: (table: string, count: number) => void,
): Promise<boolean> {
  const now = deps.now();
  const done = (table: string, count: number) => {
    note(table, count);
    return count >= BATCH;
  };
  if (done('connections', await deleteMcpSessions(deps.db, now - MCP_SESSION_MS))) return true;
  if (retention === null) return false;
  const before = now - retention;
  const audit = await retireAudit(deps, sealedBy, shippedTo, before);
  note('audit', audit.count);
  if (audit.more) return true;
  const sent = Math.min(before, now - DELIVERY_MS);
  const deliveries = await deps.db.transaction({}, tx => deleteDeliveries(tx, sent));
  if (done('deliveries', deliveries)) return true;
  for (const table of ENDED) {
    const until = table === 'events' ? await eventsUntil(deps, sent) : before;
    if (done(table, await deleteEnded(deps.db, table, until))) return true;
  }
  return false;
}

async function retireAudit(
  deps: Deps,
  sealedBy: VerifierKey | null,
  shippedTo: readonly string[],
  before: number,
): Promise<{ count: number; more: boolean }> {
  const { db } = deps;
  const places = sealedBy === null ? null : await removablePlaces(deps, sealedBy, shippedTo);
  if (places === 0) return { count: 0, more: false };
  const until = floorTo(await deletableUntil(deps, places, before), MINUTE);
  await keepFrom(deps, until);
  return db.transaction({}, async tx => {
    const from = (await readProgress(tx, DELETED)) ?? 0;
    const { count, until: reached } = await deleteAudit(tx, from, until, places);
    // The next step starts where this one ended: PostgreSQL would otherwise scan all deleted rows not yet vacuumed.
    await writeProgress(
      tx,
      DELETED,
      reached === null ? until - LOOK_BACK_MS : timeOfId(firstIdFrom(reached)),
    );
    return { count, more: reached !== null };
  });
}

/**
 * The time before which entries may be deleted. It is at most `before`, and entries that are not counted yet are kept.
 * In a sealed log only those entries may be deleted whose places a checkpoint has given up. An entry that was sealed
 * late has a later place than its time suggests, so the statement that deletes also tests the place of each entry.
 */
async function deletableUntil({ db }: Deps, places: number | null, before: number): Promise<number> {
  const counted = (await readProgress(db, ROLLED_UP)) ?? 0;
  if (places === null) return Math.min(before, counted);
  const next = await entryIdAt(db, places);
  return Math.min(before, counted, next === null ? before : timeOfId(next));
}

/** Places may stay given up and kept: a target that is away for days holds back the removal, and nothing else. */
async function removablePlaces(deps: Deps, key: VerifierKey, shippedTo: readonly string[]): Promise<number> {
  const places = await givenUpPlaces(deps.db, key);
  if (places === 0 || shippedTo.length === 0) return places;
  return Math.min(places, await shippedByAll(deps.db, shippedTo));
}

/**
 * Records what will be deleted before it is, under the lock for counting, so that those minutes are not counted again.
 */
async function keepFrom({ db }: Deps, until: number): Promise<void> {
  if (((await readProgress(db, KEPT_FROM)) ?? 0) >= until) return;
  await db.transaction({ exclusive: [ROLLUPS_LOCK] }, async tx => {
    if (((await readProgress(tx, KEPT_FROM)) ?? 0) < until) await writeProgress(tx, KEPT_FROM, until);
  });
}

/** Events of pending deliveries are kept. An event is made shortly before its deliveries, hence the minute. */
async function eventsUntil({ db }: Deps, before: number): Promise<number> {
  const oldest = await oldestPending(db);
  return oldest === null ? before : Math.min(before, oldest - MINUTE);
}
