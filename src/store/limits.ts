// What limits have counted, by subject: the key, session, person or policy whose calls are counted together. A count
// is stored with the time at which it ends; what is used is the sum of the counts that have not ended.

import { padded, placeholders, type Queries, type Transaction, type Value } from './engine/db.ts';
import { sized } from './engine/sized.ts';

/** What one limit counts together. */
export interface Counted {
  limitId: string;
  subject: string;
}

export interface LimitCount extends Counted {
  endsAt: number;
  amount: number;
  policyId: string;
  name: string;
  /** Null if the calls of several keys are counted together. */
  keyId: string | null;
}

/** A limit of a subject with what is used of it. */
export interface Used extends Omit<LimitCount, 'amount'> {
  used: number;
}

/**
 * A count stays at this value, which is more than any limit allows. Otherwise huge amounts that people approve would in
 * the end not fit into the column, and every check that reads the sum would fail.
 */
const MOST = 2 ** 53;

/** What is used of each limit, in the given order. */
export async function usedOf(tx: Queries, wanted: readonly Counted[], now: number): Promise<number[]> {
  const used = wanted.map(() => 0);
  if (wanted.length === 0) return used;
  const params: Value[] = [wanted.length, now];
  const sql = sums(wanted, ({ limitId, subject }) => params.push(limitId, subject));
  for (const row of await tx.all<{ at: number; used: number | null }>(sql, params))
    used[row.at] = row.used ?? 0;
  return used;
}

/**
 * One query for each of them makes either engine look them up in the primary key, whatever it assumes about the table.
 */
const sums = sized(
  2,
  2,
  rows => `WITH wanted (at, limit_id, subject) AS (VALUES ${rows})
    SELECT at, (SELECT CAST(sum(amount) AS bigint) FROM limit_counts AS counted
      WHERE counted.limit_id = wanted.limit_id AND counted.subject = wanted.subject AND ends_at > $2) AS used
    FROM wanted WHERE at < $1`,
);

/**
 * Adds to the counts. No two of them may be for the same row: PostgreSQL refuses a statement that changes a row twice.
 * The caller holds the lock that keeps others from reading and adding at the same time.
 */
export function addCounts(tx: Transaction, counts: readonly LimitCount[]): void {
  if (counts.length === 0) return;
  const params: Value[] = [counts.length];
  const sql = upserts(counts, ({ limitId, subject, endsAt, amount, policyId, name, keyId }) =>
    params.push(limitId, subject, endsAt, String(Math.min(amount, MOST)), policyId, name, keyId),
  );
  tx.defer(sql, params);
}

/**
 * Amounts are sent as text. PostgreSQL's client prepares another statement for a number that needs more than four bytes,
 * so callers who mix small and large amounts could have it prepare any number of statements.
 */
const upserts = sized(
  7,
  1,
  rows => `WITH added (at, limit_id, subject, ends_at, amount, policy_id, name, key_id) AS (VALUES ${rows})
    INSERT INTO limit_counts (limit_id, subject, ends_at, amount, policy_id, name, key_id)
    SELECT limit_id, subject, ends_at, CAST(amount AS bigint), policy_id, name, key_id FROM added WHERE at < $1
    ON CONFLICT (limit_id, subject, ends_at) DO UPDATE SET amount =
      CASE WHEN limit_counts.amount + excluded.amount > ${MOST} THEN ${MOST} ELSE limit_counts.amount + excluded.amount END`,
);

interface UsedFilter {
  limitIds?: readonly string[] | undefined;
  keyId?: string | undefined;
}

/** In the order of limit and subject. `after` is the last one of the previous page. */
export function listUsed(
  db: Queries,
  { limitIds, keyId }: UsedFilter,
  now: number,
  limit: number,
  after: Counted,
): Promise<Used[]> {
  const params: Value[] = [now, after.limitId, after.subject, limit];
  let where = 'ends_at > $1 AND (limit_id, subject) > ($2, $3)';
  if (keyId !== undefined) where += ` AND key_id = $${params.push(keyId)}`;
  if (limitIds !== undefined) {
    const ids = padded(limitIds);
    where += ` AND limit_id IN (${placeholders(ids.length, params.length)})`;
    params.push(...ids);
  }
  return db.all(
    `SELECT limit_id AS "limitId", subject, max(ends_at) AS "endsAt", CAST(sum(amount) AS bigint) AS used,
       max(policy_id) AS "policyId", max(name) AS name, max(key_id) AS "keyId"
     FROM limit_counts WHERE ${where} GROUP BY limit_id, subject ORDER BY limit_id, subject LIMIT $4`,
    params,
  );
}

/** Forgets what a limit has counted for a subject, and returns whether there was anything. */
export async function deleteCounts(tx: Queries, { limitId, subject }: Counted): Promise<boolean> {
  const deleted = await tx.run('DELETE FROM limit_counts WHERE limit_id = $1 AND subject = $2', [
    limitId,
    subject,
  ]);
  return deleted > 0;
}

/** Removes at most `limit` counts that ended before a time, and returns how many there were. */
export function removeEnded(db: Queries, before: number, limit: number): Promise<number> {
  return db.run(
    `DELETE FROM limit_counts WHERE (limit_id, subject, ends_at) IN (
       SELECT limit_id, subject, ends_at FROM limit_counts WHERE ends_at < $1 ORDER BY ends_at LIMIT $2)`,
    [before, limit],
  );
}
