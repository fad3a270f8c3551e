// The background loop on either engine, with receivers that answer when the test lets them: how much goes to one
// receiver at a time, what a stop waits for, whose lease holds, and what becomes of what cannot be decrypted.

import { afterAll, describe, expect, test } from 'bun:test';
import { ATTEMPT_WAITS } from '../../../src/core/approvals/event.ts';
import { lapses } from '../../../src/guard/approvals/approvals.ts';
import { type NotifySettings, notifications } from '../../../src/guard/approvals/notify/notify.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { deliveries } from '../../../src/guard/outgoing/deliver.ts';
import { emit } from '../../../src/guard/outgoing/outbox.ts';
import { ATTEMPT_MS } from '../../../src/guard/outgoing/send.ts';
import { createWebhook, rotateSecret } from '../../../src/guard/outgoing/webhooks.ts';
import { Worker } from '../../../src/guard/outgoing/worker.ts';
import { mintToken } from '../../../src/guard/secrets.ts';
import { insertApproval } from '../../../src/store/approvals.ts';
import { leaseDeliveries, listSubscribers } from '../../../src/store/deliveries.ts';
import type { Db } from '../../../src/store/engine/db.ts';
import { insertNotification, leaseNotifications } from '../../../src/store/notifications.ts';
import { approvalRecord, NOW, openStore } from '../../store/stores.ts';
import { inTime, until } from '../../support/faults.ts';
import { Receiver } from '../../support/receiver.ts';
import { type Engine, engines } from '../../support/service.ts';
import { depsAt } from '../deps.ts';

const RULES = { allowPrivate: true };
const POLL_MS = 1000;
const PER_TARGET = 4;
const EVENTS = 10;
/** A stop waits no longer than this: a machine that stalls for so long has to be asked again. */
const STOP_MS = 3000;

const receivers: Receiver[] = [];
afterAll(() => Promise.all(receivers.map(each => each.close())));

/** A worker on a store with one webhook, whose receiver answers once it is let. */
class Desk {
  now = NOW;
  readonly db: Db;
  readonly deps: Deps;
  readonly worker: Worker;
  readonly receiver: Receiver;
  readonly again: () => Promise<Db>;
  readonly close: () => Promise<void>;
  readonly failures: unknown[] = [];
  readonly notified: [string, string | null][] = [];
  readonly #let = Promise.withResolvers<number>();
  webhookId = '';

  private constructor(store: Awaited<ReturnType<typeof openStore>>, receiver: Receiver) {
    this.db = store.db;
    this.again = store.again;
    this.close = store.close;
    this.receiver = receiver;
    receiver.answer = () => this.#let.promise;
    this.deps = depsAt(store.db, () => this.now);
    const settings: NotifySettings = {
      publicUrl: 'http://127.0.0.1',
      smtpUrl: null,
      mailFrom: null,
      approverEmails: [],
      slackWebhookUrl: null,
      slack: null,
      notifyUrl: receiver.url,
      channels: {},
      rules: RULES,
      print: async () => {},
    };
    const jobs = [
      lapses(this.deps),
      notifications(this.deps, settings, ({ channel }, error) => this.notified.push([channel, error])),
      deliveries(this.deps, RULES, () => {}),
    ];
    this.worker = new Worker(this.deps, jobs, error => this.failures.push(error));
  }

  static async open(engine: Engine): Promise<Desk> {
    const receiver = await Receiver.start();
    receivers.push(receiver);
    const desk = new Desk(await openStore(engine), receiver);
    const input = { url: receiver.url, keyId: null, events: ['approval.created'] };
    desk.webhookId = (await createWebhook(desk.deps, 'admin', RULES, input)).webhook.id;
    return desk;
  }

  letAnswer(): void {
    this.#let.resolve(200);
  }

  async emit(count: number): Promise<void> {
    await this.db.transaction({}, async tx => {
      const subscribers = await listSubscribers(tx);
      for (let n = 0; n < count; n++) {
        emit(tx, subscribers, 'approval.created', approvalRecord(), this.now);
      }
    });
  }

  /** A question with its notification. */
  async ask(): Promise<void> {
    const approval = approvalRecord();
    const asked = { ...notification(), approvalId: approval.id };
    const tokenEncrypted = this.deps.vault.encrypt(mintToken('approval').token, `notification ${asked.id}`);
    await this.db.transaction({}, async tx => {
      insertApproval(tx, approval, 'hash');
      insertNotification(tx, { ...asked, tokenEncrypted });
    });
  }

  async count(from: string): Promise<number> {
    const [row] = await this.db.all<{ count: number }>(`SELECT count(*) AS count FROM ${from}`);
    return Number(row?.count);
  }

