// Notifications: who is due, who holds a lease and until when, and that a token does not stay longer than needed.

import { expect, test } from 'bun:test';
import * as notifications from '../../src/store/notifications.ts';
import { NOW, onEachEngine } from './stores.ts';

type New = notifications.NewNotification;
const TARGET = { keyId: 'key-1', channel: 'email', channelName: null } as const;
const LEASE = 1000;

const notification = (id: string, more: Partial<New> = {}): New => ({
  id,
  approvalId: 'a1',
  ...TARGET,
  tokenEncrypted: `token of ${id}`,
  createdAt: NOW,
  ...more,
});

await onEachEngine(store => {
  const add = async (...rows: New[]) => {
    await store.db.run('DELETE FROM notifications');
    await store.db.transaction({}, async tx => {
      for (const row of rows) notifications.insertNotification(tx, row);
    });
  };
  const due = async (now: number) =>
    (await notifications.notificationTargetsDue(store.db, now))
      .map(({ keyId, channel, channelName }) =>
        [keyId, channel, channelName].filter(each => each !== null).join(' '),
      )
      .sort();
  const lease = async (now: number, limit = 10, target: notifications.NotificationTarget = TARGET) => {
    const leased = await store.db.transaction({}, tx =>
      notifications.leaseNotifications(tx, target, now, now + LEASE, limit),
    );
    return leased.map(each => each.id).sort();
  };
  const all = async (status: notifications.NotificationStatus | null = null) =>
    notifications.listNotifications(store.db, { status, approvalId: null }, 100, 'z');
  const rows = () =>
    store.db.all<{ id: string; status: string; token: string | null }>(
      'SELECT id, status, token_sealed AS token FROM notifications ORDER BY id',
    );
  const settle = (id: string, status: notifications.NotificationStatus, nextAttemptAt: number | null) =>
    notifications.recordNotificationAttempt(store.db, id, {
      status,
      at: NOW,
      nextAttemptAt,
      error: 'no answer',
    });

  test('a target is due from the very millisecond of an attempt on, and once however many wait', async () => {
    await add(
      notification('n1'),
      notification('n2'),
      notification('n3', { keyId: 'key-2', createdAt: NOW + 1 }),
      notification('n4', { channel: 'slack', createdAt: NOW + 1 }),
    );
    expect(await due(NOW - 1)).toEqual([]);
    expect(await due(NOW)).toEqual(['key-1 email']);
    expect(await due(NOW + 1)).toEqual(['key-1 email', 'key-1 slack', 'key-2 email']);
    await settle('n3', 'sent', null);
    // Nothing but its state says that it is over.
    await store.db.run('UPDATE notifications SET next_attempt_at = $1 WHERE id = $2', [NOW, 'n3']);
    expect(await due(NOW + 1)).toEqual(['key-1 email', 'key-1 slack']);
  });

  test('a lease is of one target, and of those that have waited longest', async () => {
    await add(
      notification('n1', { createdAt: NOW + 2 }),
      notification('n2', { createdAt: NOW + 1 }),
      notification('n3', { keyId: 'key-2' }),
      notification('n4', { channel: 'slack' }),
      notification('n5', { createdAt: NOW + 3 }),
    );
    expect(await lease(NOW)).toEqual([]);
    expect(await lease(NOW + 2, 1)).toEqual(['n2']);
    expect(await lease(NOW + 2)).toEqual(['n1']);
    expect(await lease(NOW + 3)).toEqual(['n5']);
    expect(await lease(NOW + 3, 10, { ...TARGET, keyId: 'key-2' })).toEqual(['n3']);
  });

  test('each named channel is a target of its own, and may be due later than it was written', async () => {
    await add(
      notification('n1'),
      notification('n2', { channelName: 'ops', dueAt: NOW + 5 }),
      notification('n3', { channelName: 'default' }),
      notification('n4', { channelName: 'ops', dueAt: NOW + 6 }),
    );
    expect(await due(NOW)).toEqual(['key-1 email', 'key-1 email default']);
    expect(await due(NOW + 5)).toEqual(['key-1 email', 'key-1 email default', 'key-1 email ops']);
    expect(await lease(NOW + 5)).toEqual(['n1']);
    expect(await lease(NOW + 5, 10, { ...TARGET, channelName: 'ops' })).toEqual(['n2']);
    expect(await lease(NOW + 5, 10, { ...TARGET, channelName: 'default' })).toEqual(['n3']);
    // What `default` consists of is shown as it is without names.
    expect((await all()).map(each => [each.channel, each.createdAt, each.nextAttemptAt])).toEqual([
      ['ops', NOW, NOW + 6],
      ['email', NOW, NOW],
      ['ops', NOW, NOW + 5],
      ['email', NOW, NOW],
    ]);
  });

  test('nobody else takes what is leased, until the lease ends', async () => {
    await add(notification('n1'));
    const [leased] = await store.db.transaction({}, tx =>
      notifications.leaseNotifications(tx, TARGET, NOW, NOW + LEASE, 1),
    );
    expect(leased).toEqual({
      id: 'n1',
      approvalId: 'a1',
      channel: 'email',
      channelName: null,
      tokenEncrypted: 'token of n1',
      attempts: 0,
    });
    expect([await due(NOW + LEASE - 1), await lease(NOW + LEASE - 1)]).toEqual([[], []]);
    expect(await due(NOW + LEASE)).toEqual(['key-1 email']);
    expect(await lease(NOW + LEASE)).toEqual(['n1']);
  });

  test('what is over is not leased, whatever else its row says', async () => {
    await add(notification('n1'), notification('n2'));
    await settle('n1', 'failed', null);
    await store.db.run('UPDATE notifications SET next_attempt_at = $1', [NOW]);
    expect(await lease(NOW)).toEqual(['n2']);
  });

  test('one that failed for now waits for its next attempt with its token; one that is over has none', async () => {
    await add(notification('n1'), notification('n2'), notification('n3'));
    await lease(NOW);
    await settle('n1', 'pending', NOW + 5);
    await settle('n2', 'sent', null);
    expect(await rows()).toEqual([
      { id: 'n1', status: 'pending', token: 'token of n1' },
      { id: 'n2', status: 'sent', token: null },
      { id: 'n3', status: 'pending', token: 'token of n3' },
    ]);
    expect((await all())[2]).toEqual({
      id: 'n1',
      approvalId: 'a1',
      channel: 'email',
      status: 'pending',
      attempts: 1,
      nextAttemptAt: NOW + 5,
      lastError: 'no answer',
      createdAt: NOW,
      attemptedAt: NOW,
    });
    // Its lease ended with the attempt.
    expect([await lease(NOW + 4), await lease(NOW + 5)]).toEqual([[], ['n1']]);
    // What is over stays so.
    await settle('n2', 'failed', null);
    expect((await all('sent')).map(row => [row.id, row.attempts])).toEqual([['n2', 1]]);
  });

  test('an answered question drops what was not sent, and nothing else', async () => {
    await add(
      notification('n1'),
      notification('n2'),
      notification('n3', { approvalId: 'a2' }),
      notification('n4', { approvalId: 'a2' }),
    );
    await settle('n2', 'sent', null);
    await store.db.transaction({}, async tx => notifications.dropNotifications(tx, 'a1', NOW));
    expect(await rows()).toEqual([
      { id: 'n1', status: 'dropped', token: null },
      { id: 'n2', status: 'sent', token: null },
      { id: 'n3', status: 'pending', token: 'token of n3' },
      { id: 'n4', status: 'pending', token: 'token of n4' },
    ]);
  });

  test('lists are newest first, by status, by approval, or both, page by page', async () => {
    await add(
      notification('n1'),
      notification('n2', { approvalId: 'a2' }),
      notification('n3'),
      notification('n4'),
    );
    await settle('n3', 'sent', null);
    const list = async (
      status: notifications.NotificationStatus | null,
      approvalId: string | null,
      limit = 10,
      before = 'z',
    ) =>
      (await notifications.listNotifications(store.db, { status, approvalId }, limit, before)).map(
        row => row.id,
      );
    expect(await list(null, null)).toEqual(['n4', 'n3', 'n2', 'n1']);
    expect(await list('pending', null)).toEqual(['n4', 'n2', 'n1']);
    expect(await list(null, 'a1')).toEqual(['n4', 'n3', 'n1']);
    expect(await list('pending', 'a1')).toEqual(['n4', 'n1']);
    expect(await list(null, null, 2)).toEqual(['n4', 'n3']);
    expect(await list(null, null, 2, 'n3')).toEqual(['n2', 'n1']);
  });
});
