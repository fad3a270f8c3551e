// Calls on a mcpSession of a client, in one process: however a call ends, nothing of it is kept, and only what speaks of
// it gets to the client.

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { JsonObject } from '../../src/core/wire/json.ts';
import { endKey } from '../../src/guard/approvals/end-key.ts';
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
import { ServerSignIns } from '../../src/guard/server-sign-ins/server-sign-ins.ts';
import { AwaitedAnswers } from '../../src/mcp/awaited-answers.ts';
import { callTool } from '../../src/mcp/call.ts';
import { checkedOf, inputOf } from '../../src/mcp/call-input.ts';
import { CallSlots } from '../../src/mcp/call-slots.ts';
import { post } from '../../src/mcp/endpoint.ts';
import { CallCancelled } from '../../src/mcp/forward.ts';
import { Hub } from '../../src/mcp/hub.ts';
import { Listing } from '../../src/mcp/listing.ts';
import { McpSessions } from '../../src/mcp/mcp-sessions.ts';
import type { ClientRequest, McpServices } from '../../src/mcp/services.ts';
import { callForUpstream } from '../../src/mcp/translate.ts';
import { insertConnectedTool } from '../../src/store/connected-tools.ts';
import { depsAt } from '../guard/deps.ts';
import { checksOf } from '../guard/group.ts';
import { connectedTool, openStore, type TestStore } from '../store/stores.ts';
import { until } from '../support/faults.ts';
import { type Answering, ECHO, RecordingUpstream, raw } from '../support/mcp.ts';
import { refusal } from '../support/refusal.ts';
import { clientRequest, HUB_SETTINGS, newRation } from './channel.ts';
import { taskServicesOf } from './tasks/services.ts';

const MINUTE = 60_000;

/** Counts the calls that may be cancelled. */
class CountingConnections extends McpSessions {
  following = 0;
  override follow(...given: Parameters<McpSessions['follow']>): () => void {
    const forget = super.follow(...given);
    this.following++;
    return () => {
      this.following--;
      forget();
    };
  }
}

let answering: Answering;
const upstream = new RecordingUpstream({
  tools: [ECHO, { ...ECHO, name: 'forbidden' }],
  onCall: call => answering(call),
});
const says = (messages: (call: { id: unknown; token: unknown }) => object[]): Answering => {
  return ({ id, params }) =>
    raw('text/event-stream', write => {
      const told = messages({ id, token: params._meta?.progressToken });
      write(told.map(each => `data: ${JSON.stringify({ jsonrpc: '2.0', ...each })}\n\n`).join(''));
    });
};
const LOG = { method: 'notifications/message', params: { level: 'error', data: 'x' } };
const never = () => new Promise<never>(() => {});

let store: TestStore;
let deps: Deps;
let services: McpServices;
let mcpSessions: CountingConnections;
let principal: Principal;
let mcpSessionId: string;
const verdicts: string[] = [];
beforeAll(async () => {
  store = await openStore('sqlite');
  deps = depsAt(store.db);
  mcpSessions = new CountingConnections(deps);
  const hub = new Hub(deps, HUB_SETTINGS);
  services = {
    version: 'test',
    checks: checksOf(deps),
    learner: new Learner(deps, new CallerTurns()),
    guarded: watched => new GuardedCall(deps, watched, () => {}),
    hub,
    tracer: null,
    mcpSessions,
    awaited: new AwaitedAnswers(deps.db, () => {}),
    serverSignIns: new ServerSignIns(deps, { allowPrivate: true }),
    listing: new Listing(deps, hub, false, () => {}),
    outcomes: new OutcomeLog(deps, () => {}),
    slots: new CallSlots({ perKey: 1, perConnectedTool: 1 }),
    rations: new Rations(),
    timeoutMs: MINUTE,
    maxMs: MINUTE,
    onVerdict: ({ decision }) => verdicts.push(decision),
    callable: null,
    tasks: taskServicesOf(deps),
    relayedFor: async () => [],
  };
  principal = await newPrincipal();
  mcpSessionId = await mcpSessions.open(principal, '2025-11-25');
});
afterEach(() => {
  expect(mcpSessions.following).toBe(0);
  verdicts.length = 0;
});
afterAll(async () => {
  services.hub.close();
  await services.outcomes.flush();
  await store.close();
  await upstream.stop();
});

