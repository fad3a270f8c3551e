// Counts of the audit log by context (contexts.ts), in the same buckets as rollups.ts. A context says everything about
// a call but its arguments, its session and its time, so a draft of a policy can be tried with these counts instead of
// with every entry. guard/log/rollups.ts counts, guard/log/counted-calls.ts reads.

import type { Decision } from '../../core/decision/decide.ts';
import { floorTo, KEPT, SPANS, type Span } from '../../core/time/buckets.ts';
import { DAY, HOUR, MINUTE } from '../../core/time/duration.ts';
import { into, padded, placeholders, type Queries, type Transaction } from '../engine/db.ts';
import { type Shadow, type ShadowRow, withShadow } from './audit-entry.ts';

export interface ContextCount {
  /**
   * The number of a context. If it is negative, these are other calls of the same key and policy, judged alike by the
   * same shadow, as context -number.
   */
  context: number;
  decision: Decision;
  count: number;
}

/** The counts of a bucket, as they are stored. */
export interface ContextBucket {
  span: Span;
  start: number;
  counts: readonly ContextCount[];
}

/**
 * Callers choose tool names, so the number of contexts is unlimited. Only this many are counted apart in a bucket, the
 * most frequent ones. The others are added up for each key, policy and verdict of a shadow, so that totals stay exact.
 */
const MOST: Readonly<Record<Span, number>> = { [MINUTE]: 2000, [HOUR]: 5000, [DAY]: 10_000 };

const ROLLUPS = into('context_rollups', {
  span: 'bigint',
  start: 'bigint',
  context: 'bigint',
  decision: 'text',
  count: 'bigint',
});

/** Writes buckets again. */
export async function writeContextBuckets(tx: Transaction, buckets: readonly ContextBucket[]): Promise<void> {
  for (const { span, start, counts } of buckets) {
    await tx.run('DELETE FROM context_rollups WHERE span = $1 AND start = $2', [span, start]);
    tx.insert(
      ROLLUPS,
      counts.flatMap(({ context, decision, count }) => [span, start, context, decision, count]),
    );
  }
}

/**
 * The buckets of these minutes, and the hours and days that end after `from` and not after `to`, each summed up from the
 * next shorter buckets. An hour may have 120,000 counts to sum up, which take half a second on SQLite. So this is not done
 * inside a transaction, for which every check waits, but before it, a page at a time.
 */
export async function contextBuckets(
  db: Queries,
  minutes: ReadonlyMap<number, readonly ContextCount[]>,
  from: number,
  to: number,
): Promise<ContextBucket[]> {
  const all: ContextBucket[] = [];
  let renewed: ContextBucket[] = [];
  for (const [start, counts] of minutes) renewed.push(await bucketOf(db, MINUTE, start, counts));
  all.push(...renewed);
  for (const [level, span] of SPANS.entries()) {
    const shorter = SPANS[level - 1];
    if (shorter === undefined) continue;
    const sums = await sumsOf(db, shorter, span, renewed, floorTo(from, span), floorTo(to, span));
    renewed = [];
    for (const [start, sum] of sums) renewed.push(await bucketOf(db, span, start, sum.counts()));
    all.push(...renewed);
  }
  return all;
}

/** The sums for the buckets of a span. What is stored of the shorter buckets is replaced by those that are renewed. */
async function sumsOf(
  db: Queries,
  shorter: Span,
  span: Span,
  renewed: readonly ContextBucket[],
  from: number,
  to: number,
): Promise<Map<number, ContextSum>> {
  const sums = new Map<number, ContextSum>();
  if (from >= to) return sums;
  const add = (start: number, count: ContextCount) => {
    const bucket = floorTo(start, span);
    const sum = sums.get(bucket) ?? new ContextSum();
    sums.set(bucket, sum.add(count));
  };
  const isRenewed = new Set(renewed.map(each => each.start));
  for await (const rows of contextCounts(db, shorter, from, to)) {
    for (const row of rows) if (!isRenewed.has(row.start)) add(row.start, row);
    await new Promise(setImmediate);
  }
  for (const { start, counts } of renewed) {
    if (start < from || start >= to) continue;
    for (const count of counts) add(start, count);
    await new Promise(setImmediate);
  }
  return sums;
}

