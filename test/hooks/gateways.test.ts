// The doors of ToolHive, LiteLLM, Arcade and Obot: what every door has to do, and the vendors' shapes as they are recorded
// in test/vectors/hooks. And, for the doors of OPA, AuthZEN and ext_authz too, to which run a call belongs.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Decision } from '../../src/core/decision/decide.ts';
import type { Rule } from '../../src/core/policy/policy.ts';
import type { JsonObject } from '../../src/core/wire/json.ts';
import { sql } from '../support/faults.ts';
import { said } from '../support/said.ts';
import { type Reply, ROOT, startService, type TestService } from '../support/service.ts';
import { TOOLS, testDoor } from './doors.ts';

const PATHS = {
  toolhive: '/v1/hooks/toolhive',
  litellm: '/v1/hooks/litellm/beta/litellm_basic_guardrail_api',
  arcade: '/v1/hooks/arcade/pre',
  obot: '/v1/hooks/obot',
} as const;

const REFERENCE = /approval ([0-9a-f-]{36})\. Repeat the call/;
const referenceIn = (reply: Reply): string | null => REFERENCE.exec(reply.text)?.[1] ?? null;
const rpc = (name: unknown, args: unknown): JsonObject =>
  ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }) as JsonObject;

/** None of these is one call of a tool, as every server reads it. */
const UNCLEAR_MESSAGES: unknown[] = [
  [rpc(TOOLS.allow, {})],
  'text',
  { jsonrpc: '2.0', id: 1 },
  { jsonrpc: '2.0', id: 1, method: 'tools/call' },
  rpc(7, {}),
  rpc('', {}),
  rpc(TOOLS.allow, []),
  { ...rpc(TOOLS.allow, {}), Method: 'ping' },
  { ...rpc(TOOLS.allow, {}), method: 'ping', METHOD: 'tools/call' },
  { ...rpc(TOOLS.allow, {}), 'param\u017f': {} },
  { ...rpc(TOOLS.allow, {}), result: {} },
  { ...rpc(TOOLS.allow, {}), error: null },
  { jsonrpc: '2.0', id: 1, method: 'tools/call', Params: { name: TOOLS.allow }, result: {} },
  { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: TOOLS.allow, Name: TOOLS.deny } },
  { jsonrpc: '2.0', id: 1, method: 'tools/call ', params: { name: TOOLS.allow } },
];

const toolhiveEvent = (mcp_request: unknown, context: JsonObject = { server_name: 'files' }) => ({
  version: 'v0.1.0',
  uid: 'u',
  mcp_request,
  context,
});

testDoor('toolhive', {
  path: PATHS.toolhive,
  surface: 'toolhive',
  body: ({ tool, args }) => toolhiveEvent(rpc(tool, args)),
  recorded: tool => `files__${tool}`,
  allows: ({ body }) => body.allowed === true,
  expects: (_, { body }) => expect(Object.keys(body).slice(0, 3)).toEqual(['version', 'uid', 'allowed']),
  reference: referenceIn,
  malformed: [
    ...UNCLEAR_MESSAGES.map(message => toolhiveEvent(message)),
    toolhiveEvent({ jsonrpc: '2.0', id: 1, method: 'resources/list', result: {} }),
    toolhiveEvent({ jsonrpc: '2.0', id: 1, result: {} }),
    { ...toolhiveEvent(rpc(TOOLS.allow, {})), version: 'v2' },
    toolhiveEvent(rpc(TOOLS.allow, {}), {}),
    toolhiveEvent(rpc(TOOLS.allow, {}), { server_name: 'a__b' }),
    toolhiveEvent(rpc(TOOLS.allow, {}), { server_name: '' }),
  ],
});

const toolCall = (name: unknown, text: unknown) => ({
  id: 'c',
  type: 'function',
  function: { name, arguments: text },
});
const litellmEvent = (...tool_calls: unknown[]) => ({
  input_type: 'response',
  texts: [],
  request_data: {},
  tool_calls,
});

