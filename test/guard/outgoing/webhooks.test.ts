// Webhooks on either engine, with time in the test's hands: what changing one does to it, to what waits for it and to
// the log of changes, and to no other; and what each answer of a receiver makes of a delivery.

import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Deps } from '../../../src/guard/deps.ts';
import { newId } from '../../../src/guard/ids.ts';
import { deliver } from '../../../src/guard/outgoing/deliver.ts';
import { emit } from '../../../src/guard/outgoing/outbox.ts';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  liveSecrets,
  redeliver,
  requireWebhook,
  rotateSecret,
  type WebhookInput,
} from '../../../src/guard/outgoing/webhooks.ts';
import { listChanges } from '../../../src/store/changes.ts';
import { listSubscribers } from '../../../src/store/deliveries.ts';
import { insertKey } from '../../../src/store/keys.ts';
import { approvalRecord, keyRecord, NOW, openStore, type TestStore } from '../../store/stores.ts';
import { type Manner, Receiver } from '../../support/receiver.ts';
import { engines } from '../../support/service.ts';
import { depsAt } from '../deps.ts';

const RULES = { allowPrivate: true };
const DAY = 24 * 3_600_000;
const CREATED = ['approval.created'];

let manner: Manner = 200;
/** What happens while the receiver has a request. */
let meanwhile: () => Promise<unknown> = async () => {};
const receiver = await Receiver.start(async () => {
  await meanwhile();
  return manner;
});
afterAll(() => receiver.close());

