// The audit log counted by minute, hour and day, for statistics that need no scan: how often each decision took
// each latency, met each tool, came from each key. Which buckets are due, and when, is the guard's.

import { HOUR, KEPT, MINUTE, SPANS, type Span } from '../core/buckets.ts';
import type { Decision } from '../core/decide.ts';
import type { Queries, Transaction } from './db.ts';

export const KINDS = ['latency', 'tool', 'key'] as const;
export type Kind = (typeof KINDS)[number];

export interface Count {
  kind: Kind;
  /** A latency in milliseconds, a full tool name, or a key's id. */
  name: string;
  decision: Decision;
  count: number;
}

/** Callers choose tool names: beyond this many in a bucket, the rarest are not kept. Totals stay exact. */
const MOST_NAMES = 1000;

/** Writes minutes anew, and the hours and days that they are part of. */
export async function writeMinutes(tx: Transaction, minutes: ReadonlyMap<number, Count[]>): Promise<void> {
  for (const [start, counts] of minutes) {
    await tx.run(`DELETE FROM rollups WHERE ${ofBucket}`, [MINUTE, start]);
    for (const each of mostFrequent(counts)) {
      tx.defer(
        'INSERT INTO rollups (span, kind, start, name, decision, count) VALUES ($1, $2, $3, $4, $5, $6)',
        [MINUTE, each.kind, start, each.name, each.decision, each.count],
      );
    }
  }
  await sumUp(tx, [...minutes.keys()], 1);
}

// The kinds are named, so that the statement goes by the primary key.
const ofBucket = "span = $1 AND kind IN ('latency', 'tool', 'key') AND start = $2";

/** Makes the buckets of the next longer span, in which these starts lie, from the shorter ones. */
async function sumUp(tx: Transaction, starts: readonly number[], level: number): Promise<void> {
  const span = SPANS[level];
  if (span === undefined) return;
  const longer = [...new Set(starts.map(start => Math.floor(start / span) * span))];
  for (const start of longer) {
    await tx.run(`DELETE FROM rollups WHERE ${ofBucket}`, [span, start]);
    for (const kind of KINDS) {
      tx.defer(
        `INSERT INTO rollups (span, kind, start, name, decision, count)
         SELECT CAST($1 AS bigint), kind, CAST($2 AS bigint), name, decision, CAST(sum(count) AS bigint) FROM rollups
         WHERE span = $3 AND kind = $4 AND start >= $2 AND start < $5
         GROUP BY kind, name, decision ORDER BY sum(count) DESC, name LIMIT ${MOST_NAMES}`,
        [span, start, SPANS[level - 1] as Span, kind, start + span],
      );
    }
  }
  await sumUp(tx, longer, level + 1);
}

function mostFrequent(counts: readonly Count[]): Count[] {
  return KINDS.flatMap(kind => {
    const all = counts.filter(each => each.kind === kind);
    return all.length <= MOST_NAMES ? all : all.sort((a, b) => b.count - a.count).slice(0, MOST_NAMES);
  });
}

/** Counts of a run of buckets, added up. */
export function rollupCounts(
  db: Queries,
  span: Span,
  from: number,
  to: number,
  kind: Kind,
): Promise<Omit<Count, 'kind'>[]> {
  return db.all(
    `SELECT name, decision, CAST(sum(count) AS bigint) AS count FROM rollups
     WHERE span = $1 AND kind = $2 AND start >= $3 AND start < $4 GROUP BY name, decision`,
    [span, kind, from, to],
  );
}

/** Decisions of a run of buckets, by slices of `step` milliseconds. */
export function rollupSeries(
  db: Queries,
  span: Span,
  from: number,
  to: number,
  step: number,
): Promise<{ at: number; decision: Decision; count: number }[]> {
  return db.all(
    `SELECT start / $4 * $4 AS at, decision, CAST(sum(count) AS bigint) AS count FROM rollups
     WHERE span = $1 AND kind = 'latency' AND start >= $2 AND start < $3 GROUP BY start / $4 * $4, decision`,
    [span, from, to, step],
  );
}

/** Entries counted for each minute of a time. */
export async function minuteTotals(db: Queries, from: number, to: number): Promise<Map<number, number>> {
  const rows = await rollupSeries(db, MINUTE, from, to, MINUTE);
  const totals = new Map<number, number>();
  for (const { at, count } of rows) totals.set(at, (totals.get(at) ?? 0) + count);
  return totals;
}

/** Forgets short buckets whose time is over; the longer ones hold their sums. */
export async function pruneRollups(db: Queries, now: number): Promise<void> {
  for (const span of [MINUTE, HOUR] as const) {
    for (const kind of KINDS) {
      await db.run('DELETE FROM rollups WHERE span = $1 AND kind = $2 AND start < $3', [
        span,
        kind,
        now - (KEPT[span] as number),
      ]);
    }
  }
}
