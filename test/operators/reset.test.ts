// Letting somebody in again: the old password and the sign-ins end at once, on every replica, and a link lets
// them choose a new password, once. From the machine itself this needs nothing but the data folder.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { dump, type Gate, openGate } from '../approvals/gate.ts';
import { Shell } from '../cli/shell.ts';
import { engines, startService } from '../support/service.ts';
import { invite, join, newAddress, newPerson, OTHER_PASSWORD, PASSWORD, send, signIn } from './people.ts';

const tokenIn = (url: string): string => new URL(url).searchParams.get('token') ?? '';

for (const engine of await engines()) {
  describe(engine, () => {
    let gate: Gate;
    beforeAll(async () => {
      gate = await openGate({ engine, replicas: engine === 'postgres' ? 2 : 1 });
    });
    afterAll(() => gate.close());

    test('ends what was, and the link opens the door once', async () => {
      const { service } = gate;
      const elsewhere = gate.services.at(-1) ?? service;
      const { id, email, cookie } = await newPerson(service, 'admin');
      const reset = await service.admin('POST', `/operators/${id}/reset`);
      expect([reset.status, reset.body.status]).toEqual([200, 'invited']);
      expect((await send(elsewhere, 'GET', '/admin/v1/me', { cookie })).status).toBe(401);
      expect((await signIn(elsewhere, email, PASSWORD, { ip: newAddress() })).status).toBe(401);
      const token = tokenIn(reset.body.resetUrl);
      expect(JSON.stringify(await dump(service.databaseUrl))).not.toContain(token);
      const back = await join(elsewhere, token, OTHER_PASSWORD);
      expect((await send(service, 'GET', '/admin/v1/me', { cookie: back })).body.email).toBe(email);
      expect((await signIn(service, email, OTHER_PASSWORD, { ip: newAddress() })).status).toBe(200);
      const again = await service.json('POST', '/admin/v1/join', null, { token, password: PASSWORD });
      expect(again.status).toBe(410);
      const { changes } = (await service.admin('GET', '/changes?limit=5')).body;
      expect(
        changes.map((each: { action: string; actor: string }) => [each.action, each.actor]),
      ).toContainEqual(['operator.reset', 'admin']);
    });

    test('after a reset, earlier failed attempts do not make the person wait', async () => {
      const { service } = gate;
      const { id, email } = await newPerson(service, 'viewer');
      const ip = newAddress();
      for (let count = 0; count < 5; count++) await signIn(service, email, 'wrong', { ip });
      expect((await signIn(service, email, PASSWORD, { ip })).status).toBe(429);
      const { resetUrl } = (await service.admin('POST', `/operators/${id}/reset`)).body;
      await join(service, tokenIn(resetUrl), OTHER_PASSWORD);
      expect((await signIn(service, email, OTHER_PASSWORD, { ip })).status).toBe(200);
    });

    test('a link makes those before it useless', async () => {
      const { service } = gate;
      const { id, token } = await invite(service, `late-${crypto.randomUUID()}@example.com`, 'viewer');
      const { resetUrl } = (await service.admin('POST', `/operators/${id}/reset`)).body;
      const late = await service.json('POST', '/admin/v1/join', null, { token, password: PASSWORD });
      expect(late.status).toBe(410);
      await join(service, tokenIn(resetUrl));
    });
  });
}

test('a locked-out admin resets on the machine, with nothing but the data folder', async () => {
  const service = await startService({ env: { TOOLGATE_ADMIN_TOKEN: '' } });
  const shell = new Shell({ TOOLGATE_BASE_URL: service.url, TOOLGATE_DATA_DIR: service.dataDir });
  try {
    const email = 'admin@example.com';
    const setUp = /setup\?token=([\w-]+)/.exec(service.output)?.[1];
    const body = { token: setUp, email, password: PASSWORD };
    expect((await service.json('POST', '/admin/v1/setup', null, body)).status).toBe(201);
    const { stdout, stderr, code } = await shell.run(`toolgate operators reset ${email}`);
    expect([code, stderr.includes('signed out everywhere')]).toEqual([0, true]);
    expect(stdout.trim()).toStartWith(`${service.url}/dashboard/join?token=`);
    await join(service, tokenIn(stdout.trim()), OTHER_PASSWORD);
    const back = await signIn(service, email, OTHER_PASSWORD);
    expect([back.status, back.body.role]).toEqual([200, 'admin']);
  } finally {
    shell.close();
    await service.close();
  }
});
