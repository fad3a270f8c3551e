// What the answers of one key have of its share, in one process: calls whose answers have no room wait, however they are
// answered; lists have places and are made once for a batch; and when all is read, nothing is held.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { GuardedCall } from '../../src/guard/check/guarded-call.ts';
import { Learner } from '../../src/guard/check/learner.ts';
import { OutcomeLog } from '../../src/guard/check/outcomes.ts';
import { createPolicy } from '../../src/guard/check/policies.ts';
import type { Principal } from '../../src/guard/credentials.ts';
import type { Deps } from '../../src/guard/deps.ts';
import { newId } from '../../src/guard/ids.ts';
import { createKey } from '../../src/guard/keys.ts';
import { CallerTurns } from '../../src/guard/rations/caller-turns.ts';
import { ANSWER_BYTES, Rations } from '../../src/guard/rations/rations.ts';
import { ServerSignIns } from '../../src/guard/server-sign-ins/server-sign-ins.ts';
import { AwaitedAnswers } from '../../src/mcp/awaited-answers.ts';
import { CallSlots } from '../../src/mcp/call-slots.ts';
import { post } from '../../src/mcp/endpoint.ts';
import { Hub } from '../../src/mcp/hub.ts';
import { Listing } from '../../src/mcp/listing.ts';
import { McpSessions } from '../../src/mcp/mcp-sessions.ts';
import type { ClientRequest, McpServices } from '../../src/mcp/services.ts';
import { insertConnectedTool } from '../../src/store/connected-tools.ts';
import { depsAt } from '../guard/deps.ts';
import { checksOf } from '../guard/group.ts';
import { connectedTool, openStore, type TestStore } from '../store/stores.ts';
import { until } from '../support/faults.ts';
import { type Answering, ECHO, events, RecordingUpstream, streamed } from '../support/mcp.ts';
import { refusal } from '../support/refusal.ts';
import { countTurns } from '../support/turns.ts';
import { clientRequest, HUB_SETTINGS } from './channel.ts';
import { taskServicesOf } from './tasks/services.ts';

const MINUTE = 60_000;
const MIB = 1024 * 1024;
/** Two answers of this size have room in a share. */
const LARGE = 6 * MIB;
const result = { content: [{ type: 'text', text: 'x'.repeat(LARGE) }] };
/** The oldest answer never waits, so a share may hold that much more. */
const MOST = ANSWER_BYTES + LARGE + MIB;

let answering: Answering;
let listing: () => unknown;
const upstream = new RecordingUpstream({
  capabilities: { tools: {}, resources: {} },
  onCall: call => answering(call),
  others: {
    'tools/list': () => listing(),
    'resources/list': () => ({ resources: [{ uri: `file:///${'x'.repeat(MIB)}` }] }),
  },
});

/** Counts what is asked of the store. */
class CountingSessions extends McpSessions {
  found = 0;
  override find(...given: Parameters<McpSessions['find']>) {
    this.found++;
    return super.find(...given);
  }
}

let store: TestStore;
let deps: Deps;
let hub: Hub;
let rations: Rations;
let mcpSessions: CountingSessions;
let services: McpServices;
let relayedFor = 0;
let principal: Principal;
let mcpSessionId: string;
beforeAll(async () => {
  store = await openStore('sqlite');
  deps = depsAt(store.db);
});
beforeEach(async () => {
  answering = () => result;
  listing = () => ({ tools: [ECHO] });
  relayedFor = 0;
  rations = new Rations();
  hub = new Hub(deps, { ...HUB_SETTINGS, rations });
  mcpSessions = new CountingSessions(deps);
  services = {
    version: 'test',
    checks: checksOf(deps, 1000),
    learner: new Learner(deps, new CallerTurns()),
    guarded: watched => new GuardedCall(deps, watched, () => {}),
    hub,
    tracer: null,
    mcpSessions,
    awaited: new AwaitedAnswers(deps.db, () => {}),
    serverSignIns: new ServerSignIns(deps, { allowPrivate: true }),
    listing: new Listing(deps, hub, false, () => {}),
    outcomes: new OutcomeLog(deps, () => {}),
    slots: new CallSlots({ perKey: 5, perConnectedTool: 5 }),
    rations,
    timeoutMs: MINUTE,
    maxMs: MINUTE,
    onVerdict: () => {},
    callable: null,
    tasks: taskServicesOf(deps),
    relayedFor: async () => {
      relayedFor++;
      return ['resources'];
    },
  };
  principal = await newPrincipal();
  mcpSessionId = await mcpSessions.open(principal, '2025-03-26');
});
afterEach(async () => {
  expect(rations.held.answers).toBe(0);
  hub.close();
  await services.outcomes.flush();
});
afterAll(async () => {
  await store.close();
  await upstream.stop();
});

