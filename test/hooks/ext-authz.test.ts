// ext_authz over HTTP: what every door does, and what is special here: other messages, calls of which only headers are
// known, and what two readers could read in different ways. gateways.test.ts has the real gateways.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Decision } from '../../src/core/decision/decide.ts';
import { GuardError } from '../../src/core/errors.ts';
import type { Rule } from '../../src/core/policy/policy.ts';
import { answerTo } from '../../src/http/hooks/ext-authz.ts';
import { isLetThrough, messageIn, serverOf, wantedBy } from '../../src/http/hooks/ext-authz-request.ts';
import { loadConfig } from '../../src/settings/config.ts';
import { auditOf } from '../support/mcp.ts';
import { type Reply, startService, type TestService } from '../support/service.ts';
import { testDoor } from './doors.ts';

const message = (method: string, params?: unknown, id: unknown = 7) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const call = (name: string, args?: unknown) => message('tools/call', { name, arguments: args });
const MODERN = { 'MCP-Protocol-Version': '2026-07-28' };

testDoor('ext-authz', {
  path: '/ext-authz/github/mcp',
  surface: 'ext-authz',
  body: ({ tool, args }) => call(tool, args),
  recorded: tool => `github__${tool}`,
  allows: ({ status }) => status === 200,
  status: on =>
    // What could not be recorded, or not be taken on, is a refusal like any other: a gateway must not take it for a failure.
    ({ allow: 200, freed: 200, unauthenticated: 401, revoked: 401 })[on as string] ?? 403,
  expects(on, { body, text, headers }) {
    if (on === 'allow' || on === 'freed') return expect(text).toBe('');
    expect(headers.get('content-type')).toContain('application/json');
    expect([on, body.jsonrpc, typeof body.error.code]).toEqual([on, '2.0', 'number']);
    if (['deny', 'pending', 'revoked', 'audit failure'].includes(on)) expect([on, body.id]).toEqual([on, 7]);
    if (on === 'deny') expect(body.error.message).toStartWith('Blocked by policy: No rule of policy');
    if (on === 'pending') expect(body.error.message).toContain(body.error.data.referenceId);
    if (headers.get('x-toolgate-error') === 'unauthenticated')
      expect(headers.get('www-authenticate')).toBe('Bearer realm="toolgate"');
  },
  reference: ({ body }) => body.error.data.referenceId,
  malformed: [
    [call('allowed')],
    { ...call('allowed'), Method: 'ping' },
    { ...call('allowed'), result: {} },
    { jsonrpc: '2.0', id: 7, method: 'tools/call', result: {} },
    message('tools/call', { name: 'allowed', Name: 'other' }),
    message('tools/call', { name: 'allowed', argumentſ: {} }),
    message('tools/call', { name: 'allowed', arguments: [] }),
    message('tools/call', { name: 7 }),
    message('tools/call', { name: '' }),
    message('tools/call', { name: 'allowed', _meta: { 'toolgate/referenceId': 'x' } }),
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","method":"ping","params":{"name":"allowed"}}',
  ],
});

const RULES: Rule[] = [
  { tool: 'github__read', action: 'allow' },
  { tool: 'github__r\u00e9ad', action: 'allow' },
  { tool: 'github__write', action: 'deny', when: 'has(args.path) && args.path.startsWith("/etc")' },
  { tool: 'github__write', action: 'allow' },
  { tool: 'github__pay', action: 'require_approval' },
];

