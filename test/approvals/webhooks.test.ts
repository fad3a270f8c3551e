// Webhooks as a receiver meets them: which events, tried again when, and what an operator sees of it. Delivery
// across crashes and the end of the schedule are promises with tests of their own (P9, P10).

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { until } from '../support/faults.ts';
import { type Answering, Receiver, verifies } from '../support/receiver.ts';
import type { TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { ASK_ALL, type Gate, openGate } from './gate.ts';

const receivers: Receiver[] = [];
afterAll(() => Promise.all(receivers.map(each => each.close())));

async function receiver(answer?: Answering): Promise<Receiver> {
  const started = await Receiver.start(answer);
  receivers.push(started);
  return started;
}

async function register(service: TestService, url: string, more: object = {}) {
  const { status, body } = await service.admin('POST', '/webhooks', { url, ...more });
  expect(status).toBe(201);
  return body as { id: string; secret: string };
}

const deliveries = async (service: TestService, id: string) =>
  (await service.admin('GET', `/webhooks/${id}/deliveries`)).body.deliveries;

const types = (arrivals: { json: { type: string } }[]) => arrivals.map(each => each.json.type).sort();

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(`webhooks on ${engine}`, () => {
    let gate: Gate;
    let service: TestService;
    beforeAll(async () => {
      gate = await openGate({ engine });
      service = gate.service;
    });
    afterAll(() => gate.close());

    test('an approval is told when it opens and when it is answered, without its token', async () => {
      const target = await receiver();
      const { id, secret } = await register(service, `${target.url}/hook?x=1`);
      const { key, keyId, policyId } = await service.newKey(ASK_ALL);
      const session = (await service.json('POST', '/v1/sessions', key, { label: 'run' })).body;
      const asked = await gate.ask(session.token);
      await gate.approve(asked.token, '1h');
      await until('both events', () => target.of(asked.referenceId).length === 2);
      // Two deliveries, which may overtake each other.
      const told = (type: string) => target.of(asked.referenceId).find(each => each.json.type === type);
      const [created, resolved] = [told('approval.created'), told('approval.resolved')];
      for (const arrival of [created, resolved]) {
        expect(arrival?.method).toBe('POST');
        expect(arrival?.path).toBe('/hook?x=1');
        expect(arrival?.headers['content-type']).toBe('application/json');
        expect(arrival && verifies(secret, arrival)).toBe(true);
        expect(arrival?.text).not.toContain(asked.token);
      }
      const facts = {
        referenceId: asked.referenceId,
        toolCallId: expect.any(String),
        policyId,
        keyId,
        sessionId: session.id,
        surface: 'check',
        serverName: 'prod',
        toolName: 'deploy',
        reason: expect.stringContaining('requires approval for prod__deploy'),
        note: null,
        approverGroup: null,
        createdAt: expect.any(String),
        expiresAt: expect.any(String),
      };
      const open = { status: 'pending', resolvedAt: null, resolvedBy: null, grantExpiresAt: null };
      expect(created?.json).toEqual({
        type: 'approval.created',
        timestamp: expect.any(String),
        data: { ...facts, ...open, votes: { needed: 1, approved: [] } },
      });
      const votes = { needed: 1, approved: [{ by: 'link', at: expect.any(String) }] };
      const times = { resolvedAt: expect.any(String), grantExpiresAt: expect.any(String) };
      expect(resolved?.json).toEqual({
        type: 'approval.resolved',
        timestamp: expect.any(String),
        data: { ...facts, status: 'approved', resolvedBy: 'link', votes, ...times },
      });
      expect(created?.id).not.toBe(resolved?.id);
      await until('both delivered', async () =>
        (await deliveries(service, id)).every((each: { status: string }) => each.status === 'delivered'),
      );
      await service.admin('DELETE', `/webhooks/${id}`);
    });

    test('an endpoint of one key hears of that key only, and of the events it wants', async () => {
      const [everything, ofKey, ends] = [await receiver(), await receiver(), await receiver()];
      const [first, second] = [await service.newKey(ASK_ALL), await service.newKey(ASK_ALL)];
      const ids = [
        await register(service, everything.url),
        await register(service, ofKey.url, { keyId: first.keyId }),
        await register(service, ends.url, { events: ['approval.resolved'] }),
      ];
      for (const { key } of [first, second]) {
        const { token } = await gate.ask(key);
        await gate.answer(token, { action: 'deny' });
      }
      await until('all', () => everything.events.length === 4 && ends.events.length === 2);
      await until('of the key', () => ofKey.events.length === 2);
      for (const { id } of ids)
        await until('nothing waits', async () =>
          (await deliveries(service, id)).every((each: { status: string }) => each.status === 'delivered'),
        );
      expect(ofKey.events.every(each => each.json.data.keyId === first.keyId)).toBe(true);
      expect(types(ofKey.events)).toEqual(['approval.created', 'approval.resolved']);
      expect(types(ends.events)).toEqual(['approval.resolved', 'approval.resolved']);
      expect(everything.events).toHaveLength(4);
      for (const { id } of ids) await service.admin('DELETE', `/webhooks/${id}`);
    });

    test('a failed attempt is recorded and tried again under the same id, after a second and after five', async () => {
      const target = await receiver((_, earlier) => (earlier < 2 ? 500 : 204));
      const { key, keyId } = await service.newKey(ASK_ALL);
      const { id, secret } = await register(service, target.url, { keyId, events: ['approval.created'] });
      await gate.ask(key);
      const tried = async () => (await deliveries(service, id))[0]?.attempts.length === 3;
      await until('three attempts', tried);
      const [delivery] = await deliveries(service, id);
      expect(delivery).toMatchObject({ type: 'approval.created', status: 'delivered', nextAttemptAt: null });
      expect(delivery.attempts.map((each: { status: number }) => each.status)).toEqual([500, 500, 204]);
      expect(delivery.attempts[0]).toMatchObject({ error: 'answered 500', response: 'answered 500' });
      const at = delivery.attempts.map((each: { at: string }) => Date.parse(each.at));
      expect(at[1] - at[0]).toBeGreaterThanOrEqual(800);
      expect(at[2] - at[1]).toBeGreaterThanOrEqual(4000);
      expect(new Set(target.events.map(each => each.id))).toEqual(new Set([delivery.eventId]));
      expect(new Set(target.events.map(each => each.text)).size).toBe(1);
      for (const arrival of target.events) expect(verifies(secret, arrival)).toBe(true);
      await service.admin('DELETE', `/webhooks/${id}`);
    });

    test('a redirect is not followed, a reset is a failure', async () => {
      for (const manner of ['redirect', 'reset'] as const) {
        const target = await receiver(() => manner);
        const { key, keyId } = await service.newKey(ASK_ALL);
        const { id } = await register(service, target.url, { keyId, events: ['approval.created'] });
        await gate.ask(key);
        await until('an attempt', async () => (await deliveries(service, id))[0]?.attempts.length > 0);
        const [delivery] = await deliveries(service, id);
        expect(delivery.status).toBe('pending');
        expect(delivery.attempts[0].status).toBe(manner === 'redirect' ? 307 : null);
        expect(delivery.attempts[0].error).toBe(manner === 'redirect' ? 'answered 307' : 'connection reset');
        await service.admin('DELETE', `/webhooks/${id}`);
        expect(target.arrivals.filter(each => each.path === '/elsewhere')).toEqual([]);
      }
    });

    test('410 switches the endpoint off; switched on again, what failed can be redelivered', async () => {
      const target = await receiver(() => 410);
      const { key, keyId } = await service.newKey(ASK_ALL);
      const { id, secret } = await register(service, target.url, { keyId, events: ['approval.created'] });
      const { referenceId } = await gate.ask(key);
      const own = async () =>
        (await service.admin('GET', '/webhooks')).body.webhooks.find(
          (each: { id: string }) => each.id === id,
        );
      await until('it is off', async () => (await own()).enabled === false);
      expect((await own()).disabledReason).toContain('410');
      const [delivery] = await deliveries(service, id);
      expect(delivery).toMatchObject({ status: 'failed', nextAttemptAt: null, referenceId });
      expect(delivery.attempts).toHaveLength(1);
      await gate.ask(key);
      expect(await deliveries(service, id)).toHaveLength(1);
      const redeliver = () => service.admin('POST', `/deliveries/${delivery.id}/redeliver`);
      expect((await redeliver()).status).toBe(409);
      target.answer = () => 200;
      expect((await service.admin('PATCH', `/webhooks/${id}`, { enabled: true })).body.enabled).toBe(true);
      expect((await redeliver()).status).toBe(202);
      await until('delivered', async () => (await deliveries(service, id))[0].status === 'delivered');
      expect(target.events).toHaveLength(2);
      expect(target.events[1]?.id).toBe(target.events[0]?.id ?? '');
      expect(target.events[1] && verifies(secret, target.events[1])).toBe(true);
      expect((await redeliver()).status).toBe(202);
      await until('delivered once more', () => target.events.length === 3);
      await service.admin('DELETE', `/webhooks/${id}`);
      expect((await redeliver()).status).toBe(409);
      expect((await service.admin('POST', `/deliveries/${Bun.randomUUIDv7()}/redeliver`)).status).toBe(404);
    });

    test('a change made while a 410 was on its way is kept', async () => {
      const held = Promise.withResolvers<number>();
      const target = await receiver((_, earlier) => (earlier === 0 ? held.promise : 200));
      const { key, keyId } = await service.newKey(ASK_ALL);
      const { id } = await register(service, target.url, { keyId, events: ['approval.created'] });
      await gate.ask(key);
      await until('the attempt is under way', () => target.events.length === 1);
      const { secret } = (await service.admin('POST', `/webhooks/${id}/rotate-secret`)).body;
      await service.admin('PATCH', `/webhooks/${id}`, { url: `${target.url}/moved` });
      held.resolve(410);
      await until('it is recorded', async () => (await deliveries(service, id))[0]?.attempts.length === 1);
      await service.admin('PATCH', `/webhooks/${id}`, { enabled: true });
      const [delivery] = await deliveries(service, id);
      await service.admin('POST', `/deliveries/${delivery.id}/redeliver`);
      await until('the second attempt', () => target.events.length === 2);
      const [, second] = target.events;
      expect(second?.path).toBe('/moved');
      expect(second && verifies(secret, second)).toBe(true);
      await service.admin('DELETE', `/webhooks/${id}`);
    });

    test('a receiver that hangs does not delay others', async () => {
      const [stuck, quick] = [await receiver(() => 'hang'), await receiver()];
      const { key, keyId } = await service.newKey(ASK_ALL);
      const hanging = await register(service, stuck.url, { keyId });
      const { id } = await register(service, quick.url, { keyId });
      for (let index = 0; index < 8; index++) await gate.ask(key);
      await until('all of the quick one', () => quick.events.length === 8, 14_000);
      const waiting = await deliveries(service, hanging.id);
      expect(waiting).toHaveLength(8);
      expect(waiting.filter((each: { status: string }) => each.status === 'delivered')).toEqual([]);
      for (const each of [hanging.id, id]) await service.admin('DELETE', `/webhooks/${each}`);
      await stuck.close();
    });
  });
}