async function newPrincipal(): Promise<Principal> {
  const name = newId();
  const rules = [
    { tool: 'forbidden', action: 'deny' as const },
    { tool: '*', action: 'allow' as const },
  ];
  const { id: policyId } = await createPolicy(deps, 'admin', { name, description: '', rules });
  const input = { name, policyId, requireSignInToApprove: false, expiresAt: null, notify: null, forward: [] };
  const { key } = await createKey(deps, 'admin', input);
  const row = connectedTool({ keyId: key.id, target: upstream.url });
  await store.db.transaction({}, async tx => insertConnectedTool(tx, row));
  return { kind: 'key', keyId: key.id, sessionId: null, scope: null };
}

function asked(who = principal, mcpSession = mcpSessionId): ClientRequest {
  const headers = { 'Mcp-Session-Id': mcpSession, Accept: 'application/json, text/event-stream' };
  const request = new Request('http://localhost/mcp', { headers });
  return clientRequest(request, who, services.rations);
}

const call = (params: object = { name: 'up__echo' }, by = asked(), within = services) =>
  post(within, by, { jsonrpc: '2.0', id: 1, method: 'tools/call', params } as never);
const notify = (method: string) =>
  post(services, asked(), { jsonrpc: '2.0', method, params: { requestId: 1 } });

/** A call that has arrived, and is answered when the test says so. */
async function underWay(answer: Answering = never): Promise<{ answered: Promise<Response> }> {
  const before = upstream.calls.length;
  answering = answer;
  const answered = call();
  await until('it arrived', () => upstream.calls.length > before);
  expect(mcpSessions.following).toBe(1);
  return { answered };
}

test('a call that is answered, as JSON or as a stream', async () => {
  answering = () => ({ content: [] });
  expect(await (await call()).json()).toMatchObject({ id: 1, result: { content: [] } });
  expect(verdicts).toEqual(['allow']);
  answering = says(({ id }) => [LOG, { id, result: { content: [] } }]);
  expect(await (await call()).text()).toContain('"result"');
  answering = says(({ id }) => [LOG, { id, error: { code: -32000, message: 'no' } }]);
  expect(await (await call()).text()).toContain('"error":{"code":-32000,"message":"no"}');
});

test('a call that is refused by the protocol', async () => {
  expect(await (await call({ name: 7 })).json()).toMatchObject({ error: { code: -32602 } });
  expect(verdicts).toEqual([]);
});

test('a call of a credential that has died', async () => {
  const dead = await newPrincipal();
  const mcpSession = await mcpSessions.open(dead, '2025-11-25');
  await endKey(deps, 'admin', dead.keyId);
  expect(await refusal(call(undefined, asked(dead, mcpSession)))).toMatchObject({ code: 'unauthenticated' });
});