async function newPrincipal(): Promise<Principal> {
  const rules = [{ tool: '*', action: 'allow' as const }];
  const { id: policyId } = await createPolicy(deps, 'admin', { name: newId(), description: '', rules });
  const settings = { requireSignInToApprove: false, expiresAt: null, notify: null, forward: [] };
  const { key } = await createKey(deps, 'admin', { name: newId(), policyId, ...settings });
  const row = connectedTool({ keyId: key.id, target: upstream.url });
  await store.db.transaction({}, async tx => insertConnectedTool(tx, row));
  return { kind: 'key', keyId: key.id, sessionId: null, scope: null };
}

function asked(who = principal, session = mcpSessionId, signal?: AbortSignal): ClientRequest {
  const headers = { 'Mcp-Session-Id': session, Accept: 'application/json, text/event-stream' };
  const request = new Request('http://localhost/mcp', { headers, ...(signal && { signal }) });
  return clientRequest(request, who, rations);
}

const CALL = { method: 'tools/call', params: { name: 'up__echo' } };
const send = (message: object, by = asked(), within = services) =>
  post(within, by, { jsonrpc: '2.0', id: 1, ...message } as never);
const batch = (messages: object[], by = asked()) =>
  post(services, by, messages.map((each, id) => ({ jsonrpc: '2.0', id, ...each })) as never);

/** Calls whose answers are read when the test says so, in the order in which they came. */
function unread(count: number): Response[] {
  const came: Response[] = [];
  for (let n = 0; n < count; n++) send(CALL).then(response => came.push(response));
  return came;
}
/** Some of an answer waits for room, which the answers before it fill. */
const isCrowded = () => rations.held.answers > 2 * LARGE + MIB / 2;

async function readAll(came: Response[], count: number): Promise<string[]> {
  const texts: string[] = [];
  for (let n = 0; n < count; n++) {
    await until(`answer ${n}`, () => came.length > 0);
    expect(rations.held.answers).toBeLessThanOrEqual(MOST);
    texts.push(await (came.shift() as Response).text());
  }
  return texts;
}

test('answers that have no room wait until others are read, and none is lost', async () => {
  const came = unread(5);
  await until('the share is full', isCrowded);
  expect(came.length).toBeLessThan(3);
  const texts = await readAll(came, 5);
  expect(texts.map(each => JSON.parse(each).result)).toEqual(new Array(5).fill(result));
});

test('another key has a share of its own', async () => {
  const came = unread(3);
  await until('the share is full', isCrowded);
  const other = await newPrincipal();
  const session = await mcpSessions.open(other, '2025-03-26');
  expect(((await (await send(CALL, asked(other, session))).json()) as { result: unknown }).result).toEqual(
    result,
  );
  await readAll(came, 3);
});

test('large answers and lists are parsed and written in turns of their key, small ones are not', async () => {
  const taken: string[] = [];
  const next = rations.turns.next.bind(rations.turns);
  rations.turns.next = caller => {
    taken.push(caller);
    return next(caller);
  };
  await (await send(CALL)).text();
  expect(taken).toEqual(new Array(2).fill(`key ${principal.keyId}`));
  const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 'x' } };
  answering = ({ id }) => streamed(say => [log, { jsonrpc: '2.0', id, result }].forEach(say));
  await (await send(CALL)).text();
  expect(taken).toHaveLength(4);
  listing = () => ({ tools: [{ ...ECHO, description: 'd'.repeat(200_000) }] });
  await (await send({ method: 'tools/list' })).text();
  expect(taken).toHaveLength(6);
  answering = () => ({ content: [] });
  await (await send(CALL)).text();
  expect(taken).toHaveLength(6);
});

