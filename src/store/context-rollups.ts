// Counts of the audit log by context (contexts.ts), in the same buckets as rollups.ts. A context says everything about
// a call but its arguments, its session and its time, so a draft of a policy can be tried with these counts instead of
// with every entry. guard/log/rollups.ts counts, guard/log/counted-calls.ts reads.

import { DAY, floorTo, HOUR, KEPT, MINUTE, SPANS, type Span } from '../core/buckets.ts';
import type { Decision } from '../core/decide.ts';
import { type Shadow, type ShadowRow, withShadow } from './audit-entry.ts';
import { padded, placeholders, type Queries, rowInserts, type Transaction } from './db.ts';

export interface ContextCount {
  /** The number of a context. If it is negative, these are other calls of the same key and policy as context -number. */
  context: number;
  keyId: string;
  policyId: string;
  decision: Decision;
  count: number;
}

/**
 * Callers choose tool names, so the number of contexts is unlimited. Only this many are counted apart in a bucket, the
 * most frequent ones. The others are added up for each key and policy, so that totals stay exact.
 */
const MOST: Readonly<Record<Span, number>> = { [MINUTE]: 2000, [HOUR]: 5000, [DAY]: 10_000 };

const insertRows = rowInserts('context_rollups (span, start, context, decision, count)', 5);

/** Writes the counts of minutes again. */
export async function writeContextMinutes(
  tx: Transaction,
  minutes: ReadonlyMap<number, readonly ContextCount[]>,
): Promise<void> {
  for (const [start, counts] of minutes) await writeBucket(tx, MINUTE, start, counts);
}

async function writeBucket(
  tx: Transaction,
  span: Span,
  start: number,
  counts: readonly ContextCount[],
): Promise<void> {
  await tx.run('DELETE FROM context_rollups WHERE span = $1 AND start = $2', [span, start]);
  const rows = mostFrequent(counts, MOST[span] as number);
  insertRows(tx, rows.length, (params, index) => {
    const { context, decision, count } = rows[index] as ContextCount;
    params.push(span, start, context, decision, count);
  });
}

function mostFrequent(counts: readonly ContextCount[], most: number): ContextCount[] {
  const known = counts.filter(each => each.context > 0);
  if (known.length > most) known.sort((a, b) => b.count - a.count || a.context - b.context);
  const others = [...known.slice(most), ...counts.filter(each => each.context < 0)];
  return [...known.slice(0, most), ...addedUp(others)];
}

/** One count for each key, policy and decision. */
function addedUp(counts: readonly ContextCount[]): ContextCount[] {
  const sums = new Map<string, ContextCount>();
  for (const each of counts) {
    const name = `${each.keyId} ${each.policyId} ${each.decision}`;
    const sum = sums.get(name);
    const context = -Math.abs(each.context);
    if (sum === undefined) sums.set(name, { ...each, context });
    else sums.set(name, { ...sum, context: Math.max(sum.context, context), count: sum.count + each.count });
  }
  return [...sums.values()];
}

/** Recomputes the hours and days that end after `from` and not after `to`, each from the next shorter buckets. */
export async function sumUpContexts(tx: Transaction, from: number, to: number): Promise<void> {
  for (const [level, span] of SPANS.entries()) {
    const shorter = SPANS[level - 1];
    if (shorter === undefined) continue;
    const filled = await tx.all<{ start: number }>(
      `SELECT DISTINCT start / $4 * $4 AS start FROM context_rollups WHERE span = $1 AND start >= $2 AND start < $3`,
      [shorter, floorTo(from, span), floorTo(to, span), span],
    );
    for (const { start } of filled) {
      await writeBucket(tx, span, start, await summed(tx, shorter, start, start + span));
    }
  }
}

function summed(db: Queries, span: Span, from: number, to: number): Promise<ContextCount[]> {
  return db.all(
    `SELECT n.context, c.key_id AS "keyId", c.policy_id AS "policyId", n.decision, n.count FROM (
       SELECT context, decision, CAST(sum(count) AS bigint) AS count FROM context_rollups
       WHERE span = $1 AND start >= $2 AND start < $3 GROUP BY context, decision) AS n
     JOIN audit_contexts c ON c.id = abs(n.context)`,
    [span, from, to],
  );
}

export interface BucketCount {
  start: number;
  context: number;
  decision: Decision;
  count: number;
}

/** How many rows one statement reads: about 3 ms on SQLite, during which checks wait. */
const AT_ONCE = 2048;

/** The counts of a range of buckets, a page at a time. */
export async function* contextCounts(
  db: Queries,
  span: Span,
  from: number,
  to: number,
): AsyncGenerator<BucketCount[]> {
  let last = { start: from, context: Number.MIN_SAFE_INTEGER, decision: '' };
  while (true) {
    const page = await db.all<BucketCount>(
      `SELECT start, context, decision, count FROM context_rollups
       WHERE span = $1 AND (start, context, decision) > ($2, $3, $4) AND start < $5
       ORDER BY start, context, decision LIMIT ${AT_ONCE}`,
      [span, last.start, last.context, last.decision, to],
    );
    yield page;
    if (page.length < AT_ONCE) return;
    last = page.at(-1) as BucketCount;
  }
}

/** The start of the oldest bucket, or null. */
export async function oldestContextBucket(db: Queries): Promise<number | null> {
  const starts: number[] = [];
  for (const span of SPANS) {
    const [row] = await db.all<{ start: number }>(
      'SELECT start FROM context_rollups WHERE span = $1 ORDER BY span, start LIMIT 1',
      [span],
    );
    if (row !== undefined) starts.push(row.start);
  }
  return starts.length === 0 ? null : Math.min(...starts);
}

/** What all calls of a context have in common. */
export interface SharedContext {
  context: number;
  keyId: string;
  serverName: string;
  toolName: string;
  reason: string;
  policyId: string;
  policyVersion: number;
  ruleIndex: number | null;
  personId: string | null;
  shadow: Shadow | null;
}

type ContextRow = Omit<SharedContext, 'shadow'> & ShadowRow;

/** The contexts with these numbers. The caller bounds how many are read at once. */
export async function findContexts(db: Queries, numbers: readonly number[]): Promise<SharedContext[]> {
  if (numbers.length === 0) return [];
  const ids = padded(numbers);
  const rows = await db.all<ContextRow>(
    `SELECT id AS context, key_id AS "keyId", server_name AS "serverName", tool_name AS "toolName", reason,
       policy_id AS "policyId", policy_version AS "policyVersion", rule_index AS "ruleIndex", person_id AS "personId",
       shadow_policy_id AS "shadowPolicyId", shadow_policy_version AS "shadowPolicyVersion",
       shadow_decision AS "shadowDecision", shadow_rule_index AS "shadowRuleIndex"
     FROM audit_contexts WHERE id IN (${placeholders(ids.length)})`,
    ids,
  );
  return rows.map(withShadow);
}

/** Deletes short buckets that are no longer kept; the longer ones contain their sums. */
export async function pruneContextRollups(db: Queries, now: number): Promise<void> {
  for (const span of [MINUTE, HOUR] as const) {
    await db.run('DELETE FROM context_rollups WHERE span = $1 AND start < $2', [
      span,
      now - (KEPT[span] as number),
    ]);
  }
}
