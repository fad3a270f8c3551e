// Notifications waiting to carry an approval's link to a person. The token is here only encrypted, and only
// until it was sent or the approval ended.

import type { Transaction } from './db.ts';

export interface NotificationRecord {
  id: string;
  approvalId: string;
  /** Where it goes: a channel with its target, as JSON. */
  channel: string;
  tokenSealed: string;
  createdAt: number;
}

export function insertNotification(tx: Transaction, notification: NotificationRecord): void {
  tx.defer(
    `INSERT INTO notifications (id, approval_id, channel, token_sealed, status, attempts, next_attempt_at,
       leased_until, created_at) VALUES ($1, $2, $3, $4, 'pending', 0, $5, 0, $5)`,
    [
      notification.id,
      notification.approvalId,
      notification.channel,
      notification.tokenSealed,
      notification.createdAt,
    ],
  );
}
