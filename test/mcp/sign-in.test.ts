// Connected Tools behind OAuth, in one process with a real authorization server: what a client of either era is told
// before somebody has signed in, that people never share a connection, a list or a token, and that renewed tokens go
// unnoticed.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { resolveByOperator } from '../../src/guard/approvals/approvals.ts';
import { GuardedCall } from '../../src/guard/check/guarded-call.ts';
import { Learner } from '../../src/guard/check/learner.ts';
import { OutcomeLog } from '../../src/guard/check/outcomes.ts';
import { createPolicy } from '../../src/guard/check/policies.ts';
import type { Principal } from '../../src/guard/credentials.ts';
import type { Deps } from '../../src/guard/deps.ts';
import { newId } from '../../src/guard/ids.ts';
import { createKey } from '../../src/guard/keys.ts';
import { CallerTurns } from '../../src/guard/rations/caller-turns.ts';
import { Rations } from '../../src/guard/rations/rations.ts';
import { ServerSignIns, SignInNeeded } from '../../src/guard/server-sign-ins/server-sign-ins.ts';
import { acceptOfTool } from '../../src/guard/tool-servers/accept.ts';
import { connectServer, connectTool } from '../../src/guard/tool-servers/connected-tools.ts';
import { definitionDigest } from '../../src/guard/tool-servers/definitions.ts';
import { editTool } from '../../src/guard/tool-servers/edit-tool.ts';
import { makeToolServer } from '../../src/guard/tool-servers/tool-servers.ts';
import { AwaitedAnswers } from '../../src/mcp/awaited-answers.ts';
import { CallSlots } from '../../src/mcp/call-slots.ts';
import { post } from '../../src/mcp/endpoint.ts';
import { Hub } from '../../src/mcp/hub.ts';
import { Listing } from '../../src/mcp/listing.ts';
import { McpSessions } from '../../src/mcp/mcp-sessions.ts';
import type { McpServices } from '../../src/mcp/services.ts';
import { resumeCall } from '../../src/mcp/tasks/resumed-call.ts';
import type { ConnectedTool } from '../../src/store/connected-tools.ts';
import { searchAudit } from '../../src/store/log/audit-search.ts';
import { findOutcome } from '../../src/store/log/outcomes.ts';
import { insertSession } from '../../src/store/sessions.ts';
import { depsAt } from '../guard/deps.ts';
import { checksOf } from '../guard/group.ts';
import { ANYBODY, HERE, newOperator, RULES, signIn, visit } from '../guard/server-sign-ins/signing-in.ts';
import { NOW, openStore, sessionRecord, type TestStore } from '../store/stores.ts';
import { ECHO, envelope, META, RecordingUpstream } from '../support/mcp.ts';
import { OAuthUpstream } from '../support/oauth-upstream.ts';
import { refusal } from '../support/refusal.ts';
import { DECLARED } from '../support/tasks.ts';
import { clientRequest, HUB_SETTINGS } from './channel.ts';
import { taskServicesOf } from './tasks/services.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
type Any = any;

const MINUTE = 60_000;
const URL_ELICITATION = { elicitation: { url: {} } };
const TICKET = new RegExp(`${HERE}/oauth/connect/[\\w-]+`);

let server: OAuthUpstream;
const plain = new RecordingUpstream();
/** The tools that the server shows for a token. */
const shown = new Map<string, Any[]>();
beforeAll(async () => {
  server = await OAuthUpstream.start({
    others: {
      'tools/list': ({ headers }) => ({ tools: shown.get(headers['authorization'] ?? '') ?? [ECHO] }),
    },
  });
});
afterAll(async () => {
  await server.close();
  await plain.stop();
});

let store: TestStore;
let now: number;
let deps: Deps;
let keyId: string;
let tool: ConnectedTool;
let signIns: ServerSignIns;
let services: McpServices;
let strict = true;