test('a call that is cancelled, before anything was said and after', async () => {
  const silent = await underWay();
  expect((await notify('notifications/cancelled')).status).toBe(202);
  expect((await silent.answered).status).toBe(202);
  const begun = await underWay(() =>
    raw('text/event-stream', async write => {
      write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...LOG })}\n\n`);
      await never();
    }),
  );
  const response = await begun.answered;
  await notify('notifications/cancelled');
  const told = await response.text();
  expect(told).toContain('notifications/message');
  expect(told).not.toContain('"id"');
});

test('a notification of another name cancels nothing', async () => {
  const release = Promise.withResolvers<object>();
  const { answered } = await underWay(() => release.promise);
  expect((await notify('notifications/progress')).status).toBe(202);
  release.resolve({ content: [] });
  expect(await (await answered).json()).toMatchObject({ result: { content: [] } });
});

test('what bears the token of a call and is no progress is not told', async () => {
  answering = says(({ id, token }) => [
    { method: 'notifications/other', params: { progressToken: token } },
    { method: 'notifications/progress', params: { progressToken: token, progress: 1 } },
    { id, result: { content: [] } },
  ]);
  const told = await (await call({ name: 'up__echo', _meta: { progressToken: 'mine' } })).text();
  expect([told.includes('notifications/other'), told.includes('notifications/progress')]).toEqual([
    false,
    true,
  ]);
});

test('what a policy denies is said to be denied, also where there is no place', async () => {
  const full = { ...services, slots: new CallSlots({ perKey: 0, perConnectedTool: 0 }) };
  const said = async (name: string) => {
    const { result } = (await (await call({ name }, asked(), full)).json()) as never;
    return (result as { content: { text: string }[] }).content[0]?.text;
  };
  expect(await said('up__forbidden')).toStartWith('Blocked by policy: ');
  expect(await said('up__echo')).toStartWith('Not forwarded: ');
});

test('what is checked is what is forwarded, and on the way nothing writes to it', async () => {
  const args = { path: '/srv', lines: [1, 2], options: { deep: { or: 'not' } } };
  const params = frozen({
    name: 'up__echo',
    arguments: args,
    requestState: { step: 1 },
    _meta: { trace: 'a' },
  });
  const input = inputOf(params);
  const sent = callForUpstream(input, { toolName: 'echo' }, params, undefined, undefined);
  expect([checkedOf(input).args, sent['arguments']]).toEqual([args, args]);
  expect(checkedOf(input).args).toBe(args);
  expect(sent['arguments']).toBe(args);
  expect(sent['requestState']).toBe(params.requestState);

  let received: unknown;
  answering = ({ params: got }) => {
    received = got;
    return { content: [] };
  };
  expect((await call(params)).status).toBe(200);
  expect(received).toMatchObject({ ...params, name: 'echo' });
});

/** It is never called: `npm run check` fails where one of its lines compiles. */
export function refusedByTypes(params: JsonObject): void {
  const input = inputOf(params);
  // @ts-expect-error parsed JSON is not written to
  params['arguments'] = {};
  // @ts-expect-error nor is what was taken out of it
  if (input.arguments !== undefined) input.arguments['path'] = '/';
  // @ts-expect-error nor replaced
  input.arguments = {};
  // @ts-expect-error only what was checked is forwarded
  callForUpstream({ arguments: {} }, { toolName: 'echo' }, params, undefined, undefined);
  // @ts-expect-error
  callForUpstream(params, { toolName: 'echo' }, params, undefined, undefined);
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
}

test('an error that came before the cancellation is the answer, and the only outcome', async () => {
  answering = says(({ id }) => [LOG, { id, error: { code: -32000, message: 'no' } }]);
  const outcomes: string[] = [];
  class Noting extends OutcomeLog {
    override record(...[given]: Parameters<OutcomeLog['record']>): void {
      outcomes.push(given.outcome);
      super.record(given);
    }
  }
  const cancel = new AbortController();
  const noting = { ...services, outcomes: new Noting(deps, () => {}) };
  const about = {
    principal,
    params: { name: 'up__echo' },
    startedAt: 0,
    cancel,
    ration: newRation(),
    modern: false,
    elicitsUrl: false,
    tasks: false,
    logLevel: 'info',
    context: { span: undefined, id: 1, protocolVersion: '2025-11-25' },
  };
  const error = await refusal(callTool(noting, { ...about, onNotification: () => cancel.abort() }));
  expect(error).toMatchObject({ code: -32000, message: 'no' });
  expect(error).not.toBeInstanceOf(CallCancelled);
  expect(outcomes).toEqual(['tool_error']);
  await noting.outcomes.flush();
});