interface Row {
  id: string;
  status: string;
  attempts: number;
  next: number | null;
}

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let now: number;
    let deps: Deps;
    beforeEach(async () => {
      store = await openStore(engine);
      now = NOW;
      manner = 200;
      meanwhile = async () => {};
      receiver.arrivals.length = 0;
      deps = depsAt(store.db, () => now);
      await store.db.transaction({}, tx => insertKey(tx, keyRecord({ id: 'key-1' }), 'hash'));
    });
    afterEach(() => store.close());

    const create = async (more: Partial<WebhookInput> = {}) =>
      createWebhook(deps, 'admin', RULES, { url: receiver.url, keyId: null, events: CREATED, ...more });
    const newWebhook = async (more: Partial<WebhookInput> = {}) => (await create(more)).webhook.id;
    const change = (id: string, input: Parameters<typeof changeWebhook>[4]) =>
      changeWebhook(deps, 'operator:eve@example.com', RULES, id, input);
    const happens = (keyId = 'key-1', type: 'approval.created' | 'approval.resolved' = 'approval.created') =>
      store.db.transaction({}, async tx =>
        emit(tx, await listSubscribers(tx), type, approvalRecord({ keyId }), now),
      );
    const deliveries = (webhookId: string) =>
      store.db.all<Row>(
        'SELECT id, status, attempts, next_attempt_at AS next FROM deliveries WHERE webhook_id = $1 ORDER BY id',
        [webhookId],
      );
    const statuses = async (webhookId: string) => (await deliveries(webhookId)).map(each => each.status);
    const changes = async (target: string) =>
      (await listChanges(store.db, 100, 'z'))
        .filter(each => each.target === target)
        .map(({ actor, action, detail }) => [actor, action, detail])
        .reverse();
    const codeOf = (work: Promise<unknown>) => work.then(() => 'done').catch(error => error.code);

    test('one is made for a key that there is and an address that may be called, and that is recorded', async () => {
      const { webhook } = await create({ keyId: 'key-1' });
      expect(await requireWebhook(store.db, webhook.id)).toEqual(webhook);
      expect(await changes(webhook.id)).toEqual([
        ['admin', 'webhook.create', { host: new URL(receiver.url).host, keyId: 'key-1' }],
      ]);
      expect(await codeOf(create({ keyId: 'nobody' }))).toBe('invalid_input');
      expect(await codeOf(create({ url: 'http://169.254.169.254/' }))).toBe('invalid_input');
      expect(await codeOf(change(webhook.id, { keyId: 'nobody' }))).toBe('invalid_input');
      expect(await codeOf(change(webhook.id, { url: 'http://169.254.169.254/' }))).toBe('invalid_input');
      expect(await codeOf(change(newId(), {}))).toBe('not_found');
    });

    test('an event goes to webhooks that subscribed to it and to its key, or to all keys', async () => {
      const all = await newWebhook();
      const ours = await newWebhook({ keyId: 'key-1' });
      const other = await newWebhook({ events: ['approval.resolved'] });
      await happens();
      await happens('key-2');
      await happens('key-2', 'approval.resolved');
      const counts = [all, ours, other].map(async id => (await deliveries(id)).length);
      expect(await Promise.all(counts)).toEqual([2, 1, 1]);
    });

    test('switching one off fails what waits for it, once, and for no other; switching it on does not', async () => {
      const [id, other] = [await newWebhook(), await newWebhook()];
      await happens();
      const off = await change(id, { enabled: false });
      expect(off).toMatchObject({ disabledAt: NOW, disabledReason: 'switched off by an operator' });
      expect(await requireWebhook(store.db, id)).toEqual(off);
      expect([await statuses(id), await statuses(other)]).toEqual([['failed'], ['pending']]);
      now += 1000;
      expect(await change(id, { enabled: false, events: [] })).toMatchObject({ disabledAt: NOW, events: [] });
      const on = await change(id, { enabled: true });
      expect([on.disabledAt, on.disabledReason]).toEqual([null, null]);
      expect(await requireWebhook(store.db, id)).toEqual(on);
      const eve = 'operator:eve@example.com';
      expect((await changes(id)).slice(1)).toEqual([
        [eve, 'webhook.update', { changed: ['enabled'] }],
        [eve, 'webhook.disable', { reason: 'switched off by an operator' }],
        [eve, 'webhook.update', { changed: ['enabled', 'events'] }],
        [eve, 'webhook.update', { changed: ['enabled'] }],
      ]);
    });

    test('what is changed while it is off leaves it off, and what is on stays on', async () => {
      const id = await newWebhook();
      expect((await change(id, { events: [] })).disabledAt).toBeNull();
      await change(id, { enabled: false });
      now += 1000;
      expect((await change(id, { events: CREATED })).disabledAt).toBe(NOW);
    });

    test('deleting one fails what waits for it and for no other, and it is gone', async () => {
      const [id, other] = [await newWebhook(), await newWebhook()];
      await happens();
      await deleteWebhook(deps, 'admin', id);
      expect([await statuses(id), await statuses(other)]).toEqual([['failed'], ['pending']]);
      expect(await codeOf(requireWebhook(store.db, id))).toBe('not_found');
      expect((await changes(id)).at(-1)).toEqual([
        'admin',
        'webhook.delete',
        { host: new URL(receiver.url).host },
      ]);
    });

    test('after a rotation the secret before signs too for a day, to the millisecond', async () => {
      const made = await create();
      const secrets = async () =>
        liveSecrets(deps.vault, await requireWebhook(store.db, made.webhook.id), now);
      expect(await secrets()).toEqual([made.secret]);
      const rotated = await rotateSecret(deps, 'admin', made.webhook.id);
      now = NOW + DAY - 1;
      expect(await secrets()).toEqual([rotated.secret, made.secret]);
      now = NOW + DAY;
      expect(await secrets()).toEqual([rotated.secret]);
      expect((await changes(made.webhook.id)).at(-1)).toEqual(['admin', 'webhook.rotate-secret', {}]);
      await store.db.run("UPDATE webhooks SET previous_secret_sealed = 'damaged'");
      now = NOW;
      expect(await secrets()).toEqual([rotated.secret]);
    });

    test('a delivery is sent again when that is asked for, unless its webhook is off or gone', async () => {
      const id = await newWebhook();
      await happens();
      await change(id, { enabled: false });
      const [delivery] = await deliveries(id);
      const again = () => redeliver(deps, 'admin', delivery?.id ?? '');
      expect(await codeOf(again())).toBe('conflict');
      expect(await codeOf(redeliver(deps, 'admin', newId()))).toBe('not_found');
      await change(id, { enabled: true });
      now += 1000;
      await again();
      expect(await deliveries(id)).toMatchObject([{ status: 'pending', next: now }]);
      expect(await changes(delivery?.id ?? '')).toEqual([['admin', 'delivery.redeliver', { webhookId: id }]]);
      await deleteWebhook(deps, 'admin', id);
      expect(await codeOf(again())).toBe('conflict');
    });

    /** Sends the first delivery that waits for a webhook, and says what is recorded of the attempt. */
    async function attempt(webhookId: string) {
      const [{ id, eventId, attempts } = { id: '', eventId: '', attempts: 0 }] = await store.db.all<{
        id: string;
        eventId: string;
        attempts: number;
      }>(
        'SELECT id, event_id AS "eventId", attempts FROM deliveries WHERE webhook_id = $1 ORDER BY id LIMIT 1',
        [webhookId],
      );
      await deliver(deps, RULES, webhookId, { id, eventId, attempts });
      const rows = await store.db.all(
        'SELECT at, status, error, response FROM attempts WHERE delivery_id = $1 ORDER BY id DESC LIMIT 1',
        [id],
      );
      return rows[0];
    }

    for (const [status, good] of [
      [200, true],
      [299, true],
      [300, false],
      [404, false],
      [500, false],
    ] as const) {
      test(`an answer of ${status} is ${good ? 'the end' : 'not, and a second later it is tried again'}`, async () => {
        const id = await newWebhook();
        await happens();
        manner = status;
        expect(await attempt(id)).toEqual({
          at: NOW,
          status,
          error: good ? null : `answered ${status}`,
          response: `answered ${status}`,
        });
        const [row] = await deliveries(id);
        expect(row).toMatchObject({ status: good ? 'delivered' : 'pending', attempts: 1 });
        if (good) expect(row?.next).toBeNull();
        else expect(Math.abs((row?.next ?? 0) - (NOW + 1000))).toBeLessThanOrEqual(200);
      });
    }

    test('a receiver that gives no answer, or may not be called any more, is tried again, and why is recorded', async () => {
      const id = await newWebhook();
      await happens();
      manner = 'reset';
      const begun = performance.now();
      expect(await attempt(id)).toMatchObject({ status: null, error: 'connection reset', response: null });
      await store.db.run("UPDATE webhooks SET url = 'http://169.254.169.254/'");
      expect(await attempt(id)).toMatchObject({
        status: null,
        error: expect.stringContaining('link-local'),
        response: null,
      });
      expect(await deliveries(id)).toMatchObject([{ status: 'pending', attempts: 2 }]);
      const [took] = await store.db.all<{ ms: number }>('SELECT max(duration_ms) AS ms FROM attempts');
      expect(took?.ms).toBeLessThanOrEqual(Math.ceil(performance.now() - begun));
    });

    test('the answer 410 is the end for the webhook and all that waits for it, and for no other', async () => {
      const [id, other] = [await newWebhook(), await newWebhook()];
      await happens();
      await happens();
      manner = 410;
      await attempt(id);
      const reason = 'its receiver answered 410 Gone';
      expect(await requireWebhook(store.db, id)).toMatchObject({ disabledAt: NOW, disabledReason: reason });
      expect(await statuses(id)).toEqual(['failed', 'failed']);
      expect((await requireWebhook(store.db, other)).disabledAt).toBeNull();
      expect(await statuses(other)).toEqual(['pending', 'pending']);
      expect((await changes(id)).at(-1)).toEqual(['system', 'webhook.disable', { reason }]);
    });

    test('who switches a webhook off while its receiver answers 410 is who did it', async () => {
      const id = await newWebhook();
      await happens();
      manner = 410;
      meanwhile = async () => {
        await change(id, { enabled: false });
        now += 1000;
      };
      await attempt(id);
      const reason = 'switched off by an operator';
      expect(await requireWebhook(store.db, id)).toMatchObject({ disabledAt: NOW, disabledReason: reason });
      expect((await changes(id)).map(each => each[1])).toEqual([
        'webhook.create',
        'webhook.update',
        'webhook.disable',
      ]);
    });

    test('nothing is sent to a webhook that was switched off, or that is gone, and that is recorded', async () => {
      const [off, gone] = [await newWebhook(), await newWebhook()];
      await happens();
      await change(off, { enabled: false });
      await deleteWebhook(deps, 'admin', gone);
      for (const id of [off, gone]) {
        expect(await attempt(id)).toMatchObject({ status: null, error: 'the webhook is switched off' });
        expect(await deliveries(id)).toMatchObject([{ status: 'failed', next: null }]);
      }
      expect(receiver.arrivals).toEqual([]);
    });
  });
}