beforeEach(async () => {
  store = await openStore('sqlite');
  now = NOW;
  deps = depsAt(store.db, () => now);
  deps = { ...deps, settings: { ...deps.settings, toolDrift: 'require_approval' } };
  signIns = new ServerSignIns(deps, RULES);
  signIns.servedAt(HERE);
  keyId = await newKey();
  tool = await newTool('up', 'person');
  await connectTool(deps, 'admin', RULES, keyId, {
    name: 'plain',
    transport: 'http',
    target: plain.url,
    headers: null,
  });
  server.needed = 'mcp:tools';
  startServices();
});
afterEach(async () => {
  services.hub.close();
  await services.outcomes.flush();
  await store.close();
});

function startServices(settings: { maxPersonal?: number } = {}): void {
  const hub = new Hub(deps, { ...HUB_SETTINGS, serverSignIns: signIns, ...settings });
  services = {
    version: 'test',
    checks: checksOf(deps),
    learner: new Learner(deps, new CallerTurns()),
    guarded: watched => new GuardedCall(deps, watched, () => {}),
    hub,
    tracer: null,
    serverSignIns: signIns,
    mcpSessions: new McpSessions(deps),
    awaited: new AwaitedAnswers(deps.db, () => {}),
    listing: new Listing(deps, hub, strict, () => {}),
    outcomes: new OutcomeLog(deps, () => {}),
    slots: new CallSlots({ perKey: 10, perConnectedTool: 10 }),
    rations: new Rations(),
    timeoutMs: MINUTE,
    maxMs: MINUTE,
    onVerdict: () => {},
    callable: null,
    tasks: taskServicesOf(deps),
    relayedFor: async () => ['resources'],
  };
}

async function newKey(): Promise<string> {
  const rules = [
    { tool: 'deny*', action: 'deny' as const },
    { tool: 'ask*', action: 'require_approval' as const },
    { tool: '*', action: 'allow' as const },
  ];
  const { id: policyId } = await createPolicy(deps, 'admin', { name: newId(), description: '', rules });
  const input = { name: 'key', policyId, requireSignInToApprove: false, expiresAt: null, notify: null };
  const openTo = ['person:ann@example.com'];
  return (await createKey(deps, 'admin', { ...input, forward: ['resources'], openTo })).key.id;
}

const newTool = (name: string, as: 'key' | 'person') =>
  connectTool(deps, 'admin', RULES, keyId, {
    name,
    transport: 'http',
    target: server.url,
    headers: null,
    oauth: { as },
  });

async function newPerson(): Promise<Principal & { personId: string }> {
  const personId = await newOperator(deps);
  await store.db.run('UPDATE keys SET open_to = $1 WHERE id = $2', [
    JSON.stringify([...(await openTo()), `person:${personId}@example.com`]),
    keyId,
  ]);
  const session = sessionRecord({ keyId, personId, expiresAt: NOW + 1000 * MINUTE });
  await insertSession(store.db, session, `oauth ${session.id}`);
  return { kind: 'session', keyId, sessionId: session.id, scope: null, personId };
}
const openTo = async (): Promise<string[]> =>
  JSON.parse(
    (await store.db.all<{ openTo: string }>('SELECT open_to AS "openTo" FROM keys WHERE id = $1', [keyId]))[0]
      ?.openTo ?? '[]',
  );
const owner = (): Principal => ({ kind: 'key', keyId, sessionId: null, scope: null });

async function sent(principal: Principal, body: Any, headers: Record<string, string>): Promise<Any> {
  const request = new Request('http://toolgate/mcp', { headers });
  const asked = clientRequest(request, principal);
  const response = await post(services, asked, { jsonrpc: '2.0', id: 1, ...body });
  return { ...((await response.json()) as Any), session: response.headers.get('mcp-session-id') };
}
const modern = (principal: Principal, method: string, params: Any = {}, capabilities: Any = {}) => {
  const _meta = envelope({ [`${META}clientCapabilities`]: capabilities });
  const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method };
  const named = params.name ?? params.uri;
  return sent(
    principal,
    { method, params: { ...params, _meta } },
    { ...headers, ...(named && { 'Mcp-Name': named }) },
  );
};
const call = (principal: Principal, name: string, capabilities: Any = {}, more: Any = {}) =>
  modern(principal, 'tools/call', { name, arguments: { a: 1 }, ...more }, capabilities);
