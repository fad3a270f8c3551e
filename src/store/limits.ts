// What limits have counted, by subject: the key, session, person or policy whose calls are counted together. A count
// is stored with the time at which it ends; what is used is the sum of the counts that have not ended.

import { padded, placeholders, type Queries, rowInserts, type Transaction, type Value } from './db.ts';

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
  if (wanted.length === 0) return [];
  const asked = padded(wanted.map((_, index) => index)).map(index => wanted[index] as Counted);
  const pairs = asked.map((_, index) => `(${placeholders(2, 1 + index * 2)})`);
  const rows = await tx.all<Counted & { used: number }>(
    `SELECT limit_id AS "limitId", subject, CAST(sum(amount) AS bigint) AS used FROM limit_counts
     WHERE (limit_id, subject) IN (VALUES ${pairs.join(', ')}) AND ends_at > $1 GROUP BY limit_id, subject`,
    [now, ...asked.flatMap(({ limitId, subject }) => [limitId, subject])],
  );
  const sums = new Map(rows.map(row => [keyOf(row), row.used]));
  return wanted.map(each => sums.get(keyOf(each)) ?? 0);
}

const keyOf = ({ limitId, subject }: Counted): string => `${limitId} ${subject}`;

const upserts = rowInserts(
  'limit_counts (limit_id, subject, ends_at, amount, policy_id, name, key_id)',
  7,
  `ON CONFLICT (limit_id, subject, ends_at) DO UPDATE SET amount =
     CASE WHEN limit_counts.amount + excluded.amount > ${MOST} THEN ${MOST} ELSE limit_counts.amount + excluded.amount END`,
);

/** Adds to the counts. The caller holds the lock that keeps others from reading and adding at the same time. */
export function addCounts(tx: Transaction, counts: readonly LimitCount[]): void {
  const rows = together(counts);
  upserts(tx, rows.length, (params, index) => {
    const { limitId, subject, endsAt, amount, policyId, name, keyId } = rows[index] as LimitCount;
    params.push(limitId, subject, endsAt, Math.min(amount, MOST), policyId, name, keyId);
  });
}

/** One count for each row, because PostgreSQL refuses a statement that changes a row twice. */
function together(counts: readonly LimitCount[]): LimitCount[] {
  const rows = new Map<string, LimitCount>();
  for (const count of counts) {
    const key = `${count.endsAt} ${keyOf(count)}`;
    const before = rows.get(key);
    rows.set(key, before === undefined ? count : { ...count, amount: before.amount + count.amount });
  }
  return [...rows.values()];
}

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