/** Adds up counts of the same context and decision. */
export class ContextSum {
  readonly #counts = new Map<string, ContextCount>();

  add({ context, decision, count }: ContextCount): this {
    const name = `${context} ${decision}`;
    const known = this.#counts.get(name);
    if (known === undefined) this.#counts.set(name, { context, decision, count });
    else known.count += count;
    return this;
  }

  counts(): ContextCount[] {
    return [...this.#counts.values()];
  }
}

async function bucketOf(
  db: Queries,
  span: Span,
  start: number,
  counts: readonly ContextCount[],
): Promise<ContextBucket> {
  const most = MOST[span] as number;
  const known = counts.filter(each => each.context > 0);
  if (known.length <= most && known.length === counts.length) return { span, start, counts };
  const isFrequent = frequent(known, most);
  const others = counts.filter(each => each.context < 0 || !isFrequent(each));
  return { span, start, counts: [...known.filter(isFrequent), ...(await addedUp(db, others))] };
}

/**
 * Tells the most frequent counts, of equal ones those of older contexts. Arrays of numbers are sorted in a few
 * milliseconds, where it would take a tenth of a second to sort the counts themselves.
 */
function frequent(counts: readonly ContextCount[], most: number): (count: ContextCount) => boolean {
  if (counts.length <= most) return () => true;
  const least = Float64Array.from(counts, each => each.count).sort()[counts.length - most] as number;
  const more = counts.reduce((sum, each) => sum + (each.count > least ? 1 : 0), 0);
  const equal = Float64Array.from(
    counts.filter(each => each.count === least),
    each => each.context,
  ).sort();
  const first = equal[most - more] ?? Number.POSITIVE_INFINITY;
  return ({ count, context }) => count > least || (count === least && context < first);
}

/** How many contexts one statement looks up. */
const CONTEXTS_AT_ONCE = 512;

/** One count for each key, policy, verdict of a shadow, and decision. */
async function addedUp(db: Queries, counts: readonly ContextCount[]): Promise<ContextCount[]> {
  const sums = new Map<string, ContextCount>();
  for (let at = 0; at < counts.length; at += CONTEXTS_AT_ONCE) {
    const some = counts.slice(at, at + CONTEXTS_AT_ONCE);
    const owners = await ownersOf(
      db,
      some.map(each => Math.abs(each.context)),
    );
    for (const { context, decision, count } of some) {
      const name = `${owners.get(Math.abs(context))} ${decision}`;
      const sum = sums.get(name);
      const other = -Math.abs(context);
      if (sum === undefined) sums.set(name, { context: other, decision, count });
      else sums.set(name, { context: Math.max(sum.context, other), decision, count: sum.count + count });
    }
    await new Promise(setImmediate);
  }
  return [...sums.values()];
}

/** By what the contexts with these numbers are told apart when they are added up. */
async function ownersOf(db: Queries, numbers: readonly number[]): Promise<Map<number, string>> {
  const ids = padded(numbers);
  const rows = await db.all<{ id: number; owner: string }>(
    `SELECT id, key_id || ' ' || policy_id || ' ' ||
       coalesce(shadow_policy_id || ' ' || shadow_policy_version || ' ' || shadow_decision, '') AS owner
     FROM audit_contexts WHERE id IN (${placeholders(ids.length)})`,
    ids,
  );
  return new Map(rows.map(({ id, owner }) => [id, owner]));
}

export interface BucketCount extends ContextCount {
  start: number;
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
  /** As it is stored (core/decision/recorded-reason.ts). */
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