  leased(): Promise<number> {
    return this.count('deliveries WHERE leased_until > 0');
  }
}

for (const engine of await engines()) {
  describe(engine, () => {
    test('one receiver is sent a few at a time; room that an answer frees is used for the rest', async () => {
      const desk = await Desk.open(engine);
      await desk.emit(EVENTS);
      await desk.worker.tick();
      expect(await desk.leased()).toBe(PER_TARGET);
      await until('they arrived', () => desk.receiver.events.length === PER_TARGET);
      await desk.worker.tick();
      expect(await desk.leased()).toBe(PER_TARGET);
      desk.letAnswer();
      for (let rounds = 0; rounds < EVENTS; rounds++) {
        await desk.worker.idle();
        await desk.worker.tick();
      }
      await desk.worker.idle();
      expect(desk.receiver.events).toHaveLength(EVENTS);
      expect(await desk.count(`deliveries WHERE status = 'delivered'`)).toBe(EVENTS);
      expect(desk.failures).toEqual([]);
      await desk.close();
    });

    test('a stop waits for the attempts under way, and begins no other', async () => {
      const stop = async () => {
        const desk = await Desk.open(engine);
        await desk.emit(EVENTS);
        desk.worker.start();
        await until('attempts are under way', () => desk.receiver.events.length === PER_TARGET);
        const begun = performance.now();
        const stopped = desk.worker.stop();
        desk.letAnswer();
        await stopped;
        const late = performance.now() - begun < STOP_MS ? 0 : 1;
        // What is left is due, and the worker is told so: time enough to begin with it.
        desk.db.wake();
        for (let turn = 0; turn < 50; turn++) await desk.leased();
        const made = await desk.count('attempts');
        const untouched = await desk.count(`deliveries WHERE status = 'pending' AND attempts = 0`);
        const { length: arrived } = desk.receiver.events;
        await desk.worker.idle();
        await desk.close();
        return { late, made, untouched, arrived };
      };
      expect(await inTime(stop)).toEqual({
        late: 0,
        made: PER_TARGET,
        untouched: EVENTS - PER_TARGET,
        arrived: PER_TARGET,
      });
    });

    test('what is leased is leased to nobody else until its time is over', async () => {
      const desk = await Desk.open(engine);
      // The earlier ones are leased first, and must not stand before the later ones then.
      desk.now = NOW - 1000;
      await desk.emit(6);
      desk.now = NOW;
      await desk.emit(EVENTS - 6);
      await desk.db.transaction({}, async tx => {
        for (let n = 0; n < 2; n++) insertNotification(tx, notification());
      });
      const lease = (at: number) =>
        desk.db.transaction({}, async tx => ({
          deliveries: (await leaseDeliveries(tx, desk.webhookId, at, at + 1000, 6)).map(each => each.id),
          notifications: (await leaseNotifications(tx, TARGET, at, at + 1000, 1)).map(each => each.id),
        }));
      const [first, second, third] = [await lease(NOW), await lease(NOW), await lease(NOW + 999)];
      expect([first.deliveries.length, second.deliveries.length, third.deliveries.length]).toEqual([6, 4, 0]);
      expect(new Set([...first.deliveries, ...second.deliveries]).size).toBe(EVENTS);
      expect(new Set([...first.notifications, ...second.notifications]).size).toBe(2);
      expect(third.notifications).toEqual([]);
      expect((await lease(NOW + 1000)).deliveries).toHaveLength(6);
      await desk.close();
    });

    test('a lease outlives the attempt, so that no other replica sends what may still arrive', async () => {
      const desk = await Desk.open(engine);
      await desk.emit(1);
      await desk.ask();
      await desk.worker.tick();
      await until('both arrived', () => desk.receiver.arrivals.length === 2);
      for (const table of ['deliveries', 'notifications']) {
        const [lease] = await desk.db.all<{ until: number }>(`SELECT leased_until AS until FROM ${table}`);
        expect(lease?.until).toBeGreaterThan(NOW + ATTEMPT_MS);
      }
      desk.letAnswer();
      await desk.worker.idle();
      expect(desk.notified).toEqual([['http', null]]);
      await desk.close();
    });

    test('a worker goes on with what comes later, also after the store failed it', async () => {
      const desk = await Desk.open(engine);
      desk.letAnswer();
      desk.worker.start();
      await desk.emit(1);
      await until('the first arrived', () => desk.receiver.events.length === 1);
      await desk.worker.idle();
      await desk.db.run('ALTER TABLE approvals RENAME TO elsewhere');
      await until('a failure is told', () => desk.failures.length > 0);
      await desk.db.run('ALTER TABLE elsewhere RENAME TO approvals');
      await desk.emit(1);
      await until('the second arrived', () => desk.receiver.events.length === 2);
      await desk.worker.stop();
      await desk.close();
    });

    test('a delivery whose secret cannot be decrypted is tried by the schedule, recorded, and ends as failed', async () => {
      const desk = await Desk.open(engine);
      desk.letAnswer();
      await desk.db.run(`UPDATE webhooks SET secret_sealed = 'damaged'`);
      await desk.emit(1);
      for (let n = 0; n < ATTEMPT_WAITS.length; n++) {
        await desk.worker.tick();
        await desk.worker.idle();
        expect(await desk.count('attempts')).toBe(n + 1);
        const [{ next } = { next: null }] = await desk.db.all<{ next: number | null }>(
          'SELECT next_attempt_at AS next FROM deliveries',
        );
        desk.now = next ?? desk.now;
      }
      expect(await desk.count(`deliveries WHERE status = 'failed'`)).toBe(1);
      expect(await desk.count(`attempts WHERE error LIKE '%cannot be decrypted%rotate it'`)).toBe(
        ATTEMPT_WAITS.length,
      );
      expect(desk.receiver.events).toEqual([]);
      expect(desk.failures).toEqual([]);
      await rotateSecret(desk.deps, 'admin', desk.webhookId);
      await desk.emit(1);
      await desk.worker.tick();
      await desk.worker.idle();
      expect(await desk.count(`deliveries WHERE status = 'delivered'`)).toBe(1);
      await desk.close();
    });

    test('a notification whose link cannot be decrypted is tried by the schedule, recorded, and ends as failed', async () => {
      const desk = await Desk.open(engine);
      desk.letAnswer();
      const approval = approvalRecord({ expiresAt: NOW + 3000 });
      await desk.db.transaction({}, async tx => {
        insertApproval(tx, approval, 'hash');
        insertNotification(tx, { ...notification(), approvalId: approval.id });
      });
      await desk.worker.tick();
      await desk.worker.idle();
      const shown = () =>
        desk.db.all(
          'SELECT status, attempts, last_error AS error, leased_until AS leased FROM notifications',
        );
      const error = expect.stringContaining('cannot be decrypted');
      expect(await shown()).toEqual([{ status: 'pending', attempts: 1, error, leased: 0 }]);
      desk.now += 2000;
      await desk.worker.tick();
      await desk.worker.idle();
      expect(await shown()).toEqual([{ status: 'failed', attempts: 2, error, leased: 0 }]);
      expect(desk.receiver.arrivals).toEqual([]);
      expect(desk.failures).toEqual([]);
      await desk.close();
    });
  });
}

