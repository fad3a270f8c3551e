// What /mcp refuses before a message is understood, in which order, and what it refuses in messages: hosts,
// origins, credentials, sizes, types, malformed JSON, batches. Nothing of it reaches an upstream.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import net from 'node:net';
import { isPlain } from '../../src/mcp/call.ts';
import { until, withMutant } from '../support/faults.ts';
import {
  auditOf,
  connect,
  envelope,
  LegacyClient,
  modern,
  postMcp,
  RecordingUpstream,
  streamed,
} from '../support/mcp.ts';
import type { Patch } from '../support/mutant.ts';
import { freePort } from '../support/port.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, whenChanged } from '../support/when-changed.ts';

const AS_A_WHOLE: Patch = {
  file: 'src/mcp/batch.ts',
  find: 'const [first] = batch.refusals;',
  replace: 'const first = batch.refusals.find(each => each); if (first) throw first;',
};

const upstream = new RecordingUpstream({
  tools: ['yes', 'no', 'ask'].map(name => ({ name, inputSchema: { type: 'object' } })),
});
let service: TestService;
let key: string;
let keyId: string;
beforeAll(async () => {
  service = await startService({ env: { TOOLGATE_MCP_BODY_LIMIT: '4096' } });
  ({ key, keyId } = await service.newKey([
    { tool: 'yes', action: 'allow' },
    { tool: 'ask', action: 'require_approval' },
  ]));
  await connect(service, keyId, 'up', upstream.url);
});
afterAll(async () => {
  await service.close();
  await upstream.stop();
});

/** The status line of a request with these very headers, Host included. */
function statusOf(headers: Record<string, string>, method = 'POST'): Promise<number> {
  const { port } = new URL(service.url);
  const lines = Object.entries({ 'Content-Length': '2', 'Content-Type': 'application/json', ...headers });
  return new Promise((resolve, reject) => {
    const socket = net.connect(Number(port), '127.0.0.1', () =>
      socket.write(
        `${method} /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n{}`,
      ),
    );
    socket.on('error', reject);
    socket.on('data', data => {
      socket.destroy();
      resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(data.toString())?.[1]));
    });
  });
}

test('foreign hosts and pages are refused before credentials are looked at, on every method', async () => {
  const { host } = new URL(service.url);
  for (const method of ['POST', 'GET', 'DELETE']) {
    expect(await statusOf({ Host: 'evil.example' }, method)).toBe(403);
    expect(await statusOf({ Host: host, Origin: 'https://evil.example' }, method)).toBe(403);
    expect(await statusOf({ Host: host, Origin: 'null' }, method)).toBe(403);
    expect(await statusOf({ Host: 'evil.example', Authorization: `Bearer ${key}` }, method)).toBe(403);
    expect(await statusOf({ Host: 'localhost.evil.example' }, method)).toBe(403);
    expect(await statusOf({ Host: host, Origin: `http://${host}` }, method)).toBe(401);
    expect(await statusOf({ Host: host }, method)).toBe(401);
    expect(await statusOf({ Host: `localhost:${new URL(service.url).port}` }, method)).toBe(401);
  }
});

test('the public address is a host of ours, and pages of it may call', async () => {
  const port = await freePort();
  const env = { TOOLGATE_PORT: String(port), TOOLGATE_PUBLIC_URL: 'http://gate.example' };
  const published = await startService({ env });
  const ask = (headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers });
  expect((await ask({ Host: 'gate.example', Origin: 'http://gate.example' })).status).toBe(401);
  expect((await ask({ Host: 'gate.example', Origin: 'http://gate.example.evil' })).status).toBe(403);
  expect((await ask({ Host: 'other.example' })).status).toBe(403);
  await published.close();
});

