// The latest time that the store has recorded, which shows whether a clock was set back since. This only reads.

import type { Queries } from '../engine/db.ts';

/** In milliseconds; null for a store that has recorded nothing yet. Ids are in the order of their times. */
export async function newestTime(db: Queries): Promise<number | null> {
  const [row] = await db.all<{ entry: number | null; change: number | null }>(
    `SELECT (SELECT at FROM audit_entries ORDER BY id DESC LIMIT 1) AS entry,
       (SELECT at FROM changes ORDER BY id DESC LIMIT 1) AS change`,
  );
  const times = [row?.entry, row?.change].flatMap(each => (each == null ? [] : [Number(each)]));
  return times.length === 0 ? null : Math.max(...times);
}