describe('ext-authz: what gateways send', () => {
  let service: TestService;
  let key: string;
  let keyId: string;
  beforeAll(async () => {
    service = await startService();
    ({ key, keyId } = await service.newKey(RULES));
  });
  afterAll(() => service.close());

  interface Sent {
    method?: string;
    path?: string;
    headers?: Record<string, string>;
    body?: unknown;
    token?: string;
  }
  const ask = ({ method = 'POST', path = '/ext-authz/github', headers, body, token = key }: Sent) =>
    service.request(method, path, {
      headers: { Authorization: `Bearer ${token}`, ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  const entries = async () => (await auditOf(service, keyId)).map(each => [each.decision, each.toolName]);
  /** The answers, and the entries that they left. */
  async function asked(...sent: Sent[]): Promise<{ statuses: number[]; replies: Reply[]; left: string[][] }> {
    const before = (await entries()).length;
    const replies: Reply[] = [];
    for (const each of sent) replies.push(await ask(each));
    return { statuses: replies.map(each => each.status), replies, left: (await entries()).slice(before) };
  }

  test('arguments in the body are judged, with or without a content type', async () => {
    const { statuses, left } = await asked(
      { body: call('write', { path: '/srv/a' }) },
      { body: call('write', { path: '/etc/a' }), headers: { 'Content-Type': 'application/json' } },
      { body: call('write'), headers: { 'Content-Type': 'text/plain' } },
      { body: call('write'), headers: { 'Content-Encoding': 'br' } },
      // A server would end the session, which only the setting could let through.
      { body: message('ping'), method: 'DELETE' },
      { body: call('write'), method: 'PUT' },
    );
    expect(statuses).toEqual([200, 403, 403, 403, 403, 403]);
    expect(left).toEqual([
      ['allow', 'write'],
      ['deny', 'write'],
    ]);
  });

  test('without a body the headers of 2026-07-28 are judged, and nothing that depends on arguments is allowed', async () => {
    const headers = (name: string) => ({ ...MODERN, 'Mcp-Method': 'tools/call', 'Mcp-Name': name });
    const encoded = `=?base64?${btoa('read')}?=`;
    const { statuses, replies, left } = await asked(
      { headers: headers('read') },
      { headers: headers('read'), method: 'GET' },
      { headers: headers(encoded) },
      { headers: headers('write') },
      { headers: headers('pay') },
      { headers: headers('read, write') },
      { headers: headers(`=?base64?${btoa('read')}=?=`) },
      { headers: headers('r\u00e9ad') },
      { headers: { ...headers('read'), 'MCP-Protocol-Version': '2025-11-25' } },
      { headers: { ...MODERN, 'Mcp-Method': 'tools/call' } },
      { headers: { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'read' } },
      { headers: { ...MODERN, 'Mcp-Name': 'read' } },
      { headers: { ...headers('read'), 'Mcp-Method': 'notifications/x, tools/call' } },
      {},
      { method: 'GET' },
    );
    expect(statuses).toEqual([200, 200, 200, ...Array(12).fill(403)]);
    expect(left).toEqual([
      ['allow', 'read'],
      ['allow', 'read'],
      ['allow', 'read'],
      ['deny', 'write'],
      ['deny', 'pay'],
    ]);
    expect(replies[3]?.body.error.message).toContain('its condition 0 could not be evaluated');
    expect(replies[4]?.body.error.message).toContain('but its arguments are not known here');
  });

  test('a body that its headers contradict, or of which only a part came, is refused', async () => {
    const body = call('read', {});
    const { statuses, left } = await asked(
      { body, headers: { ...MODERN, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'read' } },
      { body, headers: { 'Mcp-Method': 'ping' } },
      { body, headers: { 'Mcp-Name': 'write' } },
      { body: message('ping'), headers: { 'Mcp-Method': 'tools/call' } },
      {
        body: message('ping', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }),
        headers: { 'MCP-Protocol-Version': '2025-11-25' },
      },
      { body, headers: { 'x-envoy-auth-partial-body': 'true' } },
      { body, headers: { 'x-envoy-auth-partial-body': 'false' } },
    );
    expect(statuses).toEqual([200, 403, 403, 403, 403, 403, 200]);
    expect(left).toHaveLength(2);
  });

  test('the server is the one in the path as it was sent, or in the header if the path has none', async () => {
    const body = call('read');
    const { statuses } = await asked(
      { body, path: '/ext-authz/github/any/path?and=query' },
      { body, path: '/ext-authz/git%68ub' },
      { body, path: '/ext-authz/', headers: { 'X-Toolgate-Server': 'github' } },
      { body, headers: { 'X-Toolgate-Server': 'github' } },
      { body, headers: { 'X-Toolgate-Server': 'other' } },
      { body, path: '/ext-authz/other' },
      { body, path: '/ext-authz/' },
      { body, path: '/ext-authz/', headers: { 'X-Toolgate-Server': 'github, other' } },
      { body, path: '/ext-authz//github' },
      { body, path: '/ext-authz/git__hub' },
    );
    expect(statuses).toEqual([200, 200, 200, 200, 403, 403, 403, 403, 403, 403]);
    const raw = (path: string) => sendRaw(service, `POST ${path} HTTP/1.1\r\n`, key, JSON.stringify(body));
    expect(await raw('/ext-authz/github/mcp')).toBe(200);
    for (const path of [
      'other/../github',
      'other/%2e%2e/github',
      'github/../other',
      '../ext-authz/github',
      '%ff',
    ])
      expect([path, await raw(`/ext-authz/${path}`)]).toEqual([path, 403]);
  });

  test('a body of a GET, which cannot be read, is refused even where its headers would be allowed', async () => {
    const headers = 'MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: read\r\n';
    const raw = (body: string) => sendRaw(service, `GET /ext-authz/github HTTP/1.1\r\n${headers}`, key, body);
    expect(await raw('')).toBe(200);
    expect(await raw(JSON.stringify(call('read')))).toBe(403);
  });

  test('other messages are let through by name, for a valid key, and leave no entry', async () => {
    const { token, id } = (await service.json('POST', '/v1/sessions', key)).body;
    const others: Sent[] = [
      { body: message('initialize', {}) },
      { body: message('ping') },
      { body: message('tools/list') },
      { body: { jsonrpc: '2.0', method: 'notifications/initialized' } },
      { headers: { ...MODERN, 'Mcp-Method': 'tools/list' } },
      { body: message('resources/read', { uri: 'file:///etc/passwd' }) },
      { body: message('notifications') },
      { body: message('tools/calls') },
      { body: { jsonrpc: '2.0', id: 1, result: {} } },
      { headers: { ...MODERN, 'Mcp-Method': 'server/discover' } },
      { method: 'GET', headers: { Accept: 'text/event-stream' } },
      { method: 'DELETE' },
    ].map(each => ({ ...each, token }));
    const { statuses, left, replies } = await asked(...others);
    expect(statuses).toEqual([...Array(5).fill(200), ...Array(7).fill(403)]);
    expect(left).toEqual([]);
    expect(replies[5]?.body).toMatchObject({
      id: 7,
      error: { code: 403, message: expect.stringContaining('TOOLGATE_EXT_AUTHZ_OTHER') },
    });
    // The key is remembered here, and was revoked in the store.
    expect((await service.json('DELETE', `/v1/sessions/${id}`, key)).status).toBe(204);
    expect((await asked(others[1] as Sent)).statuses).toEqual([401]);
  });
});

describe('ext-authz: what gateways were seen to send', () => {
  const folder = join(import.meta.dir, '../vectors/hooks');
  for (const vendor of ['envoy', 'traefik', 'caddy', 'nginx', 'agentgateway'])
    for (const file of readdirSync(join(folder, vendor)).filter(each => each.endsWith('.json')))
      test(`${vendor}/${file}`, async () => {
        const {
          request: sent,
          wanted,
          answers,
        } = JSON.parse(readFileSync(join(folder, vendor, file), 'utf8'));
        const { method, headers, body = '' } = sent;
        const request = new Request(`http://gate${sent.path}`, { method, headers });
        let got: unknown = 'refused';
        let id: number | string | null = null;
        try {
          const message = messageIn(request, new TextEncoder().encode(body));
          id = message?.id ?? null;
          const found = wantedBy(serverOf(sent.server, request), request, message);
          const { call = {}, args } = 'doorCall' in found ? found.doorCall : {};
          got = 'other' in found ? found : { ...call, ...(args !== undefined && { args }) };
        } catch (error) {
          if (!(error instanceof GuardError)) throw error;
        }
        expect(got).toEqual(wanted);
        for (const [decision, expected] of Object.entries(answers ?? {})) {
          const about = { reason: 'REASON', toolCallId: 'CALL', policyId: 'POLICY', latencyMs: 1 };
          const referenceId = decision === 'pending' ? { referenceId: 'REFERENCE' } : {};
          const answer = answerTo({ ...about, ...referenceId, decision: decision as Decision }, id);
          const text = await answer.text();
          const read = { status: answer.status, body: text === '' ? null : JSON.parse(text) };
          expect(read).toEqual(expected as typeof read);
        }
      });
});

test('TOOLGATE_EXT_AUTHZ_OTHER: all, none, or what it names', () => {
  const post = (body: unknown) => ({ method: 'POST', body: JSON.stringify(body) });
  const sent: Record<string, RequestInit> = {
    'resources/read': post(message('resources/read')),
    ping: post(message('ping')),
    response: post({ jsonrpc: '2.0', id: 1, result: {} }),
    GET: { method: 'GET' },
    'GET that was a POST': { method: 'GET', headers: { 'X-Forwarded-Method': 'POST' } },
    WebSocket: { method: 'GET', headers: { Upgrade: 'websocket' } },
    'WebSocket that lists': {
      method: 'GET',
      headers: { ...MODERN, 'Mcp-Method': 'tools/list', Upgrade: 'websocket' },
    },
    'HTTP/2 after a ping': { ...post(message('ping')), headers: { Upgrade: 'h2c' } },
    'POST without a body': { method: 'POST' },
  };
  const settings: [string, string[]][] = [
    ['allow', ['resources/read', 'ping', 'response']],
    ['deny', []],
    ['resources/*, responses, GET', ['resources/read', 'response', 'GET']],
    ['*,GET,DELETE', ['resources/read', 'ping', 'response', 'GET']],
  ];
  const read = (setting: string) => loadConfig({ TOOLGATE_EXT_AUTHZ_OTHER: setting }, tmpdir()).config;
  for (const [setting, expected] of settings) {
    const { extAuthzOther } = read(setting);
    const passes = (init: RequestInit): boolean => {
      const request = new Request('http://gate/ext-authz/s', init);
      const body = new TextEncoder().encode((init.body as string | undefined) ?? '');
      try {
        const wanted = wantedBy('s', request, messageIn(request, body));
        return 'other' in wanted && isLetThrough(extAuthzOther, wanted.other);
      } catch (error) {
        if (error instanceof GuardError) return false;
        throw error;
      }
    };
    const passed = Object.keys(sent).filter(what => passes(sent[what] as RequestInit));
    expect([setting, passed]).toEqual([setting, expected]);
  }
  for (const wrong of ['tools/call', 'a b', '*/x', ','])
    expect(() => read(wrong)).toThrow('TOOLGATE_EXT_AUTHZ_OTHER');
});

/** Sends what `fetch` would not: a path as it is, or a body with a GET. The status of the answer. */
function sendRaw(service: TestService, start: string, key: string, body: string): Promise<number> {
  const { hostname, port } = new URL(service.url);
  const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  return new Promise((resolve, reject) => {
    let heard = '';
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        `${start}Host: a\r\nAuthorization: Bearer ${key}\r\n${length}Connection: close\r\n\r\n${body}`,
      ),
    );
    socket.on('data', chunk => {
      heard += chunk;
      const status = /^HTTP\/1\.1 (\d+)/.exec(heard)?.[1];
      if (status !== undefined) resolve(Number(status));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}
