// Where the secret of ToolHive or Obot is set, what that gateway did not sign is refused besides the key.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { sql } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';

const SECRET = { toolhive: 'a secret of ToolHive', obot: 'another one, of Obot' };
const MESSAGE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'read', arguments: { a: 'ä' } },
};
const EVENT = { version: 'v0.1.0', uid: 'u', mcp_request: MESSAGE, context: { server_name: 'files' } };
/** The gateways write JSON in ways of their own: the bytes count, not what they mean. */
const spaced = (value: unknown) => JSON.stringify(value, null, 3);

let service: TestService;
let key: string;
beforeAll(async () => {
  const env = { TOOLGATE_TOOLHIVE_SECRET: SECRET.toolhive, TOOLGATE_OBOT_SECRET: SECRET.obot };
  service = await startService({ env });
  ({ key } = await service.newKey([{ tool: '*', action: 'allow' }]));
});
afterAll(() => service.close());

const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex');
const send = async (path: string, body: string, headers: Record<string, string>, token = key) => {
  const all = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}`, ...headers };
  return service.request('POST', path, { headers: all, body });
};
const now = () => Math.floor(Date.now() / 1000);
const byToolHive = (body: string, time: number | string = now(), secret = SECRET.toolhive) => ({
  'X-ToolHive-Timestamp': String(time),
  'X-ToolHive-Signature': `sha256=${hmac(secret, `${time}.${body}`)}`,
});
const byObot = (body: string, secret = SECRET.obot) => ({ 'X-Obot-Signature-256': hmac(secret, body) });
const entries = async () =>
  Number((await sql<{ n: number }>(service.databaseUrl, 'SELECT count(*) AS n FROM audit'))[0]?.n);

test('toolhive: a signed request is judged, also one whose clock is off by four minutes', async () => {
  const body = spaced(EVENT);
  for (const time of [now(), now() - 240, now() + 240]) {
    const { body: answer } = await send('/v1/hooks/toolhive', body, byToolHive(body, time));
    expect(answer.allowed).toBe(true);
  }
});

test('toolhive: what is unsigned, wrongly signed, old or from the future is refused without an entry', async () => {
  const body = spaced(EVENT);
  const before = await entries();
  const good = byToolHive(body);
  const refused: Record<string, string>[] = [
    {},
    { 'X-ToolHive-Timestamp': good['X-ToolHive-Timestamp'] },
    { 'X-ToolHive-Signature': good['X-ToolHive-Signature'] },
    { ...good, 'X-ToolHive-Signature': good['X-ToolHive-Signature'].slice('sha256='.length) },
    { ...good, 'X-ToolHive-Signature': good['X-ToolHive-Signature'].toUpperCase() },
    { ...good, 'X-ToolHive-Signature': 'sha256=' },
    { ...good, 'X-ToolHive-Timestamp': String(now() - 1) },
    byToolHive(body, now(), SECRET.obot),
    byToolHive(`${body} `),
    byToolHive(JSON.stringify(EVENT)),
    byToolHive(body, now() - 301),
    byToolHive(body, now() + 310),
    byToolHive(body, `${now()}.0`),
    byToolHive(body, `-${now()}`),
    byToolHive(body, ''),
  ];
  for (const headers of refused) {
    const { status, body: answer, headers: answered } = await send('/v1/hooks/toolhive', body, headers);
    expect([headers, status, answer]).toEqual([
      headers,
      200,
      {
        version: 'v0.1.0',
        uid: '',
        allowed: false,
        reason: 'This request is not signed by ToolHive, or it is too old.',
      },
    ]);
    expect(answered.get('x-toolgate-error')).toBe('unauthenticated');
  }
  expect(await entries()).toBe(before);
});

test('obot: the bytes of the body are signed, with or without "sha256="', async () => {
  const body = spaced(MESSAGE);
  const signed = byObot(body);
  expect((await send('/v1/hooks/obot', body, signed)).status).toBe(200);
  const prefixed = { 'X-Obot-Signature-256': `sha256=${signed['X-Obot-Signature-256']}` };
  expect((await send('/v1/hooks/obot', body, prefixed)).status).toBe(200);
});

test('obot: what is unsigned or wrongly signed is refused without an entry', async () => {
  const body = spaced(MESSAGE);
  const before = await entries();
  const wrong = [byObot(body, SECRET.toolhive), byObot(`${body}\n`), byObot(JSON.stringify(MESSAGE)), {}];
  for (const headers of wrong) {
    const { status, text } = await send('/v1/hooks/obot', body, headers);
    expect([status, text]).toEqual([403, 'This request is not signed by Obot, or it is too old.']);
  }
  expect(await entries()).toBe(before);
});

test('a signature does not replace the key', async () => {
  const body = spaced(EVENT);
  const unknown = await send('/v1/hooks/toolhive', body, byToolHive(body), 'nobody');
  expect(unknown.body.allowed).toBe(false);
  const message = spaced(MESSAGE);
  expect((await send('/v1/hooks/obot', message, byObot(message), 'nobody')).status).toBe(403);
});