test('401 asks for a bearer, and names no authorization server', async () => {
  const body = { jsonrpc: '2.0', id: 1, method: 'ping' };
  for (const token of [null, 'nonsense', `${key}x`]) {
    const { status, headers } = await postMcp(service, token, body);
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toStartWith('Bearer');
    expect(headers.get('www-authenticate')).not.toContain('resource_metadata');
    expect(headers.get('content-type')).toStartWith('application/problem+json');
  }
  const query = await service.request('POST', `/mcp?access_token=${key}`, {
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(query.status).toBe(401);
});

test('the paths where clients look for OAuth are 404, as JSON', async () => {
  for (const path of [
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-authorization-server/mcp',
    '/.well-known/openid-configuration',
    '/.well-known/openid-configuration/mcp',
  ]) {
    const { status, headers } = await service.request('GET', path);
    expect([path, status]).toEqual([path, 404]);
    expect(headers.get('content-type')).toContain('json');
  }
  const registered = await service.json('POST', '/register', null, {});
  expect([registered.status, registered.headers.get('content-type')?.includes('json')]).toEqual([404, true]);
});

test('another type is 415, a body over the limit 413, another method 405', async () => {
  const client = await LegacyClient.open(service, key);
  const plain = await client.request('ping', {}, { headers: { 'Content-Type': 'text/plain' } });
  expect(plain.status).toBe(415);
  expect((await client.request('ping', { pad: 'x'.repeat(5000) })).status).toBe(413);
  expect((await service.json('PUT', '/mcp', key, {})).status).toBe(405);
});

test('a credential that was revoked a moment ago is refused, whatever is the first that it asks', async () => {
  const message = { jsonrpc: '2.0', id: 1 };
  const initialize = { ...message, method: 'initialize', params: { protocolVersion: '2025-11-25' } };
  const asks: Record<string, (client: LegacyClient) => Promise<{ status: number }>> = {
    initialize: client => postMcp(service, client.token, initialize),
    ping: client => client.request('ping'),
    'tools/list': client => client.request('tools/list'),
    'prompts/list': client => client.request('prompts/list'),
    'a notification': client => client.notify('notifications/initialized'),
    'a notification like a call': client => client.notify('tools/call', { name: 'up__yes' }),
    'an answer': client => client.post({ ...message, result: {} }),
    'a call': client => client.request('tools/call', { name: 'up__yes' }),
    'a stream': client => client.listen(),
    'the end of a session': client =>
      service.request('DELETE', '/mcp', {
        headers: { 'Mcp-Session-Id': client.sessionId, Authorization: `Bearer ${client.token}` },
      }),
    'newer: server/discover': client => modern(service, client.token, 'server/discover'),
    'newer: tools/list': client => modern(service, client.token, 'tools/list'),
    'newer: prompts/list': client => modern(service, client.token, 'prompts/list'),
    'newer: a call': client => modern(service, client.token, 'tools/call', { name: 'up__yes' }),
    'newer: a notification': client =>
      postMcp(service, client.token, {
        jsonrpc: '2.0',
        method: 'notifications/initialized',
        params: { _meta: envelope() },
      }),
  };
  for (const [what, ask] of Object.entries(asks)) {
    const made = await service.newKey([{ tool: '*', action: 'allow' }], { forward: ['prompts'] });
    await connect(service, made.keyId, 'up', upstream.url);
    const client = await LegacyClient.open(service, made.key);
    await client.tools();
    const before = upstream.calls.length;
    await service.admin('DELETE', `/keys/${made.keyId}`);
    expect([what, (await ask(client)).status]).toEqual([what, 401]);
    expect(upstream.calls.length).toBe(before);
  }
});

test('what is not JSON, or not a message, is a JSON-RPC error with status 400', async () => {
  const client = await LegacyClient.open(service, key);
  for (const [body, code] of [
    ['{', -32700],
    ['\ufeff{}', -32700],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700],
    [`${'['.repeat(70)}${']'.repeat(70)}`, -32700],
    ['"text"', -32600],
    ['{}', -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":5}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600],
  ] as const) {
    const { status, error } = await client.post(body);
    expect([body, status, error?.code]).toEqual([body, 400, code]);
  }
});

test('a call must name a tool, and its arguments be an object, also in a batch', async () => {
  const client = await LegacyClient.open(service, key);
  const old = await LegacyClient.open(service, key, '2025-03-26');
  for (const params of [
    {},
    { name: 5 },
    { name: 'up__yes', arguments: null },
    { name: 'up__yes', arguments: [1] },
    { name: 'up__yes', arguments: 'x' },
  ]) {
    expect((await client.request('tools/call', params)).error.code).toBe(-32602);
    const call = { jsonrpc: '2.0', method: 'tools/call' };
    const batch = await old.post([
      { ...call, id: 1, params },
      { ...call, id: 2, params: { name: 'up__yes', arguments: {} } },
    ]);
    const codes = batch.message.map(({ id, error }: { id: number; error?: { code: number } }) => [
      id,
      error?.code,
    ]);
    expect(codes.sort()).toEqual([
      [1, -32602],
      [2, undefined],
    ]);
  }
});

test('plain calls of a batch are checked together', () => {
  const none = { _meta: { progressToken: 1 } };
  for (const more of [{}, { arguments: {} }, { arguments: { x: [1] } }, none])
    expect(isPlain({ name: 'up__yes', ...more })).toBe(true);
  const reference = { _meta: { 'toolgate/referenceId': 'x' } };
  for (const more of [{ name: 5 }, { arguments: [1] }, { arguments: 'x' }, { inputResponses: {} }, reference])
    expect(isPlain({ name: 'up__yes', ...more })).toBe(false);
});

test('a batch forwards the allowed calls only, and answers each', async () => {
  const client = await LegacyClient.open(service, key, '2025-03-26');
  const before = upstream.calls.length;
  const entries = (await auditOf(service, keyId)).length;
  const call = (id: number, name: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: `up__${name}`, arguments: { id } },
  });
  const answered = await client.post([
    call(1, 'no'),
    call(2, 'yes'),
    call(3, 'ask'),
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 99 } },
    call(4, 'missing'),
    call(5, 'yes'),
    { jsonrpc: '2.0', id: 6, method: 'nothing' },
    'not a message',
  ]);
  expect(answered.status).toBe(200);
  const by = new Map(answered.message.map((each: { id: number }) => [each.id, each]));
  const of = (id: number | null) => by.get(id) as { result: Record<string, never>; error: { code: number } };
  expect(of(1).result['isError']).toBe(true as never);
  expect(of(2).result['content']).toEqual([{ type: 'text', text: '{"id":2}' }] as never);
  expect(of(3).result['structuredContent']).toMatchObject({ status: 'pending' });
  expect([of(4).error.code, of(6).error.code, of(null).error.code]).toEqual([-32602, -32601, -32600]);
  expect(
    upstream.calls
      .slice(before)
      .map(each => each.params.arguments.id)
      .sort(),
  ).toEqual([2, 5]);
  const decisions = (await auditOf(service, keyId)).slice(entries).map(each => each.decision);
  expect(decisions.sort()).toEqual(['allow', 'allow', 'deny', 'pending']);
});

