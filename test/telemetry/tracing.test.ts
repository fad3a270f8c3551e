// A call is followed from the agent through the service to its tool server, as a collector sees it: traces come in by
// every surface and go out again, spans have the right parents and say what they should, and the audit log names the
// trace. What spans must not say is tested by P11.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect as connectHttp2 } from 'node:http2';
import { join as joinPath } from 'node:path';
import { runHook } from '../../src/cli/hook/hook.ts';
import { field, join } from '../../src/core/wire/protobuf.ts';
import { CHECK_PATH } from '../../src/http/grpc/check.ts';
import { Collector, canDecode } from '../support/collector.ts';
import { until } from '../support/faults.ts';
import {
  connect,
  LegacyClient,
  modern,
  postMcp,
  RecordingUpstream,
  startWithStdio,
  stdioScript,
} from '../support/mcp.ts';
import { freePort } from '../support/port.ts';
import { Receiver } from '../support/receiver.ts';
import { ADMIN_TOKEN, programOf, startService, type TestService } from '../support/service.ts';

interface Seen {
  name: string;
  kind: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  attributes: Record<string, unknown>;
}

/** The trace of an agent, and the header that it sends. */
function agentTrace(flags = '01') {
  const hex = (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('hex');
  const traceId = hex(16);
  const spanId = hex(8);
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
}

// biome-ignore lint/suspicious/noExplicitAny: it is read as it came
function seen({ name, kind, traceId, spanId, parentSpanId, traceState, attributes = [] }: any): Seen {
  const values = attributes.map(({ key, value }: { key: string; value: Record<string, unknown> }) => {
    const [type, of] = Object.entries(value)[0] as [string, unknown];
    return [key, type === 'intValue' ? Number(of) : of];
  });
  return {
    name,
    kind,
    traceId,
    spanId,
    ...(parentSpanId && { parentSpanId }),
    ...(traceState && { traceState }),
    attributes: Object.fromEntries(values),
  };
}

const RULES = [
  { tool: 'up__echo', action: 'allow' },
  { tool: 'asked', action: 'require_approval' },
  { tool: 'denied', action: 'deny' },
  { tool: '*', action: 'allow' },
] as const;

describe.skipIf(!canDecode)('tracing', () => {
  const upstream = new RecordingUpstream();
  let collector: Collector;
  let service: TestService;
  let end: () => Promise<void>;
  let grpcPort: number;
  let key: string;
  let keyId: string;
  let policyId: string;
  let client: LegacyClient;
  let heardByCommand: string;

  beforeAll(async () => {
    collector = await Collector.start();
    grpcPort = await freePort();
    heardByCommand = joinPath(process.env['TMPDIR'] ?? '/tmp', `toolgate-heard-${crypto.randomUUID()}`);
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '20',
      TOOLGATE_TRACE_URL: 'https://traces.example.com/trace/{traceId}?tab=spans',
      TOOLGATE_GRPC_PORT: String(grpcPort),
    };
    ({ service, end } = await startWithStdio({ command: stdioScript('plain', heardByCommand) }, { env }));
    ({ key, keyId, policyId } = await service.newKey([...RULES]));
    await connect(service, keyId, 'up', upstream.url);
    await connect(service, keyId, 'command', { transport: 'stdio', server: 'command' });
    client = await LegacyClient.open(service, key);
    await client.tools();
  });

  afterAll(async () => {
    await end();
    await collector.close();
    await upstream.stop();
  });

  const spans = (): Seen[] => collector.spans.map(seen);

  /** The span of a trace with this name, and those within it. */
  async function spanOf(traceId: string, name: string): Promise<{ span: Seen; within: Seen[] }> {
    const of = () => spans().filter(each => each.traceId === traceId);
    await collector.until(() => of().some(each => each.name === name));
    const span = of().find(each => each.name === name) as Seen;
    return { span, within: of().filter(each => each.parentSpanId === span.spanId) };
  }

  const entriesOf = async (traceId: string) =>
    (await service.admin('GET', `/audit?traceId=${traceId}`)).body.entries;

  const check = (traceparent: string | null, toolName: string, more: Record<string, string> = {}) =>
    service.request('POST', '/v1/check', {
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        ...(traceparent !== null && { traceparent }),
        ...more,
      },
      body: JSON.stringify({ serverName: 'files', toolName }),
    });

  test('a call goes from the agent through its check to its tool server in one trace', async () => {
    const agent = agentTrace();
    const carrier = agentTrace();
    const meta = { traceparent: agent.traceparent, tracestate: 'vendor=1', 'other/key': 2 };
    const answered = await client.call('up__echo', { a: 'marked-argument' }, meta, {
      id: 'request-7',
      headers: { traceparent: carrier.traceparent },
    });
    expect(answered.result.content[0].text).toContain('marked-argument');
    const { span, within } = await spanOf(agent.traceId, 'tools/call up__echo');
    const [entry] = await entriesOf(agent.traceId);
    expect(span).toMatchObject({
      kind: 'SPAN_KIND_SERVER',
      parentSpanId: agent.spanId,
      traceState: 'vendor=1',
      attributes: {
        'mcp.method.name': 'tools/call',
        'mcp.protocol.version': '2025-11-25',
        'jsonrpc.request.id': 'request-7',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'up__echo',
        'network.transport': 'tcp',
        'network.protocol.name': 'http',
        'toolgate.decision': 'allow',
        'toolgate.rule_index': 0,
        'toolgate.policy_id': policyId,
        'toolgate.policy_version': 1,
        'toolgate.surface': 'mcp',
        'toolgate.tool_call_id': entry.id,
      },
    });
    expect(Object.keys(span.attributes)).toHaveLength(13);
    expect(within.map(each => each.name)).toEqual(['toolgate.wait', 'toolgate.commit', 'tools/call echo']);
    expect(within[1]?.attributes).toEqual({ 'toolgate.group_size': 1 });
    const sent = within[2] as Seen;
    expect(sent).toMatchObject({ kind: 'SPAN_KIND_CLIENT' });
    expect(sent.attributes).toEqual({
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'echo',
      'toolgate.server_name': 'up',
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
      'server.address': '127.0.0.1',
      'server.port': upstream.port,
    });
    const heard = upstream.calls.at(-1);
    const traceparent = `00-${agent.traceId}-${sent.spanId}-01`;
    expect(heard?.params._meta).toMatchObject({ traceparent, tracestate: 'vendor=1', 'other/key': 2 });
    expect(heard?.headers).toMatchObject({ traceparent, tracestate: 'vendor=1' });
    // The request that carried the message has a trace of its own.
    const around = await spanOf(carrier.traceId, 'POST /mcp');
    expect(around.span).toMatchObject({ kind: 'SPAN_KIND_SERVER', parentSpanId: carrier.spanId });
    expect(around.within).toEqual([]);
    expect(collector.requests.some(each => each.plain.includes('marked-argument'))).toBe(false);
  });

  test('a message without a trace belongs to that of its request, in both eras', async () => {
    const agent = agentTrace();
    const params = { name: 'up__echo', arguments: {} };
    const answered = await modern(service, key, 'tools/call', params, {
      headers: { traceparent: agent.traceparent },
    });
    expect(answered.error).toBeUndefined();
    const { span, within } = await spanOf(agent.traceId, 'POST /mcp');
    expect(span.parentSpanId).toBe(agent.spanId);
    expect(span.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/mcp',
      'network.protocol.name': 'http',
      'http.response.status_code': 200,
    });
    expect(within.map(each => each.name)).toEqual(['tools/call up__echo']);
    expect(within[0]?.attributes).toMatchObject({ 'mcp.protocol.version': '2026-07-28' });
    expect(upstream.calls.at(-1)?.headers['traceparent']).toContain(agent.traceId);
  });

  test('a trace that is not sampled is passed on and recorded, and no span of it is sent', async () => {
    const agent = agentTrace('00');
    await client.call('up__echo', {}, { traceparent: agent.traceparent });
    const heard = upstream.calls.at(-1);
    expect(heard?.params._meta.traceparent).toMatch(new RegExp(`^00-${agent.traceId}-[0-9a-f]{16}-00$`));
    expect(heard?.params._meta.traceparent).not.toBe(agent.traceparent);
    expect(await entriesOf(agent.traceId)).toHaveLength(1);
    const later = agentTrace();
    await check(later.traceparent, 'read');
    await spanOf(later.traceId, 'POST /v1/check');
    expect(spans().filter(each => each.traceId === agent.traceId)).toEqual([]);
  });

  test('a trace that is not valid counts as none, and its state is not passed on', async () => {
    const meta = { traceparent: '00-0-0-01', tracestate: 'vendor=1' };
    await client.call('up__echo', {}, meta);
    const sent = upstream.calls.at(-1)?.params._meta;
    expect(sent.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(sent).not.toHaveProperty('tracestate');
    const { span } = await spanOf(sent.traceparent.slice(3, 35), 'POST /mcp');
    expect(span.parentSpanId).toBeUndefined();
  });

  test('a command is told the trace too', async () => {
    const agent = agentTrace();
    const called = await client.call('command__echo', { a: 1 }, { traceparent: agent.traceparent });
    expect(called.error).toBeUndefined();
    const { within } = await spanOf(agent.traceId, 'tools/call command__echo');
    expect(within.at(-1)?.attributes).toMatchObject({ 'network.transport': 'pipe' });
    const heard = await Bun.file(heardByCommand).text();
    expect(heard).toContain(`00-${agent.traceId}-${within.at(-1)?.spanId}-01`);
  });

  test('the name of a tool that does not exist is not taken', async () => {
    const agent = agentTrace();
    await client.call('up__secret-name', {}, { traceparent: agent.traceparent });
    const { span } = await spanOf(agent.traceId, 'tools/call');
    expect(span.attributes).toMatchObject({ 'error.type': '-32602', 'rpc.response.status_code': '-32602' });
    expect(span.attributes).not.toHaveProperty('gen_ai.tool.name');
    expect(collector.requests.some(each => each.plain.includes('secret-name'))).toBe(false);
  });

  test('a tool that fails fails its spans', async () => {
    const agent = agentTrace();
    upstream.options.onCall = () => ({ content: [], isError: true });
    await client.call('up__echo', {}, { traceparent: agent.traceparent });
    const { span, within } = await spanOf(agent.traceId, 'tools/call up__echo');
    expect(span.attributes['error.type']).toBe('tool_error');
    expect(within.at(-1)?.attributes['error.type']).toBe('tool_error');
    expect(within[1]?.attributes).not.toHaveProperty('error.type');
    upstream.options.onCall = () => ({ content: [] });
  });

  test('a check has a span with its decision, also where it takes the short way', async () => {
    for (const [tool, decision, rule] of [
      ['read', 'allow', 3],
      ['denied', 'deny', 2],
      ['asked', 'pending', 1],
    ] as const) {
      const agent = agentTrace();
      const { body } = await check(agent.traceparent, tool, { tracestate: 'a=1, b=2' });
      const { span, within } = await spanOf(agent.traceId, 'POST /v1/check');
      expect(span).toMatchObject({ parentSpanId: agent.spanId, traceState: 'a=1,b=2' });
      expect(span.attributes).toMatchObject({
        'http.route': '/v1/check',
        'http.response.status_code': 200,
        'gen_ai.tool.name': `files__${tool}`,
        'toolgate.decision': decision,
        'toolgate.rule_index': rule,
        'toolgate.tool_call_id': body.toolCallId,
      });
      expect(within.map(each => each.name)).toEqual(['toolgate.wait', 'toolgate.commit']);
    }
    const refused = agentTrace();
    expect((await check(refused.traceparent, 'no good name\n')).status).toBe(400);
    const { span } = await spanOf(refused.traceId, 'POST /v1/check');
    expect(span.attributes['http.response.status_code']).toBe(400);
    expect(span.attributes).not.toHaveProperty('gen_ai.tool.name');
    const slow = agentTrace();
    await check(slow.traceparent, 'read', { 'Content-Type': 'application/json; charset=utf-8' });
    expect((await spanOf(slow.traceId, 'POST /v1/check')).span.attributes['toolgate.decision']).toBe('allow');
  });

  test('whoever is not known starts no span', async () => {
    const agent = agentTrace();
    const stranger = { Authorization: 'Bearer tg_key_unknown' };
    expect((await check(agent.traceparent, 'read', stranger)).status).toBe(401);
    const later = agentTrace();
    await check(later.traceparent, 'read');
    await spanOf(later.traceId, 'POST /v1/check');
    expect(spans().some(each => each.traceId === agent.traceId)).toBe(false);
  });

  test('doors take a trace, and several calls of one request have a span each', async () => {
    const hook = agentTrace();
    const event = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'ls' } };
    const asked = (path: string, body: unknown, traceparent: string) =>
      service.request('POST', path, {
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', traceparent },
        body: JSON.stringify(body),
      });
    await asked('/v1/hooks/claude-code', event, hook.traceparent);
    const { span } = await spanOf(hook.traceId, 'POST /v1/hooks/claude-code');
    expect(span).toMatchObject({
      parentSpanId: hook.spanId,
      attributes: { 'toolgate.surface': 'claude-code' },
    });
    const command = agentTrace();
    const judge = (env: Record<string, string>) =>
      runHook(['claude-code'], {
        env: { HOME: '/nowhere', TOOLGATE_BASE_URL: service.url, TOOLGATE_API_KEY: key, ...env },
        stdin: () => new Blob([JSON.stringify(event)]).stream(),
      });
    const outcome = await judge({ TRACEPARENT: command.traceparent, TRACESTATE: 'not for\na header' });
    expect(outcome.exitCode).toBe(0);
    const asking = await spanOf(command.traceId, 'POST /v1/hooks/claude-code/command');
    expect(asking.span.parentSpanId).toBe(command.spanId);
    expect((await judge({ TRACEPARENT: 'not for\na header' })).exitCode).toBe(0);
    const gateway = agentTrace();
    const calls = ['read', 'denied'].map(name => ({
      id: 'call_1',
      type: 'function',
      function: { name, arguments: '{}' },
    }));
    const path = '/v1/hooks/litellm/beta/litellm_basic_guardrail_api';
    await asked(path, { input_type: 'response', tool_calls: calls }, gateway.traceparent);
    const { within } = await spanOf(gateway.traceId, `POST ${path}`);
    expect(within.map(each => [each.name, each.attributes['toolgate.decision']])).toEqual([
      ['toolgate.check', 'allow'],
      ['toolgate.check', 'deny'],
    ]);
    expect(await entriesOf(gateway.traceId)).toHaveLength(2);
  });

  const rpc = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read' } });

  test('gateways that ask before they forward pass a trace on, by HTTP and by gRPC', async () => {
    const byHttp = agentTrace();
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const init = { headers: { ...headers, traceparent: byHttp.traceparent }, body: rpc };
    expect((await service.request('POST', '/ext-authz/files', init)).status).toBe(200);
    const { span } = await spanOf(byHttp.traceId, 'POST /ext-authz/:server');
    expect(span.parentSpanId).toBe(byHttp.spanId);
    const inner = agentTrace();
    const outer = agentTrace();
    await askByGrpc({ traceparent: inner.traceparent }, {});
    expect((await spanOf(inner.traceId, 'POST /ext-authz/:server')).span.parentSpanId).toBe(inner.spanId);
    await askByGrpc({ traceparent: inner.traceparent }, { traceparent: outer.traceparent });
    expect((await spanOf(outer.traceId, 'POST /ext-authz/:server')).span.parentSpanId).toBe(outer.spanId);
  });

  /** Asks like Envoy, about a request with these headers; `metadata` are the headers of its own call. */
  async function askByGrpc(headers: Record<string, string>, metadata: Record<string, string>): Promise<void> {
    const pair = (number: number, [name, value]: [string, string]) =>
      field(number, join(field(1, name), field(2, value)));
    const all = Object.entries({ authorization: `Bearer ${key}`, ...headers });
    const http = join(field(2, 'POST'), ...all.map(each => pair(3, each)), field(11, rpc));
    const message = field(1, join(field(4, field(2, http)), pair(10, ['server', 'files'])));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    const session = connectHttp2(`http://127.0.0.1:${grpcPort}`);
    const method = { ':method': 'POST', ':path': CHECK_PATH, 'content-type': 'application/grpc' };
    const stream = session.request({ ...method, te: 'trailers', ...metadata });
    stream.end(Buffer.concat([prefix, message]));
    stream.resume();
    await new Promise<void>((resolve, reject) => stream.on('close', resolve).on('error', reject));
    session.close();
  }

  test('a delivery has a trace, which its receiver is told', async () => {
    const receiver = await Receiver.start();
    const url = `${receiver.url}/hook?token=secret-in-query`;
    expect((await service.admin('POST', '/webhooks', { url })).status).toBe(201);
    await check(null, 'asked');
    await until('an event', () => receiver.events.length > 0);
    const traceparent = receiver.events[0]?.headers['traceparent'] ?? '';
    const { span } = await spanOf(traceparent.slice(3, 35), 'toolgate.delivery');
    expect(traceparent).toBe(`00-${span.traceId}-${span.spanId}-01`);
    expect(span).toMatchObject({
      kind: 'SPAN_KIND_CLIENT',
      attributes: { 'server.address': '127.0.0.1', 'http.response.status_code': 200 },
    });
    expect(collector.requests.some(each => each.plain.includes('secret-in-query'))).toBe(false);
    await receiver.close();
  });

  test('the audit log names the trace wherever it is read', async () => {
    const { traceId, traceparent } = agentTrace();
    const { toolCallId } = (await check(traceparent, 'read')).body;
    expect(await entriesOf(traceId)).toMatchObject([{ id: toolCallId, traceId }]);
    const one = (await service.admin('GET', `/audit/${toolCallId}`)).body;
    const traceUrl = `https://traces.example.com/trace/${traceId}?tab=spans`;
    expect(one).toMatchObject({ traceId, traceUrl });
    const lines = (await service.admin('GET', `/audit/export?traceId=${traceId}`)).text;
    expect(JSON.parse(lines)).toMatchObject({ id: toolCallId, traceId });
    const csv = (await service.admin('GET', `/audit/export?traceId=${traceId}&format=csv`)).text;
    expect(csv.trimEnd().split('\r\n')[1]).toEndWith(`,${traceId},,`);
    expect((await service.admin('GET', '/audit?traceId=ABC')).status).toBe(400);
    const cli = Bun.spawnSync([...programOf(), 'audit', 'search', '--trace-id', traceId, '--json'], {
      env: {
        PATH: process.env['PATH'] ?? '',
        TOOLGATE_BASE_URL: service.url,
        TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
      },
    });
    expect(cli.stdout.toString() + cli.stderr.toString()).toContain(toolCallId);
  });
});

test('where no traces are sent, nothing is read, recorded or changed', async () => {
  const upstream = new RecordingUpstream();
  const service = await startService();
  const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
  await connect(service, keyId, 'up', upstream.url);
  const { traceparent } = agentTrace();
  const meta = { traceparent, tracestate: 'vendor=1' };
  const client = await LegacyClient.open(service, key);
  const call = { name: 'up__echo', arguments: {}, _meta: meta };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
  const headers = { traceparent, 'Mcp-Session-Id': client.sessionId };
  expect((await postMcp(service, key, message, { headers })).error).toBeUndefined();
  const heard = upstream.calls[0];
  expect(heard?.params._meta).toMatchObject(meta);
  expect(heard?.headers).not.toHaveProperty('traceparent');
  const { entries } = (await service.admin('GET', '/audit')).body;
  expect(entries).toHaveLength(1);
  expect(entries[0]).not.toHaveProperty('traceId');
  await service.close();
  await upstream.stop();
});
