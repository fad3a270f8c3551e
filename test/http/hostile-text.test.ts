// Texts that a store cannot hold (U+0000, lone surrogates) and other odd spellings, in every parameter, query field and
// body string of every route: refused as the sender's fault, never failed inside. Arguments of calls may hold them.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ErrorCode } from '../../src/core/errors.ts';
import { BY_COMMAND } from '../../src/http/hooks/agents.ts';
import { routes } from '../../src/http/routes.ts';
import { STATUS } from '../../src/http/serving/errors.ts';
import { from, startOAuth } from '../oauth/connect.ts';
import { withMutant } from '../support/faults.ts';
import { connect, LegacyClient, modern, RecordingUpstream } from '../support/mcp.ts';
import type { Patch } from '../support/mutant.ts';
import { ADMIN_TOKEN, type Engine, engines, type TestService } from '../support/service.ts';
import { enginesWhenChanged, whenChanged } from '../support/when-changed.ts';

const NUL = '\0';
const LONE = '\ud800';
const UUID = '01980000-0000-7000-8000-000000000000';
/** In a path: NUL, also overlong, a lone surrogate, no percent-encoding at all, and more than any id has. */
const PATHS = ['%00', 'a%00b', '%C0%80', '%ED%A0%80', '%zz', '%', '%ff', 'a'.repeat(8000)];

const ANY_TEXT: Patch = {
  file: 'src/http/serving/body.ts',
  find: 'if (fault !== null) throw invalidInput([fault]);',
  replace: 'void fault;',
};

const EMAIL = 'someone@example.com';
const PASSWORD = 'a long enough password';
const CREDENTIAL = { id: 'aWQ', rawId: 'aWQ', type: 'public-key' };
const SIGNED = {
  ...CREDENTIAL,
  response: { clientDataJSON: 'e30', authenticatorData: 'oA', signature: 'oA', userHandle: 'aWQ' },
};
const RULES = {
  rules: [
    { tool: 'x', action: 'allow', reason: 'why', when: 'true', during: 'mon-fri', limit: 'sends' },
    {
      tool: 'x',
      action: 'require_approval',
      when: ['true'],
      show: ['amount'],
      ask: 'Send it?',
      approvers: { group: 'finance', count: 2, proof: 'passkey' },
      timeout: '1h',
      notify: ['default'],
      escalate: { after: '1m', notify: ['default'] },
    },
  ],
  limits: { sends: { sum: 'args.amount', atMost: 1, each: 'day', zone: 'UTC', per: 'key', beyond: 'deny' } },
};
const HOOK = { url: 'https://example.com/hook', keyId: UUID, events: ['approval.created'] };
const EVALUATION = {
  subject: { type: 'user', id: 'ann' },
  action: { name: 'tools/call', properties: { arguments: { a: 'b' } } },
  resource: { type: 'tool', id: 'y', properties: { server: 'x' } },
  context: { arguments: { a: 'b' } },
};
/** What is sent to a door, from the folder of its vectors. */
const eventIn = (path: string): object =>
  JSON.parse(readFileSync(join(import.meta.dir, '../vectors/hooks', `${path}.json`), 'utf8')).event;
