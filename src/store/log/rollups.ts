// Counts of the audit log by minute, hour and day, so that statistics need no scan: for each decision, how often it had
// each latency, each tool and each key. guard/log/rollups.ts decides which buckets are counted and when.

import type { Decision } from '../../core/decision/decide.ts';
import { floorTo, KEPT, SPANS, type Span } from '../../core/time/buckets.ts';
import { HOUR, MINUTE } from '../../core/time/duration.ts';
import { into, type Queries, type Transaction, type Value } from '../engine/db.ts';

export const KINDS = ['latency', 'tool', 'key'] as const;
export type Kind = (typeof KINDS)[number];

export interface Count {
  kind: Kind;
  /** A latency in milliseconds, a full tool name, or a key's id. */
  name: string;
  decision: Decision;
  count: number;
}

/**
 * Callers choose tool names, so their number is unlimited. Only this many are kept per bucket, the most frequent ones.
 * Totals stay exact.
 */
const MOST_NAMES = 1000;

const ROLLUPS = into('rollups', {
  span: 'bigint',
  kind: 'text',
  start: 'bigint',
  name: 'text',
  decision: 'text',
  count: 'bigint',
});

/** Writes the counts of minutes again. */
export async function writeMinutes(tx: Transaction, minutes: ReadonlyMap<number, Count[]>): Promise<void> {
  const values: Value[] = [];
  for (const [start, counts] of minutes) {
    await tx.run(`DELETE FROM rollups WHERE ${OF_BUCKET}`, [MINUTE, start]);
    for (const { kind, name, decision, count } of mostFrequent(counts)) {
      values.push(MINUTE, kind, start, name, decision, count);
    }
  }
  tx.insert(ROLLUPS, values);
}

// The kinds are listed, so that the statement can use the primary key.
const OF_BUCKET = "span = $1 AND kind IN ('latency', 'tool', 'key') AND start = $2";

/** Recomputes the hours and days that end after `from` and not after `to`, each from the next shorter buckets. */
export async function sumUp(tx: Transaction, from: number, to: number): Promise<void> {
  for (const [level, span] of SPANS.entries()) {
    const shorter = SPANS[level - 1];
    if (shorter === undefined) continue;
    const filled = await rollupSeries(tx, shorter, floorTo(from, span), floorTo(to, span), span);
    for (const start of new Set(filled.map(each => each.at))) await sumUpBucket(tx, span, start, shorter);
  }
}

async function sumUpBucket(tx: Transaction, span: Span, start: number, shorter: Span): Promise<void> {
  await tx.run(`DELETE FROM rollups WHERE ${OF_BUCKET}`, [span, start]);
  for (const kind of KINDS) {
    await tx.run(
      `INSERT INTO rollups (span, kind, start, name, decision, count)
       SELECT CAST($1 AS bigint), kind, CAST($2 AS bigint), name, decision, CAST(sum(count) AS bigint) FROM rollups
       WHERE span = $3 AND kind = $4 AND start >= $2 AND start < $5
       GROUP BY kind, name, decision ORDER BY sum(count) DESC, name LIMIT ${MOST_NAMES}`,
      [span, start, shorter, kind, start + span],
    );
  }
}

function mostFrequent(counts: readonly Count[]): Count[] {
  return KINDS.flatMap(kind => {
    const all = counts.filter(each => each.kind === kind);
    return all.length <= MOST_NAMES ? all : all.sort((a, b) => b.count - a.count).slice(0, MOST_NAMES);
  });
}

/** The sums over a range of buckets. */
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

/** The decisions in a range of buckets, by slices of `step` milliseconds. */
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

/** The number of entries counted for each minute of a period. */
export async function minuteTotals(db: Queries, from: number, to: number): Promise<Map<number, number>> {
  const rows = await rollupSeries(db, MINUTE, from, to, MINUTE);
  const totals = new Map<number, number>();
  for (const { at, count } of rows) totals.set(at, (totals.get(at) ?? 0) + count);
  return totals;
}

/** Deletes short buckets that are no longer kept; the longer ones contain their sums. */
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
