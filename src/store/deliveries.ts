// The outbox of events: an event is written in the transaction of what it tells, together with one delivery
// per webhook that subscribed to it. Sending is the worker's.

import type { Event } from '../core/event.ts';
import type { Transaction } from './db.ts';

export interface EventRecord {
  id: string;
  event: Event;
  createdAt: number;
}

export interface Subscriber {
  webhookId: string;
  keyId: string | null;
  events: string;
}

/** The webhooks that are switched on; a small table, read whole. */
export function listSubscribers(tx: Transaction): Promise<Subscriber[]> {
  return tx.all(
    `SELECT id AS "webhookId", key_id AS "keyId", events FROM webhooks
     WHERE deleted_at IS NULL AND disabled_at IS NULL`,
  );
}

export function insertEvent(tx: Transaction, record: EventRecord): void {
  const { event } = record;
  tx.defer('INSERT INTO events (id, type, reference_id, body, created_at) VALUES ($1, $2, $3, $4, $5)', [
    record.id,
    event.type,
    event.data.referenceId,
    JSON.stringify(event),
    record.createdAt,
  ]);
}

export function insertDelivery(
  tx: Transaction,
  delivery: { id: string; eventId: string; webhookId: string; createdAt: number },
): void {
  tx.defer(
    `INSERT INTO deliveries (id, event_id, webhook_id, status, attempts, next_attempt_at, leased_until, created_at)
     VALUES ($1, $2, $3, 'pending', 0, $4, 0, $4)`,
    [delivery.id, delivery.eventId, delivery.webhookId, delivery.createdAt],
  );
}
