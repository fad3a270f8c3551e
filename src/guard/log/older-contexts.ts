// Counts by context what was counted before there were such counts: the past of a store that an older version wrote.
// It goes back a day at a time, so that the newest days can be asked for first, and through each day in small steps.

import { floorTo } from '../../core/time/buckets.ts';
import { DAY } from '../../core/time/duration.ts';
import { nextAuditId } from '../../store/log/audit-tally.ts';
import { contextBuckets, writeContextBuckets } from '../../store/log/context-rollups.ts';
import { readMark, writeMark } from '../../store/log/marks.ts';
import type { Deps } from '../deps.ts';
import { timeOfId } from '../ids.ts';
import { ROLLUPS_LOCK } from '../locks.ts';
import { CONTEXTS_FROM, KEPT_FROM, ROLLED_UP, WRITTEN } from './marks.ts';
import { countMinutes } from './minutes.ts';

/** How far the day before the mark CONTEXTS_FROM has been counted. */
const REACHED = 'contexts counted on their way to';

/** Does one step, and returns true if there is more to do. */
export async function countOlderContexts({ db }: Deps): Promise<boolean> {
  const end = (await readMark(db, CONTEXTS_FROM)) ?? 0;
  if (end === 0) return false;
  const kept = (await readMark(db, KEPT_FROM)) ?? 0;
  const oldest = await nextAuditId(db, kept);
  if (oldest === null || timeOfId(oldest) >= end) {
    // Nothing older is left. If nothing was ever deleted, this is the beginning of time.
    if (kept < end) await writeMark(db, CONTEXTS_FROM, kept);
    return false;
  }
  const day = floorTo(end - 1, DAY);
  const reached = (await readMark(db, REACHED)) ?? 0;
  const from = Math.max(reached > day && reached < end ? reached : day, kept);
  const written = (await readMark(db, WRITTEN)) ?? 0;
  const { minutes, at } = await countMinutes(db, from, end);
  const to = Math.min((await readMark(db, ROLLED_UP)) ?? 0, at < end ? at : day + DAY);
  const buckets = await contextBuckets(db, minutes.contexts, from, to);
  await db.transaction({ exclusive: [ROLLUPS_LOCK] }, async tx => {
    // Another replica may have written these minutes first. What is being deleted was perhaps counted in part.
    if ((await readMark(tx, CONTEXTS_FROM)) !== end || ((await readMark(tx, KEPT_FROM)) ?? 0) > from) return;
    if (((await readMark(tx, WRITTEN)) ?? 0) !== written) return;
    await writeContextBuckets(tx, buckets);
    await writeMark(tx, WRITTEN, written + 1);
    if (at < end) await writeMark(tx, REACHED, at);
    else await writeMark(tx, CONTEXTS_FROM, Math.max(day, kept));
  });
  return true;
}
