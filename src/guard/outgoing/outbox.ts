// Writes an event and one delivery for each subscribed webhook, in the transaction of the change that the event
// announces. It sends nothing: worker.ts sends the deliveries. Open pages of the dashboard read the events themselves.

import type { Event } from '../../core/approvals/event.ts';
import { approvalView } from '../../store/approval-views.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';
import { insertDelivery, insertEvent, type Subscriber } from '../../store/deliveries.ts';
import type { Transaction } from '../../store/engine/db.ts';
import type { VoteRecord } from '../../store/votes.ts';
import { newId } from '../ids.ts';

export function emit(
  tx: Transaction,
  subscribers: readonly Subscriber[],
  type: Event['type'],
  approval: ApprovalRecord,
  now: number,
  votes: readonly VoteRecord[] = [],
): void {
  const event: Event = { type, timestamp: new Date(now).toISOString(), data: approvalView(approval, votes) };
  const eventId = newId();
  insertEvent(tx, { id: eventId, event, createdAt: now });
  for (const { webhookId, keyId, events } of subscribers) {
    if (keyId !== null && keyId !== approval.keyId) continue;
    if (!(JSON.parse(events) as string[]).includes(type)) continue;
    insertDelivery(tx, { id: newId(), eventId, webhookId, createdAt: now });
  }
}
