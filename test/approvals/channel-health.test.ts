// How channels do, end to end on both engines: one that works and one that nobody answers, what is shown of their
// addresses, and test messages, which ask nothing and count for nothing.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newPerson } from '../operators/people.ts';
import { newDataDir, until } from '../support/faults.ts';
import { Receiver } from '../support/receiver.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const SECRET = 'canary-of-a-secret';

describe.each(await enginesWhenChanged('src/store/**'))('the health of channels, on %s', engine => {
  let receiver: Receiver;
  let service: TestService;
  let dataDir: string;
  let status = 200;
  beforeAll(async () => {
    receiver = await Receiver.start(() => status);
    dataDir = newDataDir();
    const file = join(dataDir, 'toolgate.yaml');
    const channels = {
      desk: { type: 'http', url: `${receiver.url}/${SECRET}`, headers: { Authorization: SECRET } },
      pager: { type: 'http', url: `http://127.0.0.1:1/${SECRET}` },
      mail: { type: 'email', to: ['ann@example.com', 'b@example.com'] },
      constructor: { type: 'teams', url: `${receiver.url}/${SECRET}` },
    };
    writeFileSync(file, JSON.stringify({ channels }));
    const env = {
      TOOLGATE_CONFIG: file,
      TOOLGATE_NOTIFY_URL: `${receiver.url}/${SECRET}/default`,
      TOOLGATE_SMTP_URL: 'smtp://127.0.0.1:1',
      TOOLGATE_MAIL_FROM: 'toolgate@example.com',
      TOOLGATE_APPROVER_EMAILS: 'carl@example.com',
    };
    service = await startService({ engine, env });
  });
  afterAll(async () => {
    await service?.close();
    await receiver?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  type Health = Record<string, string | number | null>;
  const health = async (name: string, type: string): Promise<Health> => {
    const { body, text } = await service.admin('GET', '/notifications/channels');
    expect(text).not.toContain(SECRET);
    return body.channels.find((each: Health) => each['name'] === name && each['type'] === type);
  };
  const sendTest = (name: string) => service.admin('POST', `/notifications/channels/${name}/test`);

  test('every channel is listed, masked, and unused at first', async () => {
    const { body } = await service.admin('GET', '/notifications/channels');
    const host = new URL(receiver.url).host;
    const listed = body.channels.map(({ name, type, target, state }: Health) => [name, type, target, state]);
    expect(listed.sort()).toEqual([
      ['constructor', 'teams', host, 'unused'],
      ['default', 'email', 'c…@example.com', 'unused'],
      ['default', 'http', host, 'unused'],
      ['desk', 'http', host, 'unused'],
      ['mail', 'email', 'a…@example.com, b…@example.com', 'unused'],
      ['pager', 'http', '127.0.0.1:1', 'unused'],
    ]);
  });

  test('what was sent, what waits, and the last error are told apart by channel', async () => {
    const { key } = await service.newKey([
      { tool: 'named', action: 'require_approval', notify: ['desk', 'pager'] },
      { tool: '*', action: 'require_approval' },
    ]);
    await service.check(key, 's', 'named');
    await service.check(key, 's', 'plain');
    await until('pager fails', async () => (await health('pager', 'http'))['state'] === 'failing');
    await until('desk works', async () => (await health('desk', 'http'))['state'] === 'ok');
    await until('default works', async () => (await health('default', 'http'))['state'] === 'ok');
    expect(await health('pager', 'http')).toMatchObject({
      sent: 0,
      waiting: 1,
      lastSentAt: null,
      lastErrorAt: expect.any(String),
      lastError: expect.any(String),
    });
    const done = { sent: 1, waiting: 0, failed: 0, lastError: null, lastSentAt: expect.any(String) };
    expect(await health('desk', 'http')).toMatchObject(done);
    expect(await health('default', 'http')).toMatchObject(done);
    expect(await health('constructor', 'teams')).toMatchObject({ state: 'unused', sent: 0 });
  });

  test('a test message is sent at once, says that it is one, and says what went wrong', async () => {
    const before = await health('desk', 'http');
    const arrived = receiver.arrivals.length;
    expect((await sendTest('desk')).body).toEqual({ results: [{ type: 'http', error: null }] });
    const message = receiver.arrivals[arrived]?.json as unknown as Record<string, string>;
    expect(message['reason']).toContain('test message');
    const page = await fetch(message['approveUrl'] ?? '', { headers: { accept: 'application/json' } });
    expect(page.status).toBe(404);
    expect((await sendTest('constructor')).body.results).toEqual([{ type: 'teams', error: null }]);
    expect((await sendTest('pager')).body.results[0].error).toEqual(expect.any(String));
    const own = (await sendTest('default')).body.results as { type: string; error: string | null }[];
    expect(own.map(({ type, error }) => [type, error === null]).sort()).toEqual([
      ['email', false],
      ['http', true],
    ]);
    status = 500;
    const refused = await sendTest('desk');
    expect(refused.body.results[0].error).toContain('500');
    expect(refused.text).not.toContain(SECRET);
    status = 200;
    // They are no messages about approvals.
    expect(await health('desk', 'http')).toEqual(before);
    for (const name of ['nobody', 'toString', '__proto__', '%2e%2e', '%F0%9F%92%A9'])
      expect((await sendTest(name)).status).toBe(404);
  });

  test('viewers see the channels, and only admins send tests', async () => {
    const viewer = await newPerson(service, 'viewer');
    const headers = { cookie: viewer.cookie, origin: service.url };
    const path = `${service.url}/admin/v1/notifications/channels`;
    expect((await fetch(path, { headers })).status).toBe(200);
    expect((await fetch(`${path}/desk/test`, { method: 'POST', headers })).status).toBe(403);
  });
});
