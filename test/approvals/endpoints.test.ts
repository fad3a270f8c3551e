// Endpoints of webhooks: they are registered within the rules for addresses and tested at once, and their secret is
// shown once and rotated without a gap. webhooks.test.ts tests the deliveries.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { until } from '../support/faults.ts';
import { type Answering, Receiver, signedWith, verifies } from '../support/receiver.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { startClocked } from './clocked.ts';
import { ASK_ALL, type Gate, openGate } from './gate.ts';

const HOUR = 3_600_000;
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

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(`endpoints on ${engine}`, () => {
    let gate: Gate;
    let service: TestService;
    beforeAll(async () => {
      gate = await openGate({ engine });
      service = gate.service;
    });
    afterAll(() => gate.close());

    test('after a rotation both secrets verify', async () => {
      const target = await receiver();
      const { key, keyId } = await service.newKey(ASK_ALL);
      const { id, secret } = await register(service, target.url, { keyId, events: ['approval.created'] });
      const rotated = await service.admin('POST', `/webhooks/${id}/rotate-secret`);
      expect(rotated.status).toBe(200);
      expect(rotated.headers.get('cache-control')).toBe('no-store');
      expect(rotated.body.secret).not.toBe(secret);
      expect(Date.parse(rotated.body.previousSecretUntil)).toBeWithin(
        Date.now() + 24 * HOUR - 60_000,
        Date.now() + 24 * HOUR + 1,
      );
      await gate.ask(key);
      await until('the event', () => target.events.length === 1);
      for (const each of [secret, rotated.body.secret])
        expect(target.events[0] && verifies(each, target.events[0])).toBe(true);
      await service.admin('DELETE', `/webhooks/${id}`);
    });

    test('a rotation is not undone by changes made at the same time', async () => {
      const target = await receiver();
      const { id } = await register(service, target.url);
      for (let round = 0; round < 20; round++) {
        const change = () => service.admin('PATCH', `/webhooks/${id}`, { url: `${target.url}/${round}` });
        const rotate = () => service.admin('POST', `/webhooks/${id}/rotate-secret`);
        const [, , , rotated] = await Promise.all([
          change(),
          change(),
          change(),
          rotate(),
          change(),
          change(),
        ]);
        await service.admin('POST', `/webhooks/${id}/test`);
        const last = target.events.at(-1);
        expect(last && verifies(rotated.body.secret, last)).toBe(true);
      }
      await service.admin('DELETE', `/webhooks/${id}`);
    });

    test('a secret is in the answer that makes it and nowhere else', async () => {
      const target = await receiver();
      const { id, secret } = await register(service, target.url);
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      const rotated = (await service.admin('POST', `/webhooks/${id}/rotate-secret`)).body.secret;
      const places = [
        await service.admin('GET', '/webhooks'),
        await service.admin('PATCH', `/webhooks/${id}`, { events: ['approval.created'] }),
        await service.admin('GET', `/webhooks/${id}/deliveries`),
        await service.admin('GET', '/changes'),
      ].map(reply => reply.text);
      for (const text of [...places, service.output])
        for (const hidden of [secret, rotated]) expect(text).not.toContain(hidden.slice(6, 30));
      await service.admin('DELETE', `/webhooks/${id}`);
    });

    test('a test event is sent at once and its outcome shown', async () => {
      const target = await receiver((_, earlier) => (earlier === 0 ? 202 : 500));
      const { id, secret } = await register(service, target.url);
      const { status, body } = await service.admin('POST', `/webhooks/${id}/test`);
      expect([status, body.status, body.error]).toEqual([200, 202, null]);
      expect(target.events[0]?.json).toMatchObject({ type: 'webhook.test', data: { webhookId: id } });
      expect(target.events[0] && verifies(secret, target.events[0])).toBe(true);
      target.answer = () => 500;
      expect((await service.admin('POST', `/webhooks/${id}/test`)).body.error).toBe('answered 500');
      expect(await deliveries(service, id)).toEqual([]);
      await service.admin('DELETE', `/webhooks/${id}`);
    });

    test('what is wrong in a registration is said', async () => {
      const { url } = await receiver();
      for (const [path, body] of [
        ['/url', {}],
        ['/url', { url: 'ftp://example.com' }],
        ['/url', { url: 'nonsense' }],
        ['/url', { url: 'http://user:pass@127.0.0.1/' }],
        ['/url', { url: 'http://169.254.169.254/latest' }],
        ['/keyId', { url, keyId: Bun.randomUUIDv7() }],
        ['/keyId', { url, keyId: 'x' }],
        ['/events', { url, events: [] }],
        ['/events/0', { url, events: ['approval.*'] }],
        ['/secret', { url, secret: 'whsec_x' }],
      ] as const) {
        const reply = await service.admin('POST', '/webhooks', body);
        expect([path, reply.status]).toEqual([path, 400]);
        expect(reply.body.errors[0].path).toBe(path);
      }
      for (const [method, path] of [
        ['PATCH', ''],
        ['DELETE', ''],
        ['POST', '/rotate-secret'],
        ['POST', '/test'],
        ['GET', '/deliveries'],
      ] as const) {
        const reply = await service.admin(
          method,
          `/webhooks/${Bun.randomUUIDv7()}${path}`,
          method === 'PATCH' ? {} : undefined,
        );
        expect([method, path, reply.status]).toEqual([method, path, 404]);
      }
    });
  });
}

test('the old secret signs too for a day, not longer', async () => {
  const target = await receiver();
  const clocked = await startClocked();
  try {
    const { key } = await clocked.newKey(ASK_ALL);
    const { id, secret } = await register(clocked, target.url);
    const { secret: fresh } = (await clocked.admin('POST', `/webhooks/${id}/rotate-secret`)).body;
    for (const [step, along] of [
      [24 * HOUR - 1, true],
      [1, false],
    ] as const) {
      clocked.advance(step);
      const { referenceId } = (await clocked.check(key, 'prod', 'deploy')).body;
      await until('the event', () => target.of(referenceId).length === 1);
      const [event] = target.of(referenceId);
      expect(event && [signedWith(fresh, event), signedWith(secret, event)]).toEqual([true, along]);
    }
  } finally {
    await clocked.close();
  }
});

test('private targets need leave once others can reach the service, also those registered before', async () => {
  const target = await receiver();
  const open = await startService({ env: { TOOLGATE_HOST: '0.0.0.0' } });
  try {
    const refused = await open.admin('POST', '/webhooks', { url: target.url });
    expect([refused.status, refused.body.errors[0].path]).toEqual([400, '/url']);
  } finally {
    await open.close();
  }
  const env = { TOOLGATE_HOST: '0.0.0.0', TOOLGATE_ALLOW_PRIVATE_NETWORKS: 'true' };
  const first = await startService({ env });
  const { id } = await register(first, target.url);
  const { key } = await first.newKey(ASK_ALL);
  await first.kill('SIGTERM');
  const { dataDir, databaseUrl } = first;
  const second = await startService({ dataDir, databaseUrl, env: { TOOLGATE_HOST: '0.0.0.0' } });
  try {
    expect((await second.check(key, 'prod', 'deploy')).body.decision).toBe('pending');
    await until('an attempt', async () => (await deliveries(second, id))[0]?.attempts.length > 0);
    const [delivery] = await deliveries(second, id);
    expect(delivery.attempts[0].status).toBeNull();
    expect(target.arrivals).toEqual([]);
  } finally {
    await second.close();
    await first.close();
  }
});