test('between two looks it rests for a second, also when they fail', async () => {
  const desk = await Desk.open('sqlite');
  await desk.db.run('ALTER TABLE approvals RENAME TO elsewhere');
  const begun = performance.now();
  desk.worker.start();
  await until('three looks failed', () => desk.failures.length >= 3);
  // The first comes at once. A timer may come some milliseconds early by this clock.
  expect(performance.now() - begun).toBeGreaterThan(2 * POLL_MS - 100);
  await desk.worker.stop();
  await desk.close();
});

const TARGET = { keyId: 'key-1', channel: 'http', channelName: null } as const;
const notification = () => ({
  id: Bun.randomUUIDv7(),
  approvalId: Bun.randomUUIDv7(),
  ...TARGET,
  tokenEncrypted: 'damaged',
  createdAt: NOW,
});

if ((await engines()).includes('postgres')) {
  test('of two replicas that lease at the same moment, each gets what the other does not', async () => {
    const desk = await Desk.open('postgres');
    await desk.emit(EVENTS);
    const other = await desk.again();
    const held = Promise.withResolvers<void>();
    const took = Promise.withResolvers<void>();
    const lease = (tx: Parameters<typeof leaseDeliveries>[0]) =>
      leaseDeliveries(tx, desk.webhookId, NOW, NOW + 1000, PER_TARGET);
    const first = desk.db.transaction({}, async tx => {
      const leased = await lease(tx);
      took.resolve();
      await held.promise;
      return leased;
    });
    await took.promise;
    const second = other.transaction({}, lease);
    const waiting = `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await until('the second waits for the first', async () => (await desk.count(waiting)) > 0);
    held.resolve();
    const ids = [...(await first), ...(await second)].map(each => each.id);
    expect(new Set(ids).size).toBe(ids.length);
    await other.close();
    await desk.close();
  });
}
