// Messages that were posted and have to be changed: when one is due, who holds a lease, and that no change is lost when
// the question ends while a message is being posted or changed.

import { expect, test } from 'bun:test';
import { dropNotifications, insertNotification } from '../../src/store/notifications.ts';
import {
  anyChangeDue,
  changeMessages,
  type LeasedMessage,
  leaseMessages,
  postedTo,
  recordChanged,
  recordPosted,
} from '../../src/store/posted-messages.ts';
import { until } from '../support/faults.ts';
import { NOW, onEachEngine } from './stores.ts';

const LEASE = 1000;

await onEachEngine(store => {
  async function asked(...ids: string[]): Promise<void> {
    await store.db.run('DELETE FROM notifications');
    await store.db.transaction({}, async tx => {
      for (const id of ids) {
        const about = { approvalId: 'a1', keyId: 'key-1', tokenEncrypted: 'token', createdAt: NOW };
        insertNotification(tx, { id, channel: id.startsWith('mail') ? 'email' : 'slack', ...about });
      }
    });
  }
  const lease = (now: number, limit = 10) =>
    store.db.transaction({}, tx => leaseMessages(tx, now, now + LEASE, limit));
  const leaseOne = async (now: number) => (await lease(now))[0] as LeasedMessage;
  const ends = (now: number) => store.db.transaction({}, async tx => dropNotifications(tx, 'a1', now));
  const votes = (now: number) => store.db.transaction({}, async tx => changeMessages(tx, 'a1', now));
  const rows = () =>
    store.db.all(
      'SELECT id, status, token_sealed AS token, close_at AS due, last_error AS error FROM notifications ORDER BY id',
    );

  test('what was posted is changed when the question ends, and what was only mailed is not', async () => {
    await asked('mail', 'slack-1', 'slack-2');
    await recordPosted(store.db, 'slack-1', 'C1/1.1', NOW);
    expect(await postedTo(store.db, 'a1', 'C1/1.1')).not.toBeNull();
    expect(await postedTo(store.db, 'a1', 'C1/1.2')).toBeNull();
    expect(await postedTo(store.db, 'a2', 'C1/1.1')).toBeNull();
    expect(await anyChangeDue(store.db, NOW + LEASE)).toBe(false);
    await ends(NOW + 5);
    expect(await rows()).toEqual([
      { id: 'mail', status: 'dropped', token: null, due: null, error: null },
      { id: 'slack-1', status: 'sent', token: null, due: NOW + 5, error: null },
      { id: 'slack-2', status: 'dropped', token: null, due: null, error: null },
    ]);
    expect(await anyChangeDue(store.db, NOW + 4)).toBe(false);
    expect(await anyChangeDue(store.db, NOW + 5)).toBe(true);
    expect(await leaseOne(NOW + 5)).toEqual({
      id: 'slack-1',
      approvalId: 'a1',
      channelName: null,
      place: 'C1/1.1',
      dueAt: NOW + 5,
      attempts: 0,
    });
  });

  test('a question that ends while its message is being posted changes it as soon as it is', async () => {
    await asked('slack-1');
    await ends(NOW + 1);
    expect(await lease(NOW + 9)).toEqual([]);
    await recordPosted(store.db, 'slack-1', 'C1/1.1', NOW + 10);
    expect(await leaseOne(NOW + 10)).toMatchObject({ id: 'slack-1', dueAt: NOW + 10 });
  });

  test('one at a time holds a message, and a lease ends by itself', async () => {
    await asked('slack-1', 'slack-2');
    await recordPosted(store.db, 'slack-1', 'C1/1.1', NOW);
    await recordPosted(store.db, 'slack-2', 'C1/1.2', NOW);
    await ends(NOW);
    expect(await lease(NOW, 1)).toHaveLength(1);
    expect(await lease(NOW)).toHaveLength(1);
    expect(await anyChangeDue(store.db, NOW + LEASE - 1)).toBe(false);
    expect(await lease(NOW + LEASE)).toHaveLength(2);
  });

  test('a failed change is tried again, and counted; a done one is over', async () => {
    await asked('slack-1');
    await recordPosted(store.db, 'slack-1', 'C1/1.1', NOW);
    await ends(NOW);
    await recordChanged(store.db, await leaseOne(NOW), { againAt: NOW + 50, error: 'no answer' });
    expect(await rows()).toMatchObject([{ due: NOW + 50, error: 'no answer' }]);
    const again = await leaseOne(NOW + 50);
    expect(again.attempts).toBe(1);
    await recordChanged(store.db, again, { againAt: null, error: null });
    expect(await rows()).toMatchObject([{ status: 'sent', due: null, error: null }]);
  });

  test('what happens while a message is being changed changes it once more, also in the same millisecond', async () => {
    await asked('slack-1');
    await recordPosted(store.db, 'slack-1', 'C1/1.1', NOW);
    for (const later of [0, 7]) {
      await votes(NOW);
      const leased = await leaseOne(NOW + LEASE);
      await ends(NOW + later);
      await recordChanged(store.db, leased, { againAt: null, error: null });
      const again = await leaseOne(NOW + LEASE);
      expect(again).toMatchObject({ id: 'slack-1', attempts: 0 });
      expect(again.dueAt).not.toBe(leased.dueAt);
      await recordChanged(store.db, again, { againAt: null, error: null });
    }
  });

  test('a question that ends in the middle of the mark that a message was posted waits for it', async () => {
    // SQLite has one writer, so nothing can be in the middle of something else.
    if (store.engine === 'sqlite') return;
    await asked('slack-1');
    const marked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const marking = store.db.transaction({}, async tx => {
      await recordPosted(tx, 'slack-1', 'C1/1.1', NOW);
      marked.resolve();
      await goOn.promise;
    });
    await marked.promise;
    const ending = ends(NOW + 1);
    const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await until('the end waits', async () => (await store.db.all(waiting)).length === 1);
    goOn.resolve();
    await Promise.all([marking, ending]);
    expect(await leaseOne(NOW + 1)).toMatchObject({ id: 'slack-1', place: 'C1/1.1', dueAt: NOW + 1 });
  });
});
