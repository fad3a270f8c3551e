// Webhooks: the subscriptions to events. Their secrets are stored encrypted. A deleted webhook keeps its row for the
// deliveries that refer to it.

import { placeholders, type Queries } from './engine/db.ts';

export interface WebhookRecord {
  id: string;
  url: string;
  /** Null means the events of every key. */
  keyId: string | null;
  events: string[];
  secretEncrypted: string;
  previousSecretEncrypted: string | null;
  previousSecretUntil: number | null;
  createdAt: number;
  disabledAt: number | null;
  disabledReason: string | null;
}

interface WebhookRow extends Omit<WebhookRecord, 'events'> {
  events: string;
}

const COLUMNS = `id, url, key_id AS "keyId", events, secret_sealed AS "secretEncrypted",
  previous_secret_sealed AS "previousSecretEncrypted", previous_secret_until AS "previousSecretUntil",
  created_at AS "createdAt", disabled_at AS "disabledAt", disabled_reason AS "disabledReason"`;

function fromRow(row: WebhookRow): WebhookRecord {
  return { ...row, events: JSON.parse(row.events) };
}

export async function insertWebhook(db: Queries, webhook: WebhookRecord): Promise<void> {
  await db.run(
    `INSERT INTO webhooks (id, url, key_id, events, secret_sealed, created_at) VALUES (${placeholders(6)})`,
    [
      webhook.id,
      webhook.url,
      webhook.keyId,
      JSON.stringify(webhook.events),
      webhook.secretEncrypted,
      webhook.createdAt,
    ],
  );
}

export async function updateWebhook(db: Queries, webhook: WebhookRecord): Promise<void> {
  await db.run(
    `UPDATE webhooks SET url = $2, key_id = $3, events = $4, secret_sealed = $5, previous_secret_sealed = $6,
       previous_secret_until = $7, disabled_at = $8, disabled_reason = $9 WHERE id = $1`,
    [
      webhook.id,
      webhook.url,
      webhook.keyId,
      JSON.stringify(webhook.events),
      webhook.secretEncrypted,
      webhook.previousSecretEncrypted,
      webhook.previousSecretUntil,
      webhook.disabledAt,
      webhook.disabledReason,
    ],
  );
}

export async function markWebhookDeleted(db: Queries, id: string, now: number): Promise<void> {
  await db.run('UPDATE webhooks SET deleted_at = $2 WHERE id = $1', [id, now]);
}

export async function findWebhook(db: Queries, id: string): Promise<WebhookRecord | null> {
  const [row] = await db.all<WebhookRow>(
    `SELECT ${COLUMNS} FROM webhooks WHERE id = $1 AND deleted_at IS NULL`,
    [id],
  );
  return row === undefined ? null : fromRow(row);
}

export async function listWebhooks(db: Queries, limit: number, before: string): Promise<WebhookRecord[]> {
  const rows = await db.all<WebhookRow>(
    `SELECT ${COLUMNS} FROM webhooks WHERE deleted_at IS NULL AND id < $1 ORDER BY id DESC LIMIT $2`,
    [before, limit],
  );
  return rows.map(fromRow);
}
