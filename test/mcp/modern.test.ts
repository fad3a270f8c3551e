// The newer, stateless era: what a request must carry, what is answered, and what passes between client and
// upstream when either speaks it.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sql, until } from '../support/faults.ts';
import {
  connect,
  ECHO,
  envelope,
  error,
  type Heard,
  LegacyClient,
  META,
  modern,
  postMcp,
  RecordingUpstream,
  streamed,
} from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';

const legacy = new RecordingUpstream({ tools: [{ name: 'ünïcode', inputSchema: { type: 'object' } }] });
const ASKING = { name: 'ask', inputSchema: { type: 'object' } };
const HEADED = {
  name: 'headed',
  inputSchema: {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, n: { type: 'number' } },
  },
};
const asksFirst = new RecordingUpstream({
  era: 'modern',
  tools: [ASKING, HEADED],
  onCall: ({ id, params }) => {
    if (params.arguments?.log) {
      return streamed(send => {
        for (const level of params.arguments.levels ?? ['info'])
          send({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data: 'x' } });
        send({ jsonrpc: '2.0', id, result: { resultType: 'complete', content: [] } });
      });
    }
    if (params.arguments?.code) return error({ id } as Heard, params.arguments.code, 'no', { at: 'a' });
    if (params.name === 'ask' && params.inputResponses === undefined) {
      const question = { method: 'elicitation/create', params: { message: 'Sure?' } };
      return { resultType: 'input_required', inputRequests: { q: question }, requestState: 'opaque' };
    }
    return { resultType: 'complete', content: [{ type: 'text', text: JSON.stringify(params) }] };
  },
});
let service: TestService;
let key: string;
let keyId: string;

beforeAll(async () => {
  service = await startService();
  ({ key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]));
  await connect(service, keyId, 'old', legacy.url);
  await connect(service, keyId, 'new', asksFirst.url);
});
afterAll(async () => {
  await service.close();
  await legacy.stop();
  await asksFirst.stop();
});

const unicodeName = async () =>
  (await modern(service, key, 'tools/list')).result.tools.find((each: { name: string }) =>
    each.name.startsWith('old__'),
  ).name as string;

test('discover says what is offered, for this credential only', async () => {
  const { status, result } = await modern(service, key, 'server/discover');
  expect(status).toBe(200);
  expect(result.resultType).toBe('complete');
  expect(result.supportedVersions).toContain('2026-07-28');
  expect(result.capabilities).toEqual({
    tools: { listChanged: false },
    logging: {},
    extensions: { 'io.modelcontextprotocol/tasks': {} },
  });
  expect([result.cacheScope, result.ttlMs]).toEqual(['private', 0]);
});

test('a list is complete, private and opens no session', async () => {
  const { result, headers } = await modern(service, key, 'tools/list');
  expect(result.tools.length).toBe(3);
  expect([result.resultType, result.cacheScope, result.ttlMs]).toEqual(['complete', 'private', 0]);
  expect(headers.get('mcp-session-id')).toBeNull();
});

test('a stray session id is ignored', async () => {
  const said = await modern(service, key, 'tools/list', {}, { headers: { 'Mcp-Session-Id': 'stray' } });
  expect(said.status).toBe(200);
});

test('where headers and body disagree, nothing is checked or forwarded: 400, -32020', async () => {
  const before = [...legacy.calls, ...asksFirst.calls].length;
  const params = { name: 'new__headed' };
  const wrong: Record<string, string>[] = [
    { 'Mcp-Method': 'tools/list' },
    { 'Mcp-Method': '' },
    { 'Mcp-Name': 'new__ask' },
    { 'Mcp-Name': '' },
    { 'Mcp-Name': `=?base64?${Buffer.from('new__ask').toString('base64')}?=` },
    { 'Mcp-Name': 'NEW__headed' },
    { 'MCP-Protocol-Version': '2025-11-25' },
    { 'MCP-Protocol-Version': '' },
  ];
  for (const headers of wrong) {
    const said = await modern(service, key, 'tools/call', params, { headers });
    expect([said.status, said.error?.code, JSON.stringify(headers)]).toEqual([
      400,
      -32020,
      JSON.stringify(headers),
    ]);
  }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params, _meta: envelope() } };
  expect((await postMcp(service, key, body)).error.code).toBe(-32020);
  expect([...legacy.calls, ...asksFirst.calls].length).toBe(before);
});

test('a name may be repeated in base64', async () => {
  const headers = { 'Mcp-Name': `=?base64?${Buffer.from('new__headed').toString('base64')}?=` };
  const said = await modern(service, key, 'tools/call', { name: 'new__headed' }, { headers });
  expect(said.result.resultType).toBe('complete');
});

test('an unknown version: 400, -32022, with those that are known', async () => {
  const _meta = { [`${META}protocolVersion`]: '2031-01-01' };
  const headers = { 'MCP-Protocol-Version': '2031-01-01' };
  const { status, error } = await modern(service, key, 'tools/list', { _meta }, { headers });
  expect([status, error.code, error.data.requested]).toEqual([400, -32022, '2031-01-01']);
  expect(error.data.supported).toContain('2026-07-28');
});