test('batches are of revision 2025-03-26 alone, with 1 to 100 messages', async () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const old = await LegacyClient.open(service, key, '2025-03-26');
  expect((await old.post([ping])).status).toBe(200);
  expect((await old.post([])).status).toBe(400);
  const nested = (await old.post([[ping, ping], ping])).message;
  expect(nested.map((each: { error?: { code: number } }) => each.error?.code)).toEqual([-32600, undefined]);
  const notices = (count: number) => new Array(count).fill({ jsonrpc: '2.0', method: 'x' });
  expect((await old.post(notices(100))).status).toBe(202);
  expect((await old.post(notices(101))).status).toBe(400);
  expect((await old.post([{ jsonrpc: '2.0', method: 'notifications/initialized' }])).status).toBe(202);
  const newer = await LegacyClient.open(service, key, '2025-06-18');
  expect((await newer.post([ping])).status).toBe(400);
  const headers = { 'MCP-Protocol-Version': '2025-11-25' };
  expect((await old.post([ping], { headers })).error.code).toBe(-32600);
  expect((await postMcp(service, key, [ping])).status).toBe(200);
});

test('what ends a session has to name it', async () => {
  const headers = { Authorization: `Bearer ${key}` };
  expect((await service.request('DELETE', '/mcp', { headers })).status).toBe(400);
});

