// How much waits, and since when: for metrics. Each is one statement over rows that wait, never over all rows, and it
// stops counting at a bound, because a webhook that is away for days lets a great many deliveries wait.

import type { Queries } from './db.ts';

/** Beyond this, the number is not worth the time. */
export const COUNTED_AT_MOST = 100_000;

export interface Backlog {
  count: number;
  /** When the oldest was made; null if none waits. */
  since: number | null;
}

/** Approvals that somebody can still answer. */
export function openApprovals(db: Queries, now: number): Promise<Backlog> {
  return backlog(
    db,
    `SELECT created_at FROM approvals WHERE status = 'pending' AND expires_at > $1 LIMIT ${COUNTED_AT_MOST}`,
    [now],
  );
}

/**
 * Events that a webhook has not received and that are still tried. They are read in the order in which they were made,
 * so the oldest is among those that are counted. The second condition is that of the partial index.
 */
export function undelivered(db: Queries): Promise<Backlog> {
  return backlog(
    db,
    `SELECT created_at FROM deliveries WHERE status = 'pending' AND status <> 'delivered'
     ORDER BY id LIMIT ${COUNTED_AT_MOST}`,
  );
}

/** Messages to people that are due, or were tried in vain; not those that are planned for later. */
export function unsentNotifications(db: Queries, now: number): Promise<Backlog> {
  return backlog(
    db,
    `SELECT created_at FROM notifications WHERE status = 'pending' AND (attempts > 0 OR next_attempt_at <= $1)
     ORDER BY id LIMIT ${COUNTED_AT_MOST}`,
    [now],
  );
}

async function backlog(db: Queries, waiting: string, params: number[] = []): Promise<Backlog> {
  const [row] = await db.all<Backlog>(
    `SELECT count(*) AS count, min(created_at) AS since FROM (${waiting}) AS waiting`,
    params,
  );
  return row ?? { count: 0, since: null };
}