test('an envelope without capabilities: 400, -32602', async () => {
  const _meta = { [`${META}clientCapabilities`]: undefined };
  const { status, error } = await modern(service, key, 'tools/list', { _meta });
  expect([status, error.code]).toEqual([400, -32602]);
});

test('the header of this era without its envelope: 400, -32602; beside initialize it means nothing', async () => {
  const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/list' };
  const ask = (method: string) =>
    postMcp(service, key, { jsonrpc: '2.0', id: 1, method, params: {} }, { headers });
  const { status, error } = await ask('tools/list');
  expect([status, error.code]).toEqual([400, -32602]);
  expect(error.message).toContain('protocolVersion');
  const opened = await ask('initialize');
  expect([opened.status, opened.result.protocolVersion]).toEqual([200, '2025-11-25']);
});

test('an unknown method, and one that the key does not forward: 404, -32601', async () => {
  for (const method of [
    'nothing/there',
    'initialize',
    'ping',
    'resources/list',
    'prompts/list',
    'toString',
  ]) {
    const { status, error } = await modern(service, key, method);
    expect([method, status, error?.code]).toEqual([method, 404, -32601]);
  }
});

test('a denied, an unknown and a wrong call answer as the protocol says', async () => {
  const unknown = await modern(service, key, 'tools/call', { name: 'new__nothing' });
  expect([unknown.status, unknown.error.code]).toEqual([200, -32602]);
  const wrong = await modern(service, key, 'tools/call', { name: 'new__ask', arguments: [] });
  expect(wrong.error.code).toBe(-32602);
  const denied = await service.newKey([{ tool: '*', action: 'deny' }]);
  await connect(service, denied.keyId, 'new', asksFirst.url);
  const before = asksFirst.calls.length;
  const said = await modern(service, denied.key, 'tools/call', { name: 'new__ask' });
  expect([said.result.isError, said.result.resultType]).toEqual([true, 'complete']);
  expect(asksFirst.calls.length).toBe(before);
});

test('an older upstream serves newer clients: no envelope reaches it, its result is made complete', async () => {
  const name = await unicodeName();
  const _meta = { traceparent: '00-abc-def-01', [`${META}clientInfo`]: { name: 'me', version: '1' } };
  const { result } = await modern(service, key, 'tools/call', { name, arguments: { a: 1 }, _meta });
  expect(result).toEqual({ resultType: 'complete', content: [{ type: 'text', text: '{"a":1}' }] });
  const { params, headers } = legacy.calls.at(-1)!;
  expect(params).toEqual({ name: 'ünïcode', arguments: { a: 1 }, _meta: { traceparent: '00-abc-def-01' } });
  expect(headers['mcp-method']).toBeUndefined();
});

test('a newer upstream gets the envelope, the client’s capabilities and the headers it wants', async () => {
  const capabilities = { elicitation: {} };
  const _meta = { [`${META}clientCapabilities`]: capabilities };
  const args = { region: 'eu – west', n: 1 };
  const said = await modern(service, key, 'tools/call', { name: 'new__headed', arguments: args, _meta });
  expect(said.result.resultType).toBe('complete');
  const { headers, params } = asksFirst.calls.at(-1)!;
  expect(headers['mcp-method']).toBe('tools/call');
  expect(headers['mcp-name']).toBe('headed');
  expect(headers['mcp-param-region']).toBe(`=?base64?${Buffer.from('eu – west').toString('base64')}?=`);
  expect(headers['mcp-protocol-version']).toBe('2026-07-28');
  expect(params._meta[`${META}clientCapabilities`]).toEqual(capabilities);
  const listed = (await modern(service, key, 'tools/list')).result.tools;
  expect(JSON.stringify(listed)).not.toContain('x-mcp-header');
});

test('a question to the user passes through, and its answer', async () => {
  const asked = await modern(service, key, 'tools/call', { name: 'new__ask', arguments: { a: 1 } });
  expect(asked.result.resultType).toBe('input_required');
  expect(asked.result.requestState).toBe('opaque');
  expect(asked.result.inputRequests.q.method).toBe('elicitation/create');
  const more = { inputResponses: { q: { action: 'accept' } }, requestState: 'opaque' };
  const said = await modern(service, key, 'tools/call', { name: 'new__ask', arguments: { a: 1 }, ...more });
  expect(said.result.resultType).toBe('complete');
  expect(asksFirst.calls.at(-1)!.params).toMatchObject({ name: 'ask', arguments: { a: 1 }, ...more });
});

test('a client of the older era is told that it cannot be asked', async () => {
  const client = await LegacyClient.open(service, key);
  const { result } = await client.call('new__ask', { a: 1 });
  expect(result.isError).toBe(true);
});

