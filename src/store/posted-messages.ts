// Messages that were posted for a notification and are changed later, when people have voted or the question has ended.
// `message_ref` says where such a message is, and `close_at` when it has to be changed next. Only Slack's have one.

import type { Queries, Transaction } from './engine/db.ts';

/**
 * The notification was sent as a message that can be changed. If the question has ended meanwhile, the notification is
 * no longer pending, and the message has to be changed at once.
 */
export async function recordPosted(db: Queries, id: string, place: string, at: number): Promise<void> {
  await db.run(
    `UPDATE notifications SET message_ref = $2, close_at = CASE WHEN status = 'pending' THEN NULL ELSE CAST($3 AS bigint) END,
       status = 'sent', next_attempt_at = NULL, last_error = NULL, leased_until = 0, attempts = attempts + 1,
       attempted_at = $3, token_sealed = NULL WHERE id = $1`,
    [id, place, at],
  );
}

/**
 * A new time always differs from the one before, so that a change that is under way meanwhile does not count as done. A
 * statement that ends the question has to use this for every notification of Slack's, posted or not: on PostgreSQL it
 * waits for a row that is just being marked as posted only if it wants to change that row anyway.
 */
export const CHANGE_MESSAGE = (now: string): string =>
  `close_at = CASE WHEN message_ref IS NULL THEN NULL WHEN close_at = ${now} THEN ${now} + 1 ELSE ${now} END,
   close_attempts = 0`;

/** The messages about an approval have to be changed, although its question is still open. */
export function changeMessages(tx: Transaction, approvalId: string, now: number): void {
  tx.defer(
    `UPDATE notifications SET ${CHANGE_MESSAGE('$2')} WHERE approval_id = $1 AND channel = 'slack'
       AND status = 'sent'`,
    [approvalId, now],
  );
}

/** The channel to which this message was posted for this approval; null if it was not. */
export async function postedTo(
  db: Queries,
  approvalId: string,
  place: string,
): Promise<{ channelName: string | null } | null> {
  const rows = await db.all<{ channelName: string | null }>(
    'SELECT channel_name AS "channelName" FROM notifications WHERE approval_id = $1 AND message_ref = $2',
    [approvalId, place],
  );
  return rows[0] ?? null;
}

export async function anyChangeDue(db: Queries, now: number): Promise<boolean> {
  const rows = await db.all(
    'SELECT id FROM notifications WHERE close_at <= $1 AND leased_until <= $1 LIMIT 1',
    [now],
  );
  return rows.length > 0;
}

export interface LeasedMessage {
  id: string;
  approvalId: string;
  channelName: string | null;
  place: string;
  dueAt: number;
  attempts: number;
}

/** Leases messages that have to be changed; leaseDeliveries says why the condition is repeated. */
export function leaseMessages(
  tx: Transaction,
  now: number,
  until: number,
  limit: number,
): Promise<LeasedMessage[]> {
  return tx.all(
    `UPDATE notifications SET leased_until = $2
     WHERE close_at <= $1 AND leased_until <= $1 AND id IN (
       SELECT id FROM notifications WHERE close_at <= $1 AND leased_until <= $1 ORDER BY close_at LIMIT $3)
     RETURNING id, approval_id AS "approvalId", channel_name AS "channelName", message_ref AS place,
       close_at AS "dueAt", close_attempts AS attempts`,
    [now, until, limit],
  );
}

/** `againAt` is null once nothing more has to be done. If the message has to be changed anew, that stays. */
export async function recordChanged(
  db: Queries,
  { id, dueAt }: LeasedMessage,
  then: { againAt: number | null; error: string | null },
): Promise<void> {
  await db.run(
    `UPDATE notifications SET leased_until = 0, last_error = $4,
       close_attempts = CASE WHEN close_at = $2 THEN close_attempts + 1 ELSE close_attempts END,
       close_at = CASE WHEN close_at = $2 THEN $3 ELSE close_at END WHERE id = $1`,
    [id, dueAt, then.againAt, then.error],
  );
}