const AGENTS = Object.fromEntries(
  BY_COMMAND.map(({ name }) => [`POST /v1/hooks/${name}/command`, eventIn(`${name}/shell`)]),
);
/** A body that each route takes. */
const BODIES: Record<string, object> = {
  'POST /v1/check': { serverName: 'x', toolName: 'y', args: { a: 'b' }, referenceId: UUID },
  'POST /v1/hooks/claude-code': eventIn('claude-code/mcp'),
  'POST /v1/hooks/copilot': eventIn('copilot/camel-case'),
  'POST /v1/hooks/grok': eventIn('grok/mcp'),
  ...AGENTS,
  'POST /access/v1/evaluation': EVALUATION,
  'POST /access/v1/evaluations': { ...EVALUATION, evaluations: [{}, EVALUATION] },
  'POST /v1/data/toolgate/allow': { input: { server: 'x', tool: 'y', arguments: { a: 'b' } } },
  'POST /v1/data/toolgate/decision': { input: { server: 'x', tool: 'y', arguments: { a: 'b' } } },
  'POST /v1/hooks/toolhive': eventIn('toolhive/tools-call'),
  'POST /v1/hooks/litellm/beta/litellm_basic_guardrail_api': eventIn('litellm/response'),
  'POST /v1/hooks/arcade/pre': eventIn('arcade/pre'),
  'POST /v1/hooks/obot': eventIn('obot/tools-call'),
  'POST /v1/sessions': { label: 'run', scopeTools: ['x__y'] },
  'POST /v1/approve/:token': {
    action: 'approve',
    note: 'ok',
    duration: '1h',
    only: 'session',
    same: ['a'],
    proof: SIGNED,
  },
  'POST /admin/v1/policies': { name: 'p', description: 'd', ...RULES },
  'PUT /admin/v1/policies/:id': { name: 'p', description: 'd', ...RULES },
  'POST /admin/v1/policies/:id/replay': RULES,
  'POST /admin/v1/limits/reset': { policyId: UUID, name: 'sends', subject: UUID },
  'POST /admin/v1/keys': { name: 'k', policyId: UUID, notify: { emails: [EMAIL] }, openTo: ['group:dev'] },
  'POST /admin/v1/calls/:toolCallId/settle': { ran: true, note: 'ok' },
  'POST /admin/v1/connect-tickets': { client: 'codex', policyId: UUID },
  'PATCH /admin/v1/keys/:id': {
    name: 'k',
    policyId: UUID,
    notify: { slackWebhookUrl: 'https://example.com/' },
    openTo: ['person:ann@example.com'],
  },
  'POST /admin/v1/keys/:id/suggest': { from: '2026-10-01T00:00:00Z' },
  'POST /admin/v1/keys/:id/connected-tools': {
    name: 'up',
    transport: 'http',
    url: 'https://example.com/mcp',
    headers: { 'X-Name': 'value' },
    auth: 'oauth',
    oauth: { as: 'key', clientId: 'id', clientSecret: 'secret', scopes: ['read'] },
  },
  'POST /admin/v1/keys/:id/connected-tools/:toolId/accept': { tool: 'echo', digest: 'a'.repeat(64) },
  'PATCH /admin/v1/keys/:id/connected-tools/:toolId': {
    name: 'up',
    url: 'https://example.com/mcp',
    headers: { 'X-Name': 'value' },
    auth: 'oauth',
    oauth: { as: 'person', clientId: 'id', clientSecret: 'secret', scopes: ['read'] },
  },
  'POST /admin/v1/keys/:id/connected-tools/:toolId/share': { name: 'up' },
  'POST /admin/v1/tool-servers': { name: 'up', transport: 'stdio', server: 'x', trust: 'reviewed' },
  'PATCH /admin/v1/tool-servers/:id': { name: 'up', url: 'https://example.com/mcp', trust: 'first' },
  'POST /admin/v1/tool-servers/:id/accept': { tools: [{ name: 'echo', digest: 'a'.repeat(64) }] },
  'POST /v1/results': {
    toolCallId: UUID,
    result: { content: [{ type: 'text', text: 'x' }], structuredContent: { a: 'b' }, isError: false },
  },
  'POST /admin/v1/approvals/:referenceId/resolve': {
    action: 'approve',
    note: 'ok',
    duration: '1h',
    only: 'session',
    same: ['a'],
    proof: SIGNED,
  },
  'POST /admin/v1/approvals/:referenceId/proof': { action: 'approve' },
  'POST /admin/v1/webhooks': HOOK,
  'PATCH /admin/v1/webhooks/:id': HOOK,
  'POST /admin/v1/setup': { token: 'x', email: EMAIL, password: PASSWORD },
  'POST /admin/v1/operators': { email: EMAIL, role: 'viewer' },
  'PATCH /admin/v1/operators/:id': { role: 'viewer', groups: ['finance'] },
  'POST /admin/v1/oauth-clients': { name: 'c', redirectUris: ['https://example.com/back'] },
  'POST /admin/v1/join': { token: 'x', password: PASSWORD },
  'POST /admin/v1/sign-in': { email: EMAIL, password: PASSWORD },
  'POST /admin/v1/me/password': { current: PASSWORD, password: PASSWORD },
  'POST /admin/v1/me/passkeys': {
    name: 'n',
    response: {
      ...CREDENTIAL,
      response: { clientDataJSON: 'e30', attestationObject: 'oA', transports: ['usb'] },
    },
  },
  'PATCH /admin/v1/me/passkeys/:id': { name: 'n' },
  'POST /admin/v1/passkey-sign-in': { response: SIGNED },
  'POST /dashboard/setup': { token: 'x', email: EMAIL, password: PASSWORD },
  'POST /dashboard/sign-in': { email: EMAIL, password: PASSWORD, continue: 'x' },
  'POST /dashboard/sign-in/passkey': { response: SIGNED, continue: 'x' },
  'POST /dashboard/join': { token: 'x', password: PASSWORD },
  'POST /oauth/authorize': { request: '?client_id=x', consent: '1.x', key: UUID, answer: 'connect' },
  'POST /oauth/connect/:ticket': { shown: 'x' },
  'POST /v1/told': { text: 'x' },
  'POST /oauth/token': {
    grant_type: 'authorization_code',
    client_id: 'x',
    code: 'x',
    redirect_uri: 'http://localhost/',
    code_verifier: 'x',
    refresh_token: 'x',
    resource: 'x',
  },
  'POST /oauth/register': { client_name: 'c', redirect_uris: ['http://localhost/'], scope: 'mcp' },
  'POST /oauth/revoke': { token: 'x', client_id: 'x' },
};