test('log messages come only to requests that name a level', async () => {
  const quiet = await modern(service, key, 'tools/call', { name: 'new__headed', arguments: { log: true } });
  expect(quiet.messages.length).toBe(1);
  const _meta = { [`${META}logLevel`]: 'info' };
  const params = { name: 'new__headed', arguments: { log: true }, _meta };
  const told = await modern(service, key, 'tools/call', params);
  expect(told.messages.map(each => each.method)).toEqual(['notifications/message', undefined]);
  expect(asksFirst.calls.at(-1)!.params._meta[`${META}logLevel`]).toBe('info');
});

test('log messages come from the level that was named upwards, to clients of either era', async () => {
  const args = { log: true, levels: ['debug', 'info', 'warning', 'no level'] };
  const params = (level: string) => ({
    name: 'new__headed',
    arguments: args,
    _meta: { [`${META}logLevel`]: level },
  });
  const levels = (messages: { params?: { level: string } }[]) =>
    messages.slice(0, -1).map(each => each.params?.level);
  const told = async (level: string) =>
    levels((await modern(service, key, 'tools/call', params(level))).messages);
  expect(await told('debug')).toEqual(['debug', 'info', 'warning']);
  expect(await told('info')).toEqual(['info', 'warning']);
  expect(await told('error')).toEqual([]);
  const client = await LegacyClient.open(service, key);
  expect(levels((await client.call('new__headed', args)).messages)).toEqual(['info', 'warning']);
  await client.request('logging/setLevel', { level: 'warning' });
  expect(levels((await client.call('new__headed', args)).messages)).toEqual(['warning']);
});

test('an error of the upstream passes, unless its code speaks of the leg between it and us', async () => {
  const client = await LegacyClient.open(service, key);
  for (const [code, older, newer] of [
    [-32019, -32019, -32019],
    [-32020, -32603, -32603],
    [-32021, -32603, -32021],
    [-32099, -32603, -32603],
    [-32100, -32100, -32100],
    [5, 5, 5],
  ] as const) {
    const params = { name: 'new__headed', arguments: { code } };
    const said = await modern(service, key, 'tools/call', params);
    expect(said.error).toEqual({ code: newer, message: 'no', data: { at: 'a' } });
    expect(said.status).toBe(newer === -32021 ? 400 : 200);
    expect((await client.call('new__headed', { code })).error.code).toBe(older);
  }
});

test('a call with nothing but a name goes on with nothing but a name', async () => {
  await modern(service, key, 'tools/call', { name: await unicodeName() });
  expect(legacy.calls.at(-1)!.params).toEqual({ name: 'ünïcode' });
});

test('a client that goes away cancels: a newer upstream loses its connection, an older one is told', async () => {
  const name = await unicodeName();
  const hang = () => new Promise(() => {});
  legacy.options.onCall = hang;
  const answering = asksFirst.options.onCall;
  asksFirst.options.onCall = hang;
  for (const [upstream, tool] of [
    [legacy, name],
    [asksFirst, 'new__headed'],
  ] as const) {
    const before = upstream.calls.length;
    const stop = new AbortController();
    const call = modern(service, key, 'tools/call', { name: tool }, { signal: stop.signal }).catch(() => {});
    await until('the call arrived', () => upstream.calls.length > before);
    stop.abort();
    await call;
    const { signal, id } = upstream.calls.at(-1)!;
    await until('the connection of the call is gone', () => signal.aborted);
    if (upstream === legacy) {
      await until('the older upstream was told', () =>
        legacy.of('notifications/cancelled').some(each => each.params.requestId === id),
      );
    } else expect(upstream.of('notifications/cancelled')).toEqual([]);
  }
  asksFirst.options.onCall = answering;
});

test('a client that is gone before its call is checked: recorded, and not forwarded', async () => {
  const { promise: listed, resolve: list } = Promise.withResolvers<unknown>();
  const upstream = new RecordingUpstream({ era: 'modern', others: { 'tools/list': () => listed } });
  const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
  await connect(service, keyId, 'up', upstream.url);
  const stop = new AbortController();
  const call = modern(service, key, 'tools/call', { name: 'up__echo' }, { signal: stop.signal });
  await until('its tool is looked for', () => upstream.of('tools/list').length > 0);
  stop.abort();
  await call.catch(() => {});
  // Answered by the same loop as the connection: by now it has heard of its end.
  await service.request('GET', '/healthz');
  list({ resultType: 'complete', tools: [ECHO] });
  const outcomes = () => sql<{ outcome: string }>(service.databaseUrl, OUTCOMES(keyId));
  await until('what came of it is recorded', async () => (await outcomes()).length > 0);
  expect(await outcomes()).toEqual([{ outcome: 'cancelled' }]);
  expect(upstream.calls).toEqual([]);
  await upstream.stop();
});

const OUTCOMES = (keyId: string) =>
  `SELECT outcome FROM outcomes JOIN audit ON audit.id = outcomes.tool_call_id WHERE key_id = '${keyId}'`;