async function legacy(principal: Principal, name: string, capabilities: Any, version = '2025-11-25') {
  const params = { protocolVersion: version, capabilities, clientInfo: { name: 'test', version: '1' } };
  const { session } = await sent(principal, { method: 'initialize', params }, {});
  return sent(principal, { method: 'tools/call', params: { name } }, { 'Mcp-Session-Id': session });
}
const names = async (principal: Principal): Promise<string[]> =>
  (await modern(principal, 'tools/list')).result.tools.map((each: Any) => each.name);
const textOf = ({ result }: Any): string => (result.isError ? result.content[0].text : 'no error');

/** The newest entries of the audit log with their outcomes, the newest first. */
async function entries(count: number): Promise<string[]> {
  await services.outcomes.flush();
  const found = (await searchAudit(deps.db, { keyId }, count, 'z')).entries;
  return Promise.all(
    found.map(async ({ id, toolName, decision }) => {
      const outcome = (await findOutcome(deps.db, id))?.outcome ?? 'not sent';
      return `${toolName} ${decision} ${outcome}`;
    }),
  );
}
const headersOf = (method: string) => server.mcp.of(method).map(each => each.headers['authorization']);

test('before a sign-in a list has the other tools, and the server is not asked', async () => {
  const ann = await newPerson();
  const before = server.authorizations.length;
  expect(await names(ann)).toEqual(['plain__echo']);
  expect(await names(owner())).toEqual(['plain__echo']);
  expect(server.authorizations.length).toBe(before);
});

test('a call that needs a sign-in is recorded first, and then told in the way that the client declared', async () => {
  const ann = await newPerson();
  const text = textOf(await call(ann, 'up__echo'));
  expect(text).toMatch(/^Sign in to up, then call again: http\S+\w$/);
  expect(text).toMatch(TICKET);
  expect(textOf(await call(ann, 'up__echo', { elicitation: {} }))).toMatch(TICKET);
  const { result } = await call(ann, 'up__echo', URL_ELICITATION);
  expect(result).toEqual({
    resultType: 'input_required',
    inputRequests: {
      'toolgate/sign-in': {
        method: 'elicitation/create',
        params: { mode: 'url', message: 'Sign in to up first.', url: expect.stringMatching(TICKET) },
      },
    },
  });
  const { error } = await legacy(ann, 'up__echo', URL_ELICITATION);
  expect(error).toEqual({
    code: -32042,
    message: 'Sign in to up first.',
    data: {
      elicitations: [
        {
          mode: 'url',
          message: 'Sign in to up first.',
          url: expect.stringMatching(TICKET),
          elicitationId: expect.any(String),
        },
      ],
    },
  });
  expect(textOf(await legacy(ann, 'up__echo', {}))).toMatch(TICKET);
  // The error is unknown in older revisions.
  expect(textOf(await legacy(ann, 'up__echo', URL_ELICITATION, '2025-06-18'))).toMatch(TICKET);
  expect(await entries(7)).toEqual(Array(6).fill('echo allow sign_in_needed'));
  expect(server.mcp.calls).toEqual([]);
});