const named = ({ method, path }: { method: string; path: string }): string => `${method} ${path}`;

test('every route that takes a body is here', () => {
  const taking = routes.filter(route => route.body !== undefined).map(named);
  expect(taking.toSorted()).toEqual(Object.keys(BODIES).toSorted());
});

interface Sent {
  what: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

/** Every route, with a hostile text in one place at a time. */
function* hostile(key: string): Generator<Sent> {
  for (const route of routes) {
    const { method, access } = route;
    const plain = route.path.replace(/:\w+/g, UUID);
    const token = access === 'agent' || access === 'key' ? key : ADMIN_TOKEN;
    const headers: Record<string, string> = access === 'public' ? {} : { Authorization: `Bearer ${token}` };
    const sample = BODIES[named(route)];
    const body = sample === undefined ? {} : { body: JSON.stringify(sample) };
    const json = { ...headers, ...(sample && { 'Content-Type': 'application/json' }) };
    for (const [, name = ''] of route.path.matchAll(/:(\w+)/g)) {
      for (const text of PATHS) {
        const path = route.path.replace(`:${name}`, text).replace(/:\w+/g, UUID);
        yield { what: `${named(route)} :${name} ${text.slice(0, 9)}`, method, path, headers: json, ...body };
      }
    }
    for (const name of Object.keys(route.query?.shape ?? {})) {
      for (const text of ['%00', 'a%00', '%ED%A0%80', '%zz', 'a'.repeat(8000)]) {
        const path = `${plain}?${name}=${text}`;
        yield { what: `${named(route)} ?${name}=${text.slice(0, 9)}`, method, path, headers, ...body };
      }
    }
    if (sample === undefined) continue;
    for (const [where, poisoned] of poisonings(sample)) {
      const what = `${named(route)} ${where}`;
      yield { what, method, path: plain, headers: json, body: JSON.stringify(poisoned) };
      if (!route.form) continue;
      const form = { ...headers, 'Content-Type': 'application/x-www-form-urlencoded' };
      const fields = new URLSearchParams(poisoned as Record<string, string>);
      yield { what: `${what} in a form`, method, path: plain, headers: form, body: fields.toString() };
    }
  }
}

/** The same value with one of its texts, or the name of a field, poisoned. */
function* poisonings(value: unknown): Generator<[string, unknown]> {
  if (typeof value === 'string') {
    for (const text of [NUL, LONE]) {
      yield [JSON.stringify(text), text];
      yield [JSON.stringify(value + text), value + text];
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, part] of Object.entries(value)) {
      for (const [where, poisoned] of poisonings(part)) {
        const copy = Array.isArray(value) ? [...value] : { ...value };
        yield [`/${name}${where}`, Object.assign(copy, { [name]: poisoned })];
      }
    }
    if (!Array.isArray(value)) yield ['/NUL', { ...value, [NUL]: 1 }];
  }
}