testDoor('litellm', {
  path: PATHS.litellm,
  surface: 'litellm',
  body: ({ tool, args }) => litellmEvent(toolCall(tool, JSON.stringify(args))),
  recorded: tool => `litellm__${tool}`,
  allows: ({ body }) => body.action !== 'BLOCKED',
  reference: referenceIn,
  malformed: [
    { ...litellmEvent(), input_type: 'other' },
    { ...litellmEvent(), tool_calls: {} },
    litellmEvent({ id: 'c', type: 'custom', custom: { name: TOOLS.allow, input: '' } }),
    litellmEvent(toolCall('', '{}')),
    litellmEvent(toolCall(TOOLS.allow, {})),
    litellmEvent(toolCall(TOOLS.allow, '{')),
    litellmEvent(toolCall(TOOLS.allow, '[]')),
    litellmEvent(toolCall(TOOLS.allow, 'null')),
    litellmEvent(toolCall(TOOLS.allow, '{"a":1,"a":2}')),
    litellmEvent(toolCall(TOOLS.allow, `{"a":${'['.repeat(200)}${']'.repeat(200)}}`)),
    litellmEvent(toolCall(TOOLS.allow, '{}'), toolCall(TOOLS.allow, '{')),
    litellmEvent(...Array.from({ length: 101 }, () => toolCall(TOOLS.allow, '{}'))),
    litellmEvent(...[1, 2].map(() => toolCall(TOOLS.allow, `{"a":[${'0,'.repeat(150_000)}0]}`))),
  ],
});

const arcadeEvent = (tool: unknown, inputs: unknown) => ({ execution_id: 'e', tool, inputs, context: {} });

testDoor('arcade', {
  path: PATHS.arcade,
  surface: 'arcade',
  body: ({ tool, args }) => arcadeEvent({ name: tool, toolkit: 'Files', version: '1' }, args),
  recorded: tool => `Files__${tool}`,
  allows: ({ body }) => body.code === 'OK',
  reference: referenceIn,
  malformed: [
    arcadeEvent({ name: TOOLS.allow }, {}),
    arcadeEvent({ name: '', toolkit: 'Files' }, {}),
    arcadeEvent({ name: TOOLS.allow, toolkit: 'Files__x' }, {}),
    arcadeEvent({ name: TOOLS.allow, toolkit: 'Files' }, []),
    arcadeEvent({ name: TOOLS.allow, toolkit: 'Files' }, 'text'),
    arcadeEvent(TOOLS.allow, {}),
  ],
});

testDoor('obot', {
  path: `${PATHS.obot}?server=files`,
  surface: 'obot',
  body: ({ tool, args }) => rpc(tool, args),
  recorded: tool => `files__${tool}`,
  allows: ({ status }) => status === 200,
  status: on => (on === 'allow' || on === 'freed' ? 200 : 403),
  reference: referenceIn,
  malformed: UNCLEAR_MESSAGES,
});

interface Vector {
  query?: string;
  event: JsonObject;
  /** Null if nothing is decided. */
  call: { server: string; tool: string; args?: JsonObject } | null;
  answers: Partial<Record<Decision | 'none', { status: number; body?: JsonObject; text?: string }>>;
}

const vectors = Object.entries(PATHS).flatMap(([vendor, path]) => {
  const folder = join(ROOT, 'test/vectors/hooks', vendor);
  const files = readdirSync(folder).filter(name => name.endsWith('.json'));
  return files.map(name => {
    const vector: Vector = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    return [`${vendor}/${name}`, path + (vector.query ?? ''), vector] as const;
  });
});