test('a task whose server wants a sign-in ends with the address, and its approval stays', async () => {
  const ann = await newPerson();
  const { result } = await call(ann, 'up__ask', { ...URL_ELICITATION, ...DECLARED });
  expect(result).toMatchObject({ resultType: 'task', status: 'working' });
  const { taskId } = result;
  await store.db.run(`UPDATE approvals SET status = 'approved', resolved_at = $1 WHERE id = $2`, [
    now,
    taskId,
  ]);
  await resumeCall(services, taskId, new AbortController());
  const ended = await sent(
    ann,
    { method: 'tasks/get', params: { taskId, _meta: envelope({ [`${META}clientCapabilities`]: DECLARED }) } },
    { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tasks/get', 'Mcp-Name': taskId },
  );
  expect(ended.result.status).toBe('completed');
  expect(textOf({ result: ended.result.result })).toMatch(TICKET);
  expect(await entries(2)).toEqual(['ask allow sign_in_needed', 'ask pending not sent']);
  const [approval] = await store.db.all<Any>('SELECT spent_at FROM approvals WHERE id = $1', [taskId]);
  expect(approval).toEqual({ spent_at: null });
  expect(server.mcp.calls).toEqual([]);
});

test('a call that is denied or waits gets no address, and a name that no tool can have is unknown', async () => {
  const ann = await newPerson();
  for (const name of ['up__deny-it', 'up__ask']) {
    const answer = JSON.stringify(await call(ann, name, URL_ELICITATION));
    expect(answer).not.toContain('/oauth/connect');
    expect(answer).toMatch(name === 'up__ask' ? /pending/ : /Blocked by policy/);
  }
  expect(await entries(2)).toEqual(['ask pending not sent', 'deny-it deny not sent']);
  for (const name of ['up__', 'other__echo', `up__${'x'.repeat(300)}`])
    expect((await call(ann, name)).error.message).toStartWith('Unknown tool');
  expect((await entries(9)).length).toBe(2);
});

test('a credential without a person is told that a person has to sign in, and a key’s server that an admin has to', async () => {
  expect(textOf(await call(owner(), 'up__echo', URL_ELICITATION))).toStartWith(
    'A person has to sign in to up:',
  );
  await newTool('shared', 'key');
  const ann = await newPerson();
  for (const who of [ann, owner()])
    expect(textOf(await call(who, 'shared__echo', URL_ELICITATION))).toBe(
      `An admin has to sign in to shared first, then call again: ${HERE}/dashboard/keys/${keyId}`,
    );
  expect(await entries(3)).toEqual(Array(3).fill('echo allow sign_in_needed'));
  const read = await modern(ann, 'resources/read', { uri: 'up+file://x' });
  expect(read.error.message).toMatch(TICKET);
});

for (const drift of ['strict', 'allow'] as const) {
  test(`an approval is not spent by a call that needs a sign-in (${drift})`, async () => {
    strict = drift === 'strict';
    startServices();
    server.mcp.options.tools = [ECHO];
    const ann = await newPerson();
    const askTool = { ...ECHO, name: 'ask' };
    const { referenceId } = (await call(ann, 'up__ask')).result.structuredContent;
    await resolveByOperator(deps, 'admin', referenceId, { action: 'approve', grantMs: null });
    expect(textOf(await call(ann, 'up__ask'))).toMatch(TICKET);
    await signIn(signIns, tool, { personId: ann.personId });
    shown.set(await signIns.authorization(tool, ann.personId), [askTool]);
    const calls = server.mcp.calls.length;
    expect((await call(ann, 'up__ask')).result.content[0].text).toBe('{"a":1}');
    expect((await call(ann, 'up__ask')).result.structuredContent.status).toBe('pending');
    expect(server.mcp.calls.length).toBe(calls + 1);
    expect(await entries(4)).toEqual([
      'ask pending not sent',
      'ask allow ok',
      'ask allow sign_in_needed',
      'ask pending not sent',
    ]);
    strict = true;
  });
}

test('two people have two accounts: neither sees the list, the session, the token or the failure of the other', async () => {
  const [ann, bob] = [await newPerson(), await newPerson()];
  await names(ann);
  await names(bob);
  const told: string[] = [];
  services.hub.onListChanged(keyId, () => told.push('ann'), ann.personId);
  services.hub.onListChanged(keyId, () => told.push('bob'), bob.personId);
  services.hub.onListChanged(keyId, () => told.push('key'));
  const tokens: string[] = [];
  for (const [who, login, tools] of [
    [ann, 'ann', [ECHO, { ...ECHO, name: 'of-ann' }]],
    [bob, 'bob', [{ ...ECHO, description: 'Another one.' }]],
  ] as const) {
    await signIn(signIns, tool, { personId: who.personId, login });
    const header = await signIns.authorization(tool, who.personId);
    tokens.push(header);
    shown.set(header, [...tools]);
    expect(told).toEqual(who === ann ? ['ann'] : ['ann', 'bob']);
    if (who === ann) expect(await names(bob)).toEqual(['plain__echo']);
  }
  expect(new Set(tokens).size).toBe(2);
  expect(await names(ann)).toEqual(['plain__echo', 'up__echo', 'up__of-ann']);
  expect(await names(bob)).toEqual(['plain__echo', 'up__echo']);
  expect(await names(owner())).toEqual(['plain__echo']);
  const from = server.mcp.heard.length;
  expect((await call(ann, 'up__echo')).result.content[0].text).toBe('{"a":1}');
  // Bob is shown another definition than the accepted one, which concerns him alone.
  expect((await call(bob, 'up__echo')).result.structuredContent.status).toBe('pending');
  expect((await call(bob, 'up__of-ann')).error.message).toBe('Unknown tool: up__of-ann');
  expect((await call(ann, 'up__echo')).result.content[0].text).toBe('{"a":1}');
  expect(server.mcp.calls.slice(-2).map(each => each.headers['authorization'])).toEqual([
    tokens[0] as string,
    tokens[0] as string,
  ]);
  const sessions = (token: string) =>
    new Set(
      server.mcp.heard
        .slice(from)
        .filter(each => each.headers['authorization'] === token)
        .map(each => each.headers['mcp-session-id']),
    );
  for (const session of sessions(tokens[0] as string))
    expect(sessions(tokens[1] as string)).not.toContain(session);
  await signIns.disconnect('admin', tool, bob.personId);
  expect(told).toEqual(['ann', 'bob', 'bob']);
  expect(await names(bob)).toEqual(['plain__echo']);
  expect(textOf(await call(bob, 'up__echo'))).toMatch(TICKET);
  expect((await call(ann, 'up__echo')).result.content[0].text).toBe('{"a":1}');
  expect(await services.listing.test((await services.hub.find(keyId, tool.id)) as Any)).toMatchObject({
    ok: false,
  });
});

test('what one person is shown is looked at for that person, in reviewed servers and where something is hidden', async () => {
  const people = [await newPerson(), await newPerson(), await newPerson()] as const;
  const [ann, bob, eve] = people;
  const definitions = [
    { ...ECHO, title: 'Of Ann' },
    { ...ECHO, title: 'Of Bob' },
    { ...ECHO, title: 'Of Eve\u200b' },
  ];
  for (const [index, { personId }] of people.entries()) {
    await signIn(signIns, tool, { personId, login: `p${index}` });
    shown.set(await signIns.authorization(tool, personId), [definitions[index]]);
  }
  const ran = async (who: Principal) =>
    (await call(who, 'up__echo')).result.structuredContent?.status ?? 'ran';
  // Ann's is the first, and Eve's hides something, though it is hers alone.
  deps.settings.toolDrift = 'allow';
  expect([await ran(ann), await ran(bob), await ran(eve)]).toEqual(['ran', 'ran', 'pending']);
  const accept = async (definition: Any) =>
    acceptOfTool(deps, 'admin', keyId, tool.id, [{ name: 'echo', digest: definitionDigest(definition) }]);
  await editTool(deps, 'admin', RULES, keyId, tool.id, { trust: 'reviewed' });
  expect([await ran(ann), await ran(bob), await ran(eve)]).toEqual(['pending', 'pending', 'pending']);
  await names(bob);
  await accept(definitions[1]);
  expect([await ran(ann), await ran(bob), await ran(eve)]).toEqual(['pending', 'ran', 'pending']);
});

test('a client that sent its user to the address waits for the sign-in, and one whose user did not want to is not asked again', async () => {
  const ann = await newPerson();
  const answered = (action: string) => ({ inputResponses: { 'toolgate/sign-in': { action } } });
  expect(textOf(await call(ann, 'up__echo', URL_ELICITATION, answered('decline')))).toMatch(TICKET);
  const waiting = call(ann, 'up__echo', URL_ELICITATION, answered('accept'));
  await signIn(signIns, tool, { personId: ann.personId });
  expect((await waiting).result.content[0].text).toBe('{"a":1}');
  expect(server.mcp.calls.at(-1)?.params).toEqual({ name: 'echo', arguments: { a: 1 } });
});

test('tokens are renewed without the client noticing, and a sign-in that the server has ended is asked for again', async () => {
  const ann = await newPerson();
  await signIn(signIns, tool, { personId: ann.personId });
  const echoes = async () => (await call(ann, 'up__echo')).result.content[0].text;
  expect(await echoes()).toBe('{"a":1}');
  const sessions = server.mcp.of('initialize').length;
  now += 3600_000;
  expect(await echoes()).toBe('{"a":1}');
  now += 2 * MINUTE;
  const token = String(headersOf('tools/call').at(-1)).slice('Bearer '.length);
  await server.revoke(token);
  const refreshes = server.refreshes.length;
  expect(await echoes()).toBe('{"a":1}');
  expect(server.refreshes.length).toBe(refreshes + 1);
  expect(new Set(headersOf('tools/call').slice(-3)).size).toBe(3);
  expect(server.mcp.of('initialize').length).toBe(sessions);
  // A token that is refused as soon as it was given is not renewed again.
  await server.revoke(String(headersOf('tools/call').at(-1)).slice('Bearer '.length));
  expect(textOf(await call(ann, 'up__echo'))).toMatch(TICKET);
  expect(await entries(1)).toEqual(['echo allow sign_in_needed']);
  await signIn(signIns, tool, { personId: ann.personId });
  expect(await echoes()).toBe('{"a":1}');
  // The server wants more for this call.
  server.needed = 'mcp:admin';
  expect(textOf(await call(ann, 'up__echo'))).toMatch(TICKET);
  await signIn(signIns, tool, { personId: ann.personId });
  expect(await echoes()).toBe('{"a":1}');
});

test('a sign-in of which no hint arrived is seen by the next list and the next call', async () => {
  const ann = await newPerson();
  await signIn(signIns, tool, { personId: ann.personId });
  const rename = (from: string, to: string) =>
    store.db.run('UPDATE server_sign_ins SET person_id = $2 WHERE person_id = $1', [from, to]);
  for (const work of [() => names(ann), () => call(ann, 'up__echo')]) {
    await rename(ann.personId, 'away');
    expect(await names(ann)).toEqual(['plain__echo']);
    await rename('away', ann.personId);
    expect(JSON.stringify(await work())).toMatch(/up__echo|a..:1/);
    services.hub.close();
  }
});

test('a key’s own sign-in serves everybody, and a restart knows its tools while nobody is signed in', async () => {
  const shared = await newTool('shared', 'key');
  const ann = await newPerson();
  await signIn(signIns, shared);
  expect(await names(ann)).toEqual(['plain__echo', 'shared__echo']);
  for (const who of [ann, owner()]) expect((await call(who, 'shared__echo')).result.content).toBeDefined();
  expect(new Set(headersOf('tools/call').slice(-2)).size).toBe(1);
  await signIns.disconnect('admin', shared, null);
  startServices();
  expect(await names(ann)).toEqual(['plain__echo']);
  expect(textOf(await call(ann, 'shared__echo'))).toStartWith('An admin has to sign in to shared first');
});

test('a server that repeats the header that it was sent is not quoted in our errors', async () => {
  const ann = await newPerson();
  await signIn(signIns, tool, { personId: ann.personId });
  const seen: unknown[] = [];
  services = {
    ...services,
    listing: new Listing(deps, services.hub, strict, (_, error) => seen.push(error)),
  };
  const echo = ({ headers, id }: Any) => {
    const error = { code: -32000, message: `no: ${headers['authorization']}` };
    return Response.json({ jsonrpc: '2.0', id, error });
  };
  const { others } = server.mcp.options;
  for (const [method, what] of [
    ['tools/list', 'tools/list'],
    ['initialize', 'to initialize'],
  ] as const) {
    server.mcp.options.others = { ...others, [method]: echo };
    services.hub.close();
    const said = [await names(ann), await call(ann, 'up__echo')];
    server.mcp.options.others = others;
    expect((seen.at(-1) as Error).message).toBe(`the upstream refused ${what}: error -32000`);
    expect(Bun.inspect([seen, said])).not.toContain('Bearer');
  }
});

test('the connections of people are bounded, and one that was given up ends with its last request', async () => {
  startServices({ maxPersonal: 2 });
  const people = [await newPerson(), await newPerson(), await newPerson()];
  for (const { personId } of people) await signIn(signIns, tool, { personId });
  for (const who of people) expect((await call(who, 'up__echo')).result.content).toBeDefined();
  expect(services.hub.personal).toBe(2);
  const [first] = people as [Principal & { personId: string }];
  const held = (await services.hub.of(keyId, first.personId)).find(each => each.tool.id === tool.id);
  for (const who of people) await services.hub.of(keyId, who.personId);
  await held?.upstream.reach(new AbortController().signal);
  expect(held?.upstream.health.state).toBe('idle');
  now += 11 * MINUTE;
  services.hub.closeIdle();
  expect(services.hub.personal).toBe(0);
});

test('a server that keys share has one connection of each person for all of them, who is told there of the sign-in', async () => {
  const shared = await makeToolServer(deps, 'admin', RULES, {
    name: 'both',
    transport: 'http',
    target: server.url,
    headers: null,
    oauth: { as: 'person' },
  });
  const [ann, bob] = [await newPerson(), await newPerson()];
  const firstKey = keyId;
  keyId = await newKey();
  for (const key of [firstKey, keyId]) await connectServer(deps, 'admin', key, { toolServerId: shared.id });
  const told: string[] = [];
  for (const key of [firstKey, keyId]) {
    await services.hub.of(key, ann.personId);
    services.hub.onListChanged(key, () => told.push(`ann ${key}`), ann.personId);
    services.hub.onListChanged(key, () => told.push(`bob ${key}`), bob.personId);
  }
  await signIn(signIns, shared, { personId: ann.personId });
  expect(told.sort()).toEqual([`ann ${firstKey}`, `ann ${keyId}`].sort());
  const connections = async (personId: string) =>
    Promise.all(
      [firstKey, keyId].map(async key => {
        const found = (await services.hub.of(key, personId)).find(
          each => each.tool.toolServerId === shared.id,
        );
        await found?.upstream.connect().catch(() => {});
        return found?.upstream;
      }),
    );
  const [here, there] = await connections(ann.personId);
  expect(here).toBe(there!);
  // The other one is that of the first key's own server.
  expect([here?.health.state, services.hub.personal]).toEqual(['ready', 2]);
  const [his] = await connections(bob.personId);
  expect(his).not.toBe(here!);
  expect(his?.condition).toBe('sign_in_needed');
});

test('a changed address ends the sign-ins at once, and no token reaches another server', async () => {
  const ann = await newPerson();
  await signIn(signIns, tool, { personId: ann.personId });
  expect((await call(ann, 'up__echo')).result.content).toBeDefined();
  const edit = (changes: Parameters<typeof editTool>[5]) =>
    editTool(deps, 'admin', RULES, keyId, tool.id, changes);
  // Another name or other scopes leave the sign-in as it is.
  await edit({ name: 'renamed', oauth: { as: 'person', scopes: ['mcp:tools'] } });
  expect(await names(ann)).toEqual(['plain__echo', 'renamed__echo']);
  const begun = await visit(signIns, tool, { personId: ann.personId });
  const stranger = new RecordingUpstream();
  const moved = await edit({ target: stranger.url });
  expect(textOf(await call(ann, 'renamed__echo'))).toMatch(TICKET);
  expect(await refusal(signIns.finish({ toolId: tool.id, ...begun }, ANYBODY))).toMatchObject({
    code: 'gone',
  });
  // Somebody who still knows the address before gets nothing that was given for the new one.
  await edit({ target: tool.target });
  await signIn(signIns, tool, { personId: ann.personId });
  expect(await signIns.authorization(tool, ann.personId)).toStartWith('Bearer ');
  expect(await refusal(signIns.authorization(moved, ann.personId))).toBeInstanceOf(SignInNeeded);
  expect(stranger.heard).toEqual([]);
  await edit({ oauth: { as: 'person', clientId: 'another' } });
  expect(await refusal(signIns.authorization(tool, ann.personId))).toBeInstanceOf(SignInNeeded);
  await stranger.stop();
});
