// What happens to the counts of limits beside the checks: those that ended long ago are removed.

import { DAY, MINUTE } from '../../core/buckets.ts';
import { removeEnded } from '../../store/limits.ts';
import type { Chore } from '../chores.ts';

const EVERY_MS = MINUTE;
/** Counts are kept this long after their end, because a replica whose clock is slow still reads them. */
const KEPT_MS = DAY;
/** A batch takes about as long as one of retention's, which has the same size. */
const BATCH = 500;

/** Removes what ended a day ago, once a minute. */
export function forgetCounts(): Chore {
  let next = 0;
  return async ({ db, now }) => {
    if (now() < next && now() > next - EVERY_MS) return false;
    if ((await removeEnded(db, now() - KEPT_MS, BATCH)) === BATCH) return true;
    next = now() + EVERY_MS;
    return false;
  };
}
