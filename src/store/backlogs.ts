// How much waits, and since when: for metrics. Each is one statement over an index of what waits, and it stops counting
// at a bound, because a webhook that is away for days lets a great many deliveries wait. On SQLite nothing else happens
// while it counts: 10,000 entries of an index take less than a millisecond, but 10,000 rows take ten.

import type { Queries } from './engine/db.ts';

const MOST_ENTRIES = 10_000;
const MOST_ROWS = 1000;

export interface Backlog {
  count: number;
  /** When the oldest was made; null if none waits. */
  since: number | null;
}

/** Approvals that somebody can answer. One whose time is over counts until it is marked so, about a second later. */
export function openApprovals(db: Queries): Promise<Backlog> {
  return backlog(db, "approvals WHERE status = 'pending'", MOST_ENTRIES);
}

/** Events that a webhook has not received and that are still tried. The second condition is that of the partial index. */
export function undelivered(db: Queries): Promise<Backlog> {
  return backlog(db, "deliveries WHERE status = 'pending' AND status <> 'delivered'", MOST_ENTRIES);
}

/** Messages to people that are due, or were tried in vain; not those that are planned for later. */
export function unsentNotifications(db: Queries, now: number): Promise<Backlog> {
  const due = "notifications WHERE status = 'pending' AND (attempts > 0 OR next_attempt_at <= $1)";
  return backlog(db, due, MOST_ROWS, [now]);
}

/** Calls of which it is not known whether they ran, and which nobody has settled. */
export async function unsettledCalls(db: Queries): Promise<Backlog> {
  const [row] = await db.all<Backlog>(
    `SELECT count(*) AS count, min(unknown_at) AS since FROM (
       SELECT unknown_at FROM executions WHERE unknown_at IS NOT NULL AND settled_at IS NULL
       ORDER BY unknown_at LIMIT ${MOST_ROWS}) AS waiting`,
  );
  return row ?? { count: 0, since: null };
}

/** Identifiers begin with the time, so the first one is the oldest. */
async function backlog(
  db: Queries,
  waiting: string,
  most: number,
  params: readonly number[] = [],
): Promise<Backlog> {
  const [row] = await db.all<Backlog>(
    `SELECT (SELECT count(*) FROM (SELECT id FROM ${waiting} ORDER BY id LIMIT ${most}) AS waiting) AS count,
       (SELECT created_at FROM ${waiting} ORDER BY id LIMIT 1) AS since`,
    params,
  );
  return row ?? { count: 0, since: null };
}
