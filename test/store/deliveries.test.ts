// The outbox: which deliveries are due, leased and over, each at its very millisecond and none but those meant.

import { expect, test } from 'bun:test';
import { approvalView } from '../../src/store/approval-views.ts';
import * as deliveries from '../../src/store/deliveries.ts';
import { insertWebhook, markWebhookDeleted, updateWebhook } from '../../src/store/webhooks.ts';
import { approvalRecord, NOW, onEachEngine } from './stores.ts';

const LEASE = 1000;
type Status = deliveries.DeliveryStatus;

await onEachEngine(store => {
  /** [id, webhook, when it was made]; each of an event of the same id. */
  const add = async (...rows: [id: string, webhookId: string, createdAt: number][]) => {
    for (const table of ['deliveries', 'events', 'attempts']) await store.db.run(`DELETE FROM ${table}`);
    await store.db.transaction({}, async tx => {
      for (const [id, webhookId, createdAt] of rows) {
        const data = approvalView(approvalRecord({ id: `approval ${id}` }));
        const event = { type: 'approval.created' as const, timestamp: '', data };
        deliveries.insertEvent(tx, { id, event, createdAt });
        deliveries.insertDelivery(tx, { id, eventId: id, webhookId, createdAt });
      }
    });
  };
  const due = async (now: number) => (await deliveries.webhooksDue(store.db, now)).sort();
  const lease = async (now: number, limit = 10, webhookId = 'w1') => {
    const leased = await store.db.transaction({}, tx =>
      deliveries.leaseDeliveries(tx, webhookId, now, now + LEASE, limit),
    );
    return leased.map(each => each.id).sort();
  };
  const attempt = (deliveryId: string, status: Status, nextAttemptAt: number | null, id = deliveryId) =>
    store.db.transaction({}, async tx =>
      deliveries.recordAttempt(
        tx,
        { id, deliveryId, at: NOW, status: 500, durationMs: 7, error: 'e', response: 'r' },
        { status, nextAttemptAt },
      ),
    );
  const states = async () =>
    Object.fromEntries(
      (await store.db.all('SELECT id, status, attempts FROM deliveries')).map(row => [
        row['id'],
        `${row['status']} ${row['attempts']}`,
      ]),
    );

  test('a webhook is due from the very millisecond on, and once however many wait', async () => {
    await add(['d1', 'w1', NOW], ['d2', 'w1', NOW], ['d3', 'w2', NOW + 1]);
    expect(await due(NOW - 1)).toEqual([]);
    expect(await due(NOW)).toEqual(['w1']);
    expect(await due(NOW + 1)).toEqual(['w1', 'w2']);
    await attempt('d3', 'failed', NOW);
    expect(await due(NOW + 1)).toEqual(['w1']);
  });

  test('a lease is of one webhook, of those that have waited longest, until it ends', async () => {
    await add(['d1', 'w1', NOW + 2], ['d2', 'w1', NOW + 1], ['d3', 'w2', NOW], ['d4', 'w1', NOW + 3]);
    await attempt('d4', 'delivered', NOW);
    expect(await lease(NOW)).toEqual([]);
    expect(await lease(NOW + 2, 1)).toEqual(['d2']);
    expect(await lease(NOW + 2)).toEqual(['d1']);
    expect([await due(NOW + 1 + LEASE), await lease(NOW + 1 + LEASE)]).toEqual([['w2'], []]);
    expect(await due(NOW + 2 + LEASE)).toEqual(['w1', 'w2']);
    expect(await lease(NOW + 2 + LEASE)).toEqual(['d1', 'd2']);
  });

  test('an attempt ends the lease, is counted once, and a delivery that is over stays so', async () => {
    await add(['d1', 'w1', NOW], ['d2', 'w1', NOW], ['d3', 'w1', NOW]);
    await lease(NOW);
    await attempt('d1', 'pending', NOW + 5);
    await attempt('d2', 'delivered', null);
    await attempt('d2', 'failed', null, 'again');
    expect(await states()).toEqual({ d1: 'pending 1', d2: 'delivered 1', d3: 'pending 0' });
    expect([await lease(NOW + 4), await lease(NOW + 5)]).toEqual([[], ['d1']]);
    const attempts = await deliveries.listAttempts(store.db, ['d2', 'd3']);
    expect(attempts.map(each => each.id)).toEqual(['again', 'd2']);
    expect(attempts[1]).toEqual({
      id: 'd2',
      deliveryId: 'd2',
      at: NOW,
      status: 500,
      durationMs: 7,
      error: 'e',
      response: 'r',
    });
  });

  test('what waits for a webhook that is given up fails; what was delivered, or goes elsewhere, does not', async () => {
    await add(['d1', 'w1', NOW], ['d2', 'w1', NOW], ['d3', 'w2', NOW]);
    await attempt('d1', 'delivered', null);
    await store.db.transaction({}, tx => deliveries.failPending(tx, 'w1'));
    expect(await states()).toEqual({ d1: 'delivered 1', d2: 'failed 0', d3: 'pending 0' });
  });

  test('one delivery begins anew, and is due at once', async () => {
    await add(['d1', 'w1', NOW], ['d2', 'w1', NOW]);
    await lease(NOW);
    for (const id of ['d1', 'd2']) await attempt(id, 'failed', null);
    expect(await deliveries.rescheduleDelivery(store.db, 'd1', NOW + 9)).toBe(true);
    expect(await deliveries.rescheduleDelivery(store.db, 'unknown', NOW)).toBe(false);
    expect(await states()).toEqual({ d1: 'pending 0', d2: 'failed 1' });
    expect([await due(NOW + 8), await due(NOW + 9)]).toEqual([[], ['w1']]);
  });

  test('lists of deliveries and events are newest first and end where they should', async () => {
    await add(['d1', 'w1', NOW], ['d2', 'w2', NOW], ['d3', 'w1', NOW], ['d4', 'w1', NOW]);
    const list = async (before: string) =>
      (await deliveries.listDeliveries(store.db, 'w1', 2, before)).map(row => row.id);
    expect([await list('z'), await list('d3')]).toEqual([['d4', 'd3'], ['d1']]);
    expect(await deliveries.findDelivery(store.db, 'd2')).toEqual({
      id: 'd2',
      eventId: 'd2',
      webhookId: 'w2',
      type: 'approval.created',
      referenceId: 'approval d2',
      status: 'pending',
      nextAttemptAt: NOW,
    });
    expect(await deliveries.findDelivery(store.db, 'unknown')).toBeNull();
    const since = async (after: string, limit: number) =>
      (await deliveries.listEventsSince(store.db, after, limit)).map(row => row.id);
    expect([await since('d2', 9), await since('', 1)]).toEqual([['d4', 'd3'], ['d4']]);
    const body = JSON.parse((await deliveries.findEventBody(store.db, 'd3')) ?? '');
    expect(body.data.referenceId).toBe('approval d3');
    expect(await deliveries.findEventBody(store.db, 'unknown')).toBeNull();
  });

  test('deliveries are counted by state from an id on, and the oldest that waits is known', async () => {
    await add(['d1', 'w1', NOW + 9], ['d2', 'w1', NOW + 8], ['d3', 'w1', NOW + 7], ['d4', 'w1', NOW + 6]);
    await attempt('d1', 'failed', null);
    await attempt('d4', 'delivered', null);
    const tally = async (firstId: string) =>
      (await deliveries.deliveryTally(store.db, firstId)).sort((a, b) => a.status.localeCompare(b.status));
    expect(await tally('d2')).toEqual([
      { status: 'delivered', count: 1 },
      { status: 'pending', count: 2 },
    ]);
    expect(await deliveries.oldestPending(store.db)).toBe(NOW + 8);
    await add();
    expect(await deliveries.oldestPending(store.db)).toBeNull();
  });

  test('failures of a webhook are counted since its last success', async () => {
    await add(['d1', 'w1', NOW], ['d2', 'w1', NOW], ['d3', 'w1', NOW], ['d4', 'w1', NOW], ['d5', 'w2', NOW]);
    expect(await deliveries.countFailures(store.db, 'w1')).toBe(0);
    await attempt('d1', 'failed', null);
    await attempt('d2', 'delivered', null);
    expect(await deliveries.countFailures(store.db, 'w1')).toBe(0);
    for (const id of ['a', 'b']) await attempt('d3', 'pending', NOW + 1, id);
    await attempt('d4', 'failed', null, 'c');
    expect(await deliveries.countFailures(store.db, 'w1')).toBe(3);
    expect(await deliveries.countFailures(store.db, 'w2')).toBe(0);
  });

  test('webhooks that are deleted or switched off get nothing', async () => {
    const { db } = store;
    const webhook = (id: string) => ({
      id,
      url: 'https://example.com',
      keyId: id === 'w2' ? 'key-2' : null,
      events: ['approval.created'],
      secretEncrypted: 's',
      previousSecretEncrypted: null,
      previousSecretUntil: null,
      createdAt: NOW,
      disabledAt: null,
      disabledReason: null,
    });
    for (const id of ['w1', 'w2', 'w3', 'w4']) await insertWebhook(db, webhook(id));
    await markWebhookDeleted(db, 'w1', NOW);
    await updateWebhook(db, { ...webhook('w3'), disabledAt: NOW });
    const subscribers = await deliveries.listSubscribers(db);
    expect(subscribers.sort((a, b) => (a.webhookId < b.webhookId ? -1 : 1))).toEqual([
      { webhookId: 'w2', keyId: 'key-2', events: '["approval.created"]' },
      { webhookId: 'w4', keyId: null, events: '["approval.created"]' },
    ]);
  });
});
