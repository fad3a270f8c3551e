// Notifications that carry an approval's link to a person. The token is stored encrypted, and only until it was sent or
// the approval has ended.

import { CHANNEL_TYPES } from '../core/channels/channels.ts';
import type { Queries, Transaction } from './engine/db.ts';
import { CHANGE_MESSAGE } from './posted-messages.ts';

/** The ways in which a link can reach a person; `unknown` is that of a named channel which this replica does not know. */
export const CHANNEL_KINDS = [...CHANNEL_TYPES, 'terminal', 'unknown'] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

export type NotificationStatus = 'pending' | 'sent' | 'failed' | 'dropped';
export const NOTIFICATION_STATUSES = ['pending', 'sent', 'failed', 'dropped'] as const;

export interface NewNotification {
  id: string;
  approvalId: string;
  keyId: string;
  channel: ChannelKind;
  /** Null if neither the rule nor the key named a channel. */
  channelName?: string | null;
  tokenEncrypted: string;
  createdAt: number;
  /** When it is to be sent, if not at once. */
  dueAt?: number;
}

export function insertNotification(tx: Transaction, notification: NewNotification): void {
  tx.defer(
    `INSERT INTO notifications (id, approval_id, key_id, channel, token_sealed, status, attempts, next_attempt_at,
       leased_until, created_at, channel_name) VALUES ($1, $2, $3, $4, $5, 'pending', 0, $7, 0, $6, $8)`,
    [
      notification.id,
      notification.approvalId,
      notification.keyId,
      notification.channel,
      notification.tokenEncrypted,
      notification.createdAt,
      notification.dueAt ?? notification.createdAt,
      notification.channelName ?? null,
    ],
  );
}

export interface LeasedNotification {
  id: string;
  approvalId: string;
  channel: ChannelKind;
  channelName: string | null;
  tokenEncrypted: string;
  attempts: number;
}

/** Who receives a notification. A receiver that hangs delays only its own notifications. */
export interface NotificationTarget {
  keyId: string;
  channel: ChannelKind;
  channelName: string | null;
}

/** The keys and channels that have a notification due. */
export function notificationTargetsDue(db: Queries, now: number): Promise<NotificationTarget[]> {
  return db.all(
    `SELECT DISTINCT key_id AS "keyId", channel, channel_name AS "channelName" FROM notifications
     WHERE status = 'pending' AND next_attempt_at <= $1 AND leased_until <= $1`,
    [now],
  );
}

/** Leases due notifications of a target until `until`; leaseDeliveries says why the condition is repeated. */
export function leaseNotifications(
  tx: Transaction,
  { keyId, channel, channelName }: NotificationTarget,
  now: number,
  until: number,
  limit: number,
): Promise<LeasedNotification[]> {
  return tx.all(
    `UPDATE notifications SET leased_until = $2
     WHERE status = 'pending' AND leased_until <= $1 AND id IN (
       SELECT id FROM notifications WHERE key_id = $4 AND channel = $5 AND COALESCE(channel_name, '') = $6
         AND status = 'pending' AND next_attempt_at <= $1 AND leased_until <= $1 ORDER BY next_attempt_at LIMIT $3)
     RETURNING id, approval_id AS "approvalId", channel, channel_name AS "channelName",
       token_sealed AS "tokenEncrypted", attempts`,
    [now, until, limit, keyId, channel, channelName ?? ''],
  );
}

export async function recordNotificationAttempt(
  db: Queries,
  id: string,
  then: { status: NotificationStatus; at: number; nextAttemptAt: number | null; error: string | null },
): Promise<void> {
  const token = then.status === 'pending' ? 'token_sealed' : 'NULL';
  await db.run(
    `UPDATE notifications SET status = $2, next_attempt_at = $3, last_error = $4, leased_until = 0,
       attempts = attempts + 1, attempted_at = $5, token_sealed = ${token} WHERE id = $1 AND status = 'pending'`,
    [id, then.status, then.nextAttemptAt, then.error, then.at],
  );
}

/** Drops the unsent notifications of an approval that is resolved or has timed out. Posted messages will say so. */
export function dropNotifications(tx: Transaction, approvalId: string, now: number): void {
  tx.defer(
    `UPDATE notifications SET status = CASE WHEN status = 'pending' THEN 'dropped' ELSE status END,
       next_attempt_at = NULL, token_sealed = NULL, ${CHANGE_MESSAGE('$2')}
     WHERE approval_id = $1 AND (status = 'pending' OR (status = 'sent' AND channel = 'slack'))`,
    [approvalId, now],
  );
}

interface NotificationRecord {
  id: string;
  approvalId: string;
  /** Its name. The kind stands here if it has no name, or the name `default`, which several channels share. */
  channel: string;
  status: NotificationStatus;
  attempts: number;
  nextAttemptAt: number | null;
  lastError: string | null;
  createdAt: number;
  /** When the last attempt to send it was made. */
  attemptedAt: number | null;
}

export function listNotifications(
  db: Queries,
  filter: { status: NotificationStatus | null; approvalId: string | null },
  limit: number,
  before: string,
): Promise<NotificationRecord[]> {
  const params: (string | number)[] = [before, limit];
  let conditions = 'id < $1';
  for (const [column, value] of [
    ['status', filter.status],
    ['approval_id', filter.approvalId],
  ] as const) {
    if (value === null) continue;
    params.push(value);
    conditions += ` AND ${column} = $${params.length}`;
  }
  return db.all(
    `SELECT id, approval_id AS "approvalId", COALESCE(NULLIF(channel_name, 'default'), channel) AS channel, status,
       attempts, next_attempt_at AS "nextAttemptAt", last_error AS "lastError", created_at AS "createdAt",
       attempted_at AS "attemptedAt"
     FROM notifications WHERE ${conditions} ORDER BY id DESC LIMIT $2`,
    params,
  );
}

/** Whether a message was sent, and what went wrong if it was not. */
export interface SentMessage {
  status: NotificationStatus;
  /** When the last attempt to send it was made; null before the first one. */
  attemptedAt: number | null;
  lastError: string | null;
}

/** The newest messages of a channel. With null, they are those for which neither the rule nor the key named a channel. */
export function listNewestOf(
  db: Queries,
  channelName: string | null,
  channel: ChannelKind,
  limit: number,
): Promise<SentMessage[]> {
  const params = channelName === null ? [channel, limit] : [channel, limit, channelName];
  return db.all(
    `SELECT status, attempted_at AS "attemptedAt", last_error AS "lastError" FROM notifications
     WHERE channel_name ${channelName === null ? 'IS NULL' : '= $3'} AND channel = $1 ORDER BY id DESC LIMIT $2`,
    params,
  );
}