describe('one service', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());

  const entriesOf = (keyId: string) =>
    sql<{ name: string; decision: string; reason: string; group: string }>(
      service.databaseUrl,
      `SELECT server_name || '__' || tool_name AS name, decision, reason FROM audit WHERE key_id = '${keyId}' ORDER BY id`,
    );

  test.each(vectors)(
    '%s: what the vendor sends, and what it gets',
    async (_, path, { event, call, answers }) => {
      for (const [decision, wanted] of Object.entries(answers)) {
        const action = decision === 'pending' ? 'require_approval' : decision === 'allow' ? 'allow' : 'deny';
        // The arguments have to arrive as they were sent, or the rule does not apply.
        const when = `args == ${JSON.stringify(call?.args ?? {})}`;
        const { key, keyId } = await service.newKey([
          { tool: call === null ? '*' : `${call.server}__${call.tool}`, action, when },
          { tool: '*', action: action === 'allow' ? 'deny' : 'allow' },
        ] as Rule[]);
        const reply = await service.json('POST', path, key, event);
        const [entry, ...more] = said(await entriesOf(keyId));
        expect(more).toEqual([]);
        if (call === null) expect(entry).toBeUndefined();
        else expect(entry).toMatchObject({ name: `${call.server}__${call.tool}`, decision });
        const reason =
          decision === 'pending'
            ? `${entry?.reason} It waits for the approval ${referenceIn(reply)}. Repeat the call once it is approved.`
            : (entry?.reason ?? '');
        const filled = JSON.parse(JSON.stringify(wanted).replace('"{reason}"', JSON.stringify(reason)));
        if (filled.text !== undefined)
          expect([reply.status, reply.text]).toEqual([filled.status, filled.text]);
        else expect([reply.status, reply.body]).toEqual([filled.status, filled.body]);
      }
    },
  );

  test('litellm: every call is judged with an entry of its own, and one that may not proceed blocks all', async () => {
    const { key, keyId } = await service.newKey([
      { tool: 'allowed', action: 'allow' },
      { tool: 'asked', action: 'require_approval' },
    ]);
    const made = ['allowed', 'asked', 'denied', 'a', 'b', 'allowed'].map(name => toolCall(name, '{}'));
    const { status, body } = await service.json('POST', PATHS.litellm, key, litellmEvent(...made));
    expect([status, body.action]).toEqual([200, 'BLOCKED']);
    expect(body.blocked_reason).toMatch(
      /litellm__asked.*litellm__denied.*litellm__a;.* 1 more calls may not proceed\.$/,
    );
    const decisions = (await entriesOf(keyId)).map(({ decision }) => decision);
    expect(decisions).toEqual(['allow', 'pending', 'deny', 'deny', 'deny', 'allow']);
    const again = await service.json('POST', PATHS.litellm, key, litellmEvent(made[0], made[5]));
    expect(again.body).toEqual({ action: 'NONE' });
  });

  test('an approval is bound to what a call brings besides its arguments', async () => {
    const { key } = await service.newKey([{ tool: '*', action: 'require_approval' }]);
    const doors: Record<string, (message: unknown) => unknown> = {
      [PATHS.toolhive]: message => toolhiveEvent(message),
      [PATHS.obot]: message => message,
      '/ext-authz/files': message => message,
    };
    for (const [path, event] of Object.entries(doors)) {
      const call = (more: JsonObject) => ({
        ...rpc('pay', {}),
        params: { name: 'pay', arguments: {}, ...more },
      });
      const allowed = async (more: JsonObject) => {
        const { status, body, text } = await service.json('POST', path, key, event(call(more)));
        return [
          status === 200 && body.allowed !== false,
          /(?:approval |call \()([0-9a-f-]{36})/.exec(text)?.[1],
        ] as const;
      };
      const [, reference] = await allowed({});
      const resolved = await service.admin('POST', `/approvals/${reference}/resolve`, { action: 'approve' });
      expect([path, resolved.status]).toEqual([path, 200]);
      for (const more of [
        { inputResponses: { confirm: { action: 'accept' } } },
        { requestState: 'another' },
        { RequestState: 'for a server in Go' },
      ] as JsonObject[])
        expect([path, more, (await allowed(more))[0]]).toEqual([path, more, false]);
      expect([path, (await allowed({}))[0]]).toEqual([path, true]);
    }
  });

  describe('a call belongs to the run that is named, the same on every door', () => {
    const opa = { server: 'files', tool: 'send' };
    const evaluation = {
      subject: { type: 'user', id: 'ann' },
      action: { name: 'tools/call' },
      resource: { type: 'tool', id: 'files__send' },
    };
    const evaluations = { ...evaluation, evaluations: [{}] };
    const byHeader: [path: string, event: object][] = [
      [PATHS.toolhive, toolhiveEvent(rpc('send', {}))],
      [PATHS.litellm, litellmEvent(toolCall('send', '{}'))],
      [PATHS.arcade, arcadeEvent({ name: 'send', toolkit: 'Files', version: '1' }, {})],
      [`${PATHS.obot}?server=files`, rpc('send', {})],
      ['/ext-authz/files/mcp', rpc('send', {})],
      ['/v1/data/toolgate/allow', { input: opa }],
      ['/access/v1/evaluation', evaluation],
      ['/access/v1/evaluations', evaluations],
    ];
    const byContext: [path: string, event: (context: object) => object][] = [
      ['/v1/data/toolgate/allow', context => ({ input: { ...opa, context } })],
      ['/v1/data/toolgate/decision', context => ({ input: { ...opa, context } })],
      ['/access/v1/evaluation', context => ({ ...evaluation, context })],
      ['/access/v1/evaluations', context => ({ ...evaluations, context })],
      ['/access/v1/evaluations', context => ({ ...evaluation, evaluations: [{ context }] })],
    ];
    let key: string;
    let runs = 0;
    beforeAll(async () => {
      ({ key } = await service.newKey([
        { tool: 'page', action: 'allow', marks: 'untrusted' },
        { tool: 'send', action: 'allow', when: '!("untrusted" in marks)' },
      ]));
    });
    const post = (path: string, body: unknown, run?: string): Promise<Reply> => {
      const headers: Record<string, string> = {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
      };
      if (run !== undefined) headers['Toolgate-Run'] = run;
      return service.request('POST', path, { headers, body: JSON.stringify(body) });
    };
    /** The name of a run that has read a page by /v1/check. */
    const marked = async (): Promise<string> => {
      const name = `run-${runs++}`;
      const page = { serverName: 'web', toolName: 'page' };
      expect((await post('/v1/check', page, name)).body.decision).toBe('allow');
      return name;
    };
    /** The calls of these doors are denied by a status or by a word of their own. */
    const isAllowed = ({ status, text }: Reply): boolean =>
      status === 200 && !/BLOCKED|"code":"CHECK_FAILED"|"(allowed|allow|result|decision)":false/.test(text);

    test.each(byHeader)('%s: by the header', async (path, event) => {
      const run = await marked();
      expect(isAllowed(await post(path, event, run))).toBe(false);
      expect(isAllowed(await post(path, event, `${run}x`))).toBe(true);
      expect(isAllowed(await post(path, event))).toBe(true);
      expect(isAllowed(await post(path, event, 'a b'))).toBe(false);
    });

    test.each(byContext)('%s: in the body', async (path, event) => {
      const run = await marked();
      expect(isAllowed(await post(path, event({ run })))).toBe(false);
      expect(isAllowed(await post(path, event({ run: `${run}x` })))).toBe(true);
      expect(isAllowed(await post(path, event({})))).toBe(true);
      for (const malformed of ['a b', 7, ''])
        expect([malformed, isAllowed(await post(path, event({ run: malformed })))]).toEqual([
          malformed,
          false,
        ]);
      // The header counts before the body.
      expect(isAllowed(await post(path, event({ run: 'other' }), run))).toBe(false);
    });
  });

  test('obot: the address names one server', async () => {
    const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
    for (const query of ['?server=a&server=b', '?server=', '?server=a__b'])
      expect((await service.json('POST', PATHS.obot + query, key, rpc('x', {}))).status).toBe(403);
  });

  test('the key comes as x-api-key and by Basic as well', async () => {
    const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
    const body = JSON.stringify(toolhiveEvent(rpc('x', {})));
    for (const credential of [
      { 'X-Api-Key': key },
      { Authorization: `Basic ${Buffer.from(`toolgate:${key}`).toString('base64')}` },
    ]) {
      const headers = { 'Content-Type': 'application/json', ...credential };
      const reply = await service.request('POST', PATHS.toolhive, { headers, body });
      expect(reply.body.allowed).toBe(true);
    }
  });
});