async function statusOf(service: TestService, { method, path, headers, body }: Sent): Promise<number> {
  const response = await fetch(service.url + path, {
    method,
    headers: { ...headers, ...from() },
    redirect: 'manual',
    signal: AbortSignal.timeout(60_000),
    ...(body !== undefined && method !== 'GET' && { body }),
  });
  await response.body?.cancel();
  // A door says in its own language that it failed, with a status that says nothing.
  const code = response.headers.get('X-Toolgate-Error') as ErrorCode | null;
  return code === null ? response.status : STATUS[code];
}

/** What was failed inside, or not answered at all. */
async function failed(service: TestService, key: string): Promise<string[]> {
  const found: string[] = [];
  for (const sent of hostile(key)) {
    const status = await statusOf(service, sent).catch(() => 0);
    if (status === 0 || status >= 500) found.push(`${sent.what}: ${status}`);
  }
  return found;
}

async function withService<T>(
  engine: Engine,
  work: (service: TestService, key: string) => Promise<T>,
  root?: string,
): Promise<T> {
  const service = await startOAuth({ engine, ...(root && { root }) });
  try {
    return await work(service, (await service.newKey([{ tool: '*', action: 'require_approval' }])).key);
  } finally {
    await service.close();
  }
}

/** PostgreSQL refuses what SQLite would take, so it tells more; SQLite is tried on change, or where there is nothing else. */
const watched = await enginesWhenChanged('src/store/**', 'src/http/**');
const tried = watched.includes('postgres') ? watched : (await engines()).slice(-1);
for (const engine of tried) {
  describe(engine, () => {
    test('no route fails inside, whatever stands in a path, a query or a body', async () => {
      const errors = await withService(engine, async (service, key) => {
        expect(await failed(service, key)).toEqual([]);
        return service.output.split('\n').filter(line => line.includes('"level":"error"'));
      });
      expect(errors).toEqual([]);
    });

    test('a path is 404, a query and a body 400, and they say why', async () => {
      await withService(engine, async (service, key) => {
        const ended = await service.json('DELETE', '/v1/sessions/%00', key);
        expect([ended.status, ended.body.code]).toEqual([404, 'not_found']);
        expect((await service.admin('GET', '/keys/a%00b/connected-tools')).status).toBe(404);
        for (const path of ['/audit?tool=%00', '/audit/export?tool=%00']) {
          const { status, body } = await service.admin('GET', path);
          expect(status).toBe(400);
          expect(body.errors).toEqual([{ path: '/tool', message: 'must not contain the character U+0000' }]);
        }
        const signIn = { email: `${NUL}@example.com`, password: PASSWORD };
        const refused = await service.json('POST', '/admin/v1/sign-in', null, signIn);
        expect(refused.status).toBe(400);
        expect(refused.body.errors[0].path).toBe('/email');
      });
    });

    test('arguments of a call may hold them', async () => {
      const upstream = new RecordingUpstream();
      await withService(engine, async service => {
        const { key, keyId } = await service.newKey([
          { tool: 'held', action: 'require_approval' },
          { tool: '*', action: 'allow' },
        ]);
        await connect(service, keyId, 'up', upstream.url);
        const args = { [NUL]: NUL, text: `a${NUL}b` };
        for (const toolName of ['held', 'free']) {
          expect((await service.check(key, 'x', toolName, { args })).status).toBe(200);
        }
        const { result } = await modern(service, key, 'tools/call', { name: 'up__echo', arguments: args });
        expect(JSON.parse(result.content[0].text)).toEqual(args);
        const client = await LegacyClient.open(service, key, `2025${NUL}`, NUL);
        for (const [method, params] of Object.entries({
          'logging/setLevel': { level: NUL },
          'tools/call': { name: `up__${NUL}`, _meta: { progressToken: NUL } },
          'resources/read': { uri: `up+${NUL}` },
          [`tools/${NUL}`]: { [NUL]: NUL },
        })) {
          const { error } = await client.request(method, params);
          expect([-32601, -32602]).toContain(error.code);
        }
        expect((await client.notify('notifications/cancelled', { requestId: NUL })).status).toBe(202);
      });
      await upstream.stop();
    });
  });
}

whenChanged(ANY_TEXT).if((await engines()).includes('postgres'))(
  'a mutant that takes any text is found out',
  async () => {
    const found = await withMutant([ANY_TEXT], root => withService('postgres', failed, root));
    expect(found.length).toBeGreaterThan(20);
  },
);
