// Counts the audit log by minute, in the background. A minute is counted shortly after it is over. Entries may become
// visible later than that, because ids carry the clock of their replica and PostgreSQL commits out of order. So every
// minute is counted again at several ages, and its counts are replaced if there are more entries. The same pass counts
// by context.

import { floorTo } from '../../core/time/buckets.ts';
import { DAY, HOUR, MINUTE } from '../../core/time/duration.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { countAudit, nextAuditId } from '../../store/log/audit-tally.ts';
import {
  type ContextBucket,
  contextBuckets,
  pruneContextRollups,
  writeContextBuckets,
} from '../../store/log/context-rollups.ts';
import { readProgress, writeProgress } from '../../store/log/progress.ts';
import { minuteTotals, pruneRollups, sumUp, writeMinutes } from '../../store/log/rollups.ts';
import type { Deps } from '../deps.ts';
import { timeOfId } from '../ids.ts';
import { ROLLUPS_LOCK } from '../locks.ts';
import { CONTEXTS_TO, KEPT_FROM, ROLLED_UP, WRITTEN } from './marks.ts';
import { countMinute, countMinutes, type Minutes, REST, STEP_MINUTES } from './minutes.ts';

/**
 * How long after its end a minute is counted: longer than a transaction may take, and a few seconds for differing
 * clocks.
 */
const LAG_MS = 10_000;
/** A mark this far in the future was set by a wrong clock, and the minutes up to it are counted again. */
const CLOCK_JUMP_MS = 5 * MINUTE;
/**
 * The ages at which minutes are counted again. An entry that appears later comes from a clock more than a day wrong.
 */
export const RECHECK_AGES = [2 * MINUTE, HOUR, 25 * HOUR] as const;
const RECHECK_ENTRIES = 20_000;

const PRUNED = 'rollups pruned';

/** Does one step, and returns true if there is more to do. */
export async function rollUp(deps: Deps): Promise<boolean> {
  if (await advance(deps)) return true;
  for (const age of RECHECK_AGES) if (await recheck(deps, age)) return true;
  return prune(deps);
}

export function rolledUpTo({ db }: Deps): Promise<number | null> {
  return readProgress(db, ROLLED_UP);
}

async function advance({ db, now }: Deps): Promise<boolean> {
  const mark = await readProgress(db, ROLLED_UP);
  const horizon = floorTo(now() - LAG_MS, MINUTE);
  if (mark !== null && mark > horizon + CLOCK_JUMP_MS) await writeProgress(db, ROLLED_UP, horizon);
  if (mark !== null && mark >= horizon) return false;
  const written = await readProgress(db, WRITTEN);
  const { minutes, at } = await countMinutes(db, mark ?? 0, horizon);
  const from = mark ?? Math.min(at, ...minutes.counts.keys());
  const buckets = await contextBuckets(db, minutes.contexts, from, at);
  return db.transaction({ exclusive: [ROLLUPS_LOCK] }, async tx => {
    // Another replica may have written these minutes first.
    if ((await readProgress(tx, ROLLED_UP)) !== mark || (await readProgress(tx, WRITTEN)) !== written)
      return true;
    await write(tx, minutes, buckets, from, at);
    await writeProgress(tx, ROLLED_UP, at);
    await writeProgress(tx, CONTEXTS_TO, at);
    return at < horizon;
  });
}

/** Writes minutes, and sums up the hours and days that end after `from` and not after `to`. */
async function write(
  tx: Transaction,
  { counts }: Minutes,
  buckets: readonly ContextBucket[],
  from: number,
  to: number,
): Promise<void> {
  await writeMinutes(tx, counts);
  await sumUp(tx, from, to);
  await writeContextBuckets(tx, buckets);
  await writeProgress(tx, WRITTEN, ((await readProgress(tx, WRITTEN)) ?? 0) + 1);
}

async function recheck(deps: Deps, age: number): Promise<boolean> {
  const { db, now } = deps;
  const name = `rechecked at ${age}`;
  const mark = await readProgress(db, name);
  const end = Math.min((await readProgress(db, ROLLED_UP)) ?? 0, floorTo(now() - age, MINUTE));
  const next = await nextAuditId(db, Math.max(mark ?? end, (await readProgress(db, KEPT_FROM)) ?? 0));
  const from = next === null ? end : floorTo(timeOfId(next), MINUTE);
  if (from >= end) {
    // The mark also moves back, after a clock that was ahead was corrected.
    if (mark !== end) await writeProgress(db, name, end);
    return false;
  }
  const until = Math.min(end, from + STEP_MINUTES * MINUTE);
  const counted = await minuteTotals(db, from, until);
  const { to, entries } = stretch(counted, from, until);
  if ((await countAudit(db, from, to, REST)) !== entries && !(await mend(deps, counted, from, to)))
    return true;
  await writeProgress(db, name, to);
  return to < end;
}

/** The end of the minutes that are counted in one statement, and how many entries the roll-ups have for them. */
function stretch(
  counted: ReadonlyMap<number, number>,
  from: number,
  until: number,
): { to: number; entries: number } {
  let entries = 0;
  let to = from;
  do {
    entries += counted.get(to) ?? 0;
    to += MINUTE;
  } while (to < until && entries < RECHECK_ENTRIES);
  return { to, entries };
}

/** Counts those minutes again that have other entries than were counted. False if another replica wrote meanwhile. */
async function mend(
  deps: Deps,
  counted: ReadonlyMap<number, number>,
  from: number,
  to: number,
): Promise<boolean> {
  for (let start = from; start < to; start += MINUTE) {
    if ((await countAudit(deps.db, start, start + MINUTE)) === (counted.get(start) ?? 0)) continue;
    if (!(await mendMinute(deps, start))) return false;
  }
  return true;
}

async function mendMinute({ db }: Deps, start: number): Promise<boolean> {
  const written = await readProgress(db, WRITTEN);
  const minutes: Minutes = { counts: new Map(), contexts: new Map() };
  await countMinute(db, minutes, start, REST);
  const to = Math.min((await readProgress(db, ROLLED_UP)) ?? 0, floorTo(start, DAY) + DAY);
  const buckets = await contextBuckets(db, minutes.contexts, start, to);
  return db.transaction({ exclusive: [ROLLUPS_LOCK] }, async tx => {
    // What is being deleted was perhaps counted in part.
    if (start < ((await readProgress(tx, KEPT_FROM)) ?? 0)) return true;
    if ((await readProgress(tx, WRITTEN)) !== written) return false;
    await write(tx, minutes, buckets, start, to);
    return true;
  });
}

/** Makes all minutes since `from` be counted again, after entries were written with a time in the past. */
export async function countAgain({ db }: Deps, from: number): Promise<void> {
  await db.transaction({ exclusive: [ROLLUPS_LOCK] }, async tx => {
    const mark = await readProgress(tx, ROLLED_UP);
    const kept = (await readProgress(tx, KEPT_FROM)) ?? 0;
    // It starts at the beginning of a day: a day is summed up from its hours, and those are removed before the day is.
    const start = Math.max(floorTo(from, DAY), kept);
    if (mark !== null && mark > start) await writeProgress(tx, ROLLED_UP, start);
  });
}

async function prune({ db, now }: Deps): Promise<boolean> {
  const last = (await readProgress(db, PRUNED)) ?? 0;
  if (now() - last < HOUR) return false;
  await pruneRollups(db, now());
  await pruneContextRollups(db, now());
  await writeProgress(db, PRUNED, now());
  return false;
}
