// How much waits and since when: what counts, and what no longer does.

import { expect, test } from 'bun:test';
import { insertApproval } from '../../src/store/approvals.ts';
import { openApprovals, undelivered, unsentNotifications, unsettledCalls } from '../../src/store/backlogs.ts';
import { insertDelivery } from '../../src/store/deliveries.ts';
import { giveUpExecutions, insertExecutions, settleExecution } from '../../src/store/executions.ts';
import { insertNotification } from '../../src/store/notifications.ts';
import { approvalRecord, idAt, NOW, onEachEngine } from './stores.ts';

const NOTHING = { count: 0, since: null };

await onEachEngine(store => {
  test('approvals count until they are answered or have lapsed', async () => {
    expect(await openApprovals(store.db)).toEqual(NOTHING);
    const rows = [
      { createdAt: NOW - 9000, status: 'timed_out' },
      { createdAt: NOW - 8000, status: 'denied' },
      { createdAt: NOW - 7000, status: 'pending' },
      { createdAt: NOW - 6000, status: 'pending' },
    ] as const;
    await store.db.transaction({}, async tx => {
      for (const [n, row] of rows.entries())
        insertApproval(tx, approvalRecord({ id: idAt(NOW, n), ...row }), `token ${n}`);
    });
    expect(await openApprovals(store.db)).toEqual({ count: 2, since: NOW - 7000 });
  });

  test('events count while they are still tried', async () => {
    expect(await undelivered(store.db)).toEqual(NOTHING);
    const statuses = ['delivered', 'failed', 'pending', 'pending'];
    await store.db.transaction({}, async tx => {
      for (const [n, status] of statuses.entries()) {
        const id = idAt(NOW, n);
        insertDelivery(tx, { id, eventId: id, webhookId: 'webhook', createdAt: NOW + n });
        tx.defer('UPDATE deliveries SET status = $2 WHERE id = $1', [id, status]);
      }
    });
    expect(await undelivered(store.db)).toEqual({ count: 2, since: NOW + 2 });
  });

  test('messages count once they are due, and while they are tried again later', async () => {
    expect(await unsentNotifications(store.db, NOW)).toEqual(NOTHING);
    const about = { approvalId: idAt(NOW), keyId: 'key-1', channel: 'http', tokenEncrypted: 't' } as const;
    const rows = [
      { dueAt: NOW, attempts: 0, status: 'sent' },
      { dueAt: NOW + 1, attempts: 0, status: 'pending' },
      { dueAt: NOW + 1, attempts: 1, status: 'pending' },
      { dueAt: NOW, attempts: 0, status: 'pending' },
    ];
    await store.db.transaction({}, async tx => {
      for (const [n, { dueAt, attempts, status }] of rows.entries()) {
        insertNotification(tx, { id: idAt(NOW, n), createdAt: NOW - 50 + n, dueAt, ...about });
        const changed = 'UPDATE notifications SET attempts = $2, status = $3 WHERE id = $1';
        tx.defer(changed, [idAt(NOW, n), attempts, status]);
      }
    });
    expect(await unsentNotifications(store.db, NOW)).toEqual({ count: 2, since: NOW - 48 });
  });

  test('calls count that nobody knows to have run, until somebody settles them', async () => {
    expect(await unsettledCalls(store.db)).toEqual(NOTHING);
    const ids = [1, 2, 3, 4].map(n => idAt(NOW, n));
    await store.db.transaction({}, async tx => {
      const call = { keyId: 'key-1', processId: 'dead', at: NOW };
      insertExecutions(
        tx,
        ids.map(toolCallId => ({ ...call, toolCallId })),
      );
      for (const [n, id] of ids.slice(1).entries()) await giveUpExecutions(tx, 'dead', [id], NOW + n);
      await settleExecution(tx, ids[1] as string, { ran: true, by: 'admin', at: NOW, note: null });
    });
    expect(await unsettledCalls(store.db)).toEqual({ count: 2, since: NOW + 1 });
  });

  test('the store says how large it is', async () => {
    expect(await store.db.size()).toBeGreaterThan(100_000);
  });
});
