// What the dashboard looks at besides lists: settings, one audit entry, delivery health.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SETTINGS } from '../../src/settings/settings.ts';
import { newDataDir } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';

const PASSWORD = 'smtp-password-canary';
const CHANNELS = { 'on-call': { type: 'http', url: `https://example.com/${PASSWORD}` } };
let service: TestService;
beforeAll(async () => {
  const dataDir = newDataDir();
  writeFileSync(join(dataDir, 'toolgate.yaml'), JSON.stringify({ channels: CHANNELS }));
  service = await startService({
    dataDir,
    env: {
      TOOLGATE_SMTP_URL: `smtp://toolgate:${PASSWORD}@mail.example.com`,
      TOOLGATE_MAIL_FROM: 'toolgate@example.com',
      TOOLGATE_APPROVER_EMAILS: 'ops@example.com',
    },
  });
});
afterAll(() => service.close());

test('every setting, with its meaning and origin; secrets are masked', async () => {
  const reply = await service.admin('GET', '/settings');
  expect(reply.status).toBe(200);
  const named = new Map(reply.body.settings.map((each: { name: string }) => [each.name, each]));
  expect([...named.keys()]).toEqual(Object.keys(SETTINGS));
  expect(named.get('mailFrom')).toEqual({
    name: 'mailFrom',
    env: 'TOOLGATE_MAIL_FROM',
    meaning: 'Sender of notifications by e-mail.',
    default: null,
    value: 'toolgate@example.com',
    origin: 'environment',
  });
  expect(named.get('approvalTimeout')).toMatchObject({ default: '60m', value: '60m', origin: 'default' });
  expect(named.get('smtpUrl')).toMatchObject({ value: '********', origin: 'environment' });
  expect(reply.text).not.toContain(PASSWORD);
  expect(reply.body.stdioServers).toEqual([]);
  expect(reply.body.channels).toEqual([{ name: 'on-call', type: 'http' }]);
});

test('one audit entry, as in the list; nothing is known of a call that was not forwarded', async () => {
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const { toolCallId } = (await service.check(key, 'github', 'get_issue')).body;
  const [listed] = (await service.admin('GET', '/audit?limit=1')).body.entries;
  const one = await service.admin('GET', `/audit/${toolCallId}`);
  const { context, ...entry } = one.body;
  expect(entry).toEqual({ ...listed, forwarded: null, settled: null });
  expect(context).toMatchObject({ keyName: 'test', sessionLabel: null, approval: null });
  expect((await service.admin('GET', `/audit/${Bun.randomUUIDv7()}`)).status).toBe(404);
});

test('statistics tell open approvals and the health of deliveries', async () => {
  const before = (await service.admin('GET', '/stats')).body;
  expect(before).toMatchObject({ pendingApprovals: 0, deliveries: { pending: 0, delivered: 0, failed: 0 } });
  const { key } = await service.newKey([{ tool: '*', action: 'require_approval' }]);
  const hook = await service.admin('POST', '/webhooks', { url: `${service.url}/healthz` });
  expect(hook.status).toBe(201);
  await service.check(key, 'github', 'merge_pull');
  const after = (await service.admin('GET', '/stats')).body;
  expect(after.pendingApprovals).toBe(1);
  // The receiver takes no POST, so the delivery stays to be tried again.
  expect(after.deliveries).toMatchObject({ pending: 1, delivered: 0, failed: 0 });
});