test('a call that finds no room in its time says so, and gives back what it had', async () => {
  const came = unread(2);
  await until('both are here', () => came.length === 2);
  // It has to be long enough that the answer has begun to come, on a busy machine too.
  const late = await send(CALL, asked(), { ...services, timeoutMs: 1500, maxMs: 1500 });
  const { result: told } = (await late.json()) as { result: { content: { text: string }[] } };
  expect(told.content[0]?.text).toBe(
    'The call was allowed, but the answers of this key that nobody has read fill its share.',
  );
  await readAll(came, 2);
});

test('a call keeps its place until its answer is read, or its client has gone', async () => {
  services.slots = new CallSlots({ perKey: 1, perConnectedTool: 1 });
  const first = await send(CALL);
  const refused = await (await send(CALL)).text();
  expect(refused).toContain('1 calls of this key are under way');
  await first.body?.cancel();
  expect(rations.held.answers).toBe(0);
  await (await send(CALL)).text();
  expect(await (await send(CALL)).text()).toContain('xxx');
});

test('an answer as a stream of events counts too, and waits for room', async () => {
  const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 'x' } };
  answering = ({ id }) =>
    streamed(say => {
      say(log);
      say({ jsonrpc: '2.0', id, result });
    });
  const came = unread(5);
  await until('all streams are open', () => came.length === 5);
  await until('the share is full', isCrowded);
  expect(rations.held.answers).toBeLessThanOrEqual(MOST);
  const texts = await Promise.all(came.map(each => each.text()));
  expect(texts.map(each => events(each).at(-1).result)).toEqual(new Array(5).fill(result));
});

test('what is told before an answer counts only until it is told', async () => {
  const large = { level: 'error', data: 'x'.repeat(MIB) };
  const log = { jsonrpc: '2.0', method: 'notifications/message', params: large };
  const older = await send(CALL);
  answering = ({ id }) =>
    streamed(say => {
      for (let n = 0; n < 40; n++) say(log);
      say({ jsonrpc: '2.0', id, result: { content: [] } });
    });
  const told = await (await send(CALL)).text();
  expect(events(told).at(-1).result).toEqual({ content: [] });
  await older.text();
});

test('a batch of calls with large results loses none of them, and holds no more than a share', async () => {
  const response = await batch(new Array(5).fill(CALL));
  await until('the share is full', isCrowded);
  expect(rations.held.answers).toBeLessThanOrEqual(MOST);
  const members = (await response.json()) as { id: number; result: unknown }[];
  expect(members.map(each => each.id).sort()).toEqual([0, 1, 2, 3, 4]);
  expect(members.map(each => each.result)).toEqual(new Array(5).fill(result));
});

test('a client that leaves within the answer to a batch leaves nothing behind', async () => {
  const client = new AbortController();
  const response = await batch(new Array(5).fill(CALL), asked(principal, mcpSessionId, client.signal));
  await until('the share is full', isCrowded);
  client.abort();
  await response.body?.cancel();
  await until('nothing is held', () => rations.held.answers === 0);
  await (await send(CALL)).text();
});

test('a hundred lists in a batch are made once, and bounded together', async () => {
  const tools = Array.from({ length: 300 }, (_, n) => ({
    ...ECHO,
    name: `tool-${n}`,
    description: 'd'.repeat(10_000),
  }));
  listing = () => ({ tools: [ECHO, ...tools] });
  const before = upstream.of('tools/list').length;
  let confirmed = 0;
  const by = { ...asked(), confirm: async () => void confirmed++ };
  mcpSessions.found = 0;
  const lists = Array.from({ length: 99 }, (_, cursor) => ({ method: 'tools/list', params: { cursor } }));
  const text = await (await batch([...lists, CALL], by)).text();
  const members = JSON.parse(text) as { id: number; result?: object; error?: { message: string } }[];
  expect(members).toHaveLength(100);
  expect(members.find(each => each.id === 99)?.result).toEqual(result);
  const listed = members.filter(each => each.id !== 99 && each.result !== undefined);
  expect(listed.length).toBe(5);
  for (const { error } of members.filter(each => each.error !== undefined))
    expect(error?.message).toContain('have more than 16777216 bytes together');
  expect(text.length).toBeLessThan(MOST);
  expect(upstream.of('tools/list').length).toBe(before + 1);
  expect([confirmed, mcpSessions.found]).toEqual([1, 1]);
});