test('a call of a batch is answered with its result alone, whatever its upstream says before', async () => {
  const chatty = new RecordingUpstream({
    onCall: ({ id }) =>
      streamed(send => {
        send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 'x' } });
        send({ jsonrpc: '2.0', id, result: { content: [] } });
      }),
  });
  const made = await service.newKey([{ tool: '*', action: 'allow' }]);
  await connect(service, made.keyId, 'up', chatty.url);
  const client = await LegacyClient.open(service, made.key, '2025-03-26');
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'up__echo' } };
  expect((await client.post([call])).message).toEqual([{ jsonrpc: '2.0', id: 1, result: { content: [] } }]);
  await chatty.stop();
});

test('a batch of a dead session or credential is refused as a whole', async () => {
  const gone = await service.newKey([{ tool: '*', action: 'allow' }]);
  await connect(service, gone.keyId, 'up', upstream.url);
  const client = await LegacyClient.open(service, gone.key, '2025-03-26');
  await client.tools();
  await service.admin('DELETE', `/keys/${gone.keyId}`);
  const before = upstream.calls.length;
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'up__yes' } };
  expect((await client.post([call, { ...call, id: 2 }])).status).toBe(401);
  expect(upstream.calls.length).toBe(before);
});

for (const engine of await enginesWhenChanged('src/store/**')) {
  const measure = async (root?: string) => {
    // Of calls that arrive together, only so many may wait.
    const env = { TOOLGATE_QUEUE_LIMIT: '2' };
    const crowded = await startService({ engine, env, ...(root && { root }) });
    const made = await crowded.newKey([{ tool: '*', action: 'allow' }]);
    await connect(crowded, made.keyId, 'up', upstream.url);
    const client = await LegacyClient.open(crowded, made.key, '2025-03-26');
    await client.tools();
    const before = upstream.calls.length;
    const calls = Array.from({ length: 20 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'up__yes', arguments: { id } },
    }));
    const answered = await client.post(calls);
    // A mutant answers before them.
    await until('calls that ran', () => upstream.calls.length > before);
    const ran = upstream.calls.slice(before).map(each => each.params.arguments.id as number);
    await crowded.close();
    return { answered, ran };
  };

  test(`${engine}: a call of a batch that is refused discards no other's result`, async () => {
    const { answered, ran } = await measure();
    expect(answered.status).toBe(200);
    const members: { id: number; result?: unknown; error?: unknown }[] = answered.message;
    expect(members.map(each => each.id)).toEqual([...Array(20).keys()]);
    expect(ran.length).toBeGreaterThan(0);
    const succeeded = members.filter(each => each.result !== undefined).map(each => each.id);
    expect(succeeded).toEqual(ran.sort((a, b) => a - b));
    const refused = members.filter(each => each.error !== undefined);
    expect(refused.length).toBe(20 - ran.length);
    expect(refused.length).toBeGreaterThan(0);
    for (const { error } of refused)
      expect(error).toMatchObject({ code: -32603, data: { code: 'overloaded' } });
  });

  whenChanged(AS_A_WHOLE)(`${engine}: a mutant that answers a batch as a whole is found out`, async () => {
    const lost = await withMutant([AS_A_WHOLE], measure);
    expect(lost.answered.status).toBe(503);
  });
}

test('an invalid reference is refused before anything is judged', async () => {
  const client = await LegacyClient.open(service, key);
  const before = (await auditOf(service, keyId)).length;
  for (const reference of ['', '\u0000', 'a'.repeat(1000), 7, null, {}, `${crypto.randomUUID()}0`]) {
    const { error, status } = await client.call('up__ask', {}, { 'toolgate/referenceId': reference });
    expect(status).toBe(200);
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('referenceId') });
  }
  expect((await auditOf(service, keyId)).length).toBe(before);
  const unknown = await client.call('up__ask', {}, { 'toolgate/referenceId': crypto.randomUUID() });
  expect(unknown.result.structuredContent.status).toBe('pending');
});