test('large batches take turns of their key, small ones do not', async () => {
  const turnsFor = async (pings: number) => {
    const turns = countTurns();
    await Promise.all(Array.from({ length: 50 }, () => batch(new Array(pings).fill({ method: 'ping' }))));
    return turns.stop();
  };
  expect(await turnsFor(10)).toBeLessThan(50);
  expect(await turnsFor(11)).toBeGreaterThanOrEqual(49);
});

test('what the messages of a batch need is asked for once', async () => {
  const opened = mcpSessions.open.bind(mcpSessions);
  let sessions = 0;
  mcpSessions.open = (...given) => {
    sessions++;
    return opened(...given);
  };
  let levels = 0;
  mcpSessions.setLevel = async () => void levels++;
  let confirmed = 0;
  const by = { ...asked(), confirm: async () => void confirmed++ };
  mcpSessions.found = 0;
  const initialize = { method: 'initialize', params: { protocolVersion: '2025-03-26' } };
  const level = { method: 'logging/setLevel', params: { level: 'error' } };
  const resources = { method: 'resources/list' };
  const ping = { method: 'ping' };
  const each = [initialize, level, resources, ping].flatMap(one => new Array(5).fill(one));
  const members = (await (await batch(each, by)).json()) as { id: number; error?: { message: string } }[];
  expect(members).toHaveLength(20);
  const refused = members.filter(one => one.error !== undefined);
  expect(refused.map(one => one.id).sort()).toEqual([0, 1, 2, 3, 4]);
  expect(refused[0]?.error?.message).toContain('"initialize" cannot be part of a batch');
  expect([sessions, levels, confirmed, mcpSessions.found, relayedFor]).toEqual([0, 1, 1, 1, 1]);
  expect(upstream.of('resources/list')).toHaveLength(1);
});

test('a key has as many lists under way as it may have calls; another key is not affected', async () => {
  services.slots = new CallSlots({ perKey: 2, perConnectedTool: 2 });
  await send({ method: 'tools/list' });
  const waiting = Promise.withResolvers<object>();
  listing = () => waiting.promise;
  const before = upstream.of('tools/list').length;
  const hung = [send({ method: 'tools/list' }), send({ method: 'tools/list' })];
  await until('the list is asked for', () => upstream.of('tools/list').length > before);
  const error = await refusal(send({ method: 'tools/list' }));
  expect(error).toMatchObject({ code: 'rate_limited', retryAfter: 1 });
  expect((error as Error).message).toContain('2 lists of this key are under way');
  expect(await refusal(send({ method: 'resources/list' }))).toMatchObject({ code: 'rate_limited' });
  listing = () => ({ tools: [] });
  const other = await newPrincipal();
  const session = await mcpSessions.open(other, '2025-03-26');
  expect((await send({ method: 'tools/list' }, asked(other, session))).status).toBe(200);
  waiting.resolve({ tools: [] });
  for (const each of hung) await (await each).text();
  expect(await (await send({ method: 'tools/list' })).text()).toContain('"tools"');
});

test('a list that nobody reads counts, and keeps its place', async () => {
  listing = () => ({ tools: [{ ...ECHO, description: 'd'.repeat(200_000) }] });
  services.slots = new CallSlots({ perKey: 1, perConnectedTool: 1 });
  const list = await send({ method: 'tools/list' });
  expect(rations.held.answers).toBeGreaterThan(200_000);
  expect(await refusal(send({ method: 'tools/list' }))).toMatchObject({ code: 'rate_limited' });
  expect(((await list.json()) as { result: { tools: unknown[] } }).result.tools).toHaveLength(1);
  expect(await (await send({ method: 'tools/list' })).text()).toContain('"tools"');
});
