// Tool servers that keys share, in one process: what they cost, what one key notices of another, and what becomes of calls
// when a server is changed or removed just then.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GuardedCall } from '../../src/guard/check/guarded-call.ts';
import { Learner } from '../../src/guard/check/learner.ts';
import { OutcomeLog } from '../../src/guard/check/outcomes.ts';
import { createPolicy } from '../../src/guard/check/policies.ts';
import type { Principal } from '../../src/guard/credentials.ts';
import type { Deps } from '../../src/guard/deps.ts';
import { giveHint } from '../../src/guard/hints.ts';
import { newId } from '../../src/guard/ids.ts';
import { createKey } from '../../src/guard/keys.ts';
import { CallerTurns } from '../../src/guard/rations/caller-turns.ts';
import { Rations } from '../../src/guard/rations/rations.ts';
import { ServerSignIns } from '../../src/guard/server-sign-ins/server-sign-ins.ts';
import { shareTool } from '../../src/guard/tool-servers/share.ts';
import { editToolServer, makeToolServer } from '../../src/guard/tool-servers/tool-servers.ts';
import { AwaitedAnswers } from '../../src/mcp/awaited-answers.ts';
import { CallSlots } from '../../src/mcp/call-slots.ts';
import { post } from '../../src/mcp/endpoint.ts';
import { type Connected, Hub } from '../../src/mcp/hub.ts';
import { Listing } from '../../src/mcp/listing.ts';
import { McpSessions } from '../../src/mcp/mcp-sessions.ts';
import type { McpServices } from '../../src/mcp/services.ts';
import { StdioServers } from '../../src/settings/stdio-servers.ts';
import {
  insertConnectedTool,
  insertLink,
  removeConnectedTool,
  renameLink,
} from '../../src/store/connected-tools.ts';
import { type Db, dbThrough } from '../../src/store/engine/db.ts';
import { findToolServer, removeToolServer, updateToolServer } from '../../src/store/tool-servers.ts';
import { depsAt } from '../guard/deps.ts';
import { checksOf } from '../guard/group.ts';
import { connectedTool, NOW, openStore, type TestStore } from '../store/stores.ts';
import { newDataDir, until } from '../support/faults.ts';
import { ECHO, RecordingUpstream, stdioScript } from '../support/mcp.ts';
import { engines } from '../support/service.ts';
import { clientRequest, HUB_SETTINGS } from './channel.ts';
import { taskServicesOf } from './tasks/services.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
type Any = any;

const MINUTE = 60_000;
const RULES = { allowPrivate: true };
const KEYS = 1000;
const says = (name: string) => () => ({ content: [{ type: 'text', text: name }] });

/** The same store, but what its transactions have done is committed only later. */
function committingLate(db: Db, done: () => void, later: Promise<void>): Db {
  return dbThrough(db, lane => ({
    all: lane.all.bind(lane),
    run: lane.run.bind(lane),
    transaction: (locks, work) =>
      lane.transaction(locks, async tx => {
        const result = await work(tx);
        done();
        await later;
        return result;
      }),
  }));
}

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let deps: Deps;
    let now = NOW;
    let services: McpServices;
    let slots = { perKey: 10, perConnectedTool: 10 };
    const folder = newDataDir();
    const heard = join(folder, 'heard');
    const closing: (() => unknown)[] = [];
    beforeAll(async () => {
      store = await openStore(engine);
      deps = depsAt(store.db, () => now);
      services = newServices();
    });
    afterAll(async () => {
      for (const close of closing) await close();
      await services.outcomes.flush();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    });

    /** What one replica has. */
    function newServices(): McpServices {
      const command = { args: [], env: {}, ...stdioScript('good', heard) };
      const stdioServers = new StdioServers({ command });
      const serverSignIns = new ServerSignIns(deps, RULES);
      const hub = new Hub(deps, { ...HUB_SETTINGS, stdioServers, serverSignIns });
      closing.push(() => hub.close());
      return {
        version: 'test',
        checks: checksOf(deps, 1000),
        learner: new Learner(deps, new CallerTurns()),
        guarded: watched => new GuardedCall(deps, watched, () => {}),
        hub,
        tracer: null,
        mcpSessions: new McpSessions(deps),
        awaited: new AwaitedAnswers(deps.db, () => {}),
        serverSignIns,
        listing: new Listing(deps, hub, false, () => {}),
        outcomes: new OutcomeLog(deps, () => {}),
        slots: new CallSlots(slots),
        rations: new Rations(),
        timeoutMs: MINUTE,
        maxMs: MINUTE,
        onVerdict: () => {},
        callable: null,
        tasks: taskServicesOf(deps),
        relayedFor: async () => ['resources'],
      };
    }

    const serving = (options?: ConstructorParameters<typeof RecordingUpstream>[0]) => {
      const server = new RecordingUpstream(options);
      closing.push(() => server.stop());
      return server;
    };
    const newServer = (
      target: string,
      transport: 'http' | 'stdio' = 'http',
      name = `s-${newId()}`.slice(0, 30),
    ) => makeToolServer(deps, 'admin', RULES, { name, transport, target, headers: null });
    async function newKey(): Promise<Principal> {
      const name = newId();
      const rules = [{ tool: '*', action: 'allow' as const }];
      const { id: policyId } = await createPolicy(deps, 'admin', { name, description: '', rules });
      const input = {
        name,
        policyId,
        requireSignInToApprove: false,
        expiresAt: null,
        notify: null,
        forward: [],
      };
      const { key } = await createKey(deps, 'admin', input);
      return { kind: 'key', keyId: key.id, sessionId: null, scope: null };
    }
    async function link(keyId: string, toolServerId: string, name = 'up'): Promise<string> {
      const id = newId();
      await store.db.transaction({}, tx => insertLink(tx, { id, keyId, name, toolServerId, createdAt: now }));
      return id;
    }
    async function linked(toolServerId: string, name = 'up') {
      const principal = await newKey();
      return { principal, id: await link(principal.keyId, toolServerId, name) };
    }
    async function call(
      principal: Principal,
      name: string,
      args: object = {},
      { within = services, signal = new AbortController().signal } = {},
    ): Promise<Any> {
      const request = new Request('http://localhost/mcp', {
        method: 'POST',
        headers: { 'Mcp-Session-Id': await within.mcpSessions.open(principal, '2025-11-25') },
        signal,
      });
      const asked = clientRequest(request, principal, within.rations);
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
      return (await post(within, asked, message as never)).json();
    }
    const said = ({ result, error }: Any) => result?.content[0].text ?? error.message;

    test('a thousand keys cost one process, one list, and the definitions once', async () => {
      writeFileSync(heard, '');
      const server = await newServer('command', 'stdio');
      const keyIds = Array.from({ length: KEYS }, () => newId());
      await store.db.transaction({}, async tx => {
        for (const keyId of keyIds)
          await insertLink(tx, { id: newId(), keyId, name: 'up', toolServerId: server.id, createdAt: now });
      });
      const { hub, listing } = newServices();
      const [first] = await listing.list(keyIds[0] as string);
      const found = await Promise.all(keyIds.map(keyId => listing.find(keyId, 'up__echo')));
      for (const keyId of keyIds.slice(0, 100)) expect(await listing.list(keyId)).toHaveLength(2);
      expect(new Set(found.map(each => each?.definition))).toEqual(new Set([first?.definition as Any]));
      expect(new Set(found.map(each => each?.connectedTool.keyId)).size).toBe(KEYS);
      const asking = { cancel: new AbortController(), timeoutMs: MINUTE };
      const { upstream } = found[KEYS - 1]!;
      await upstream.request('tools/call', { name: 'echo', arguments: {} }, asking);
      const lines = readFileSync(heard, 'utf8').split('\n');
      const count = (what: string) => lines.filter(each => each.startsWith(what)).length;
      expect([count('pid'), count('initialize'), count('tools/list'), count('call')]).toEqual([1, 1, 1, 1]);
      expect([hub.size, hub.conditions().connected]).toEqual([KEYS, 1]);
      // One key goes on; the others are forgotten, and the connection is closed when nobody is left.
      now += 10 * MINUTE + 1;
      await upstream.request('tools/call', { name: 'echo', arguments: {} }, asking);
      await hub.of(keyIds[7] as string);
      hub.closeIdle();
      expect([hub.size, upstream.health.state]).toEqual([1, 'ready']);
      expect((await hub.of(keyIds[8] as string))[0]?.upstream).toBe(upstream);
      now += 10 * MINUTE + 1;
      hub.closeIdle();
      expect([hub.size, upstream.health.state]).toEqual([0, 'idle']);
      expect(Object.values(hub.conditions())).toEqual([0, 0, 0, 0]);
    });

    test('a change of its tools is told to the clients of all keys that have it, and to no other', async () => {
      const upstream = serving();
      const server = await newServer(upstream.url);
      const [a, b, other] = [await linked(server.id), await linked(server.id, 'mine'), await newKey()];
      const { hub, listing } = services;
      const names = async ({ keyId }: Principal) => (await listing.list(keyId)).map(each => each.exposedName);
      expect([await names(a.principal), await names(b.principal)]).toEqual([['up__echo'], ['mine__echo']]);
      const told: string[] = [];
      for (const [who, { keyId }] of Object.entries({ a: a.principal, b: b.principal, other })) {
        await hub.of(keyId);
        closing.push(hub.onListChanged(keyId, () => told.push(who)));
      }
      await until('it listens', () => upstream.listening === 1);
      upstream.options.tools = [ECHO, { ...ECHO, name: 'new' }];
      upstream.say('notifications/tools/list_changed');
      await until('both are told', () => told.length === 2);
      expect(told.sort()).toEqual(['a', 'b']);
      expect(await names(b.principal)).toEqual(['mine__echo', 'mine__new']);
      expect(upstream.of('tools/list')).toHaveLength(2);
      // So is a change of the server, and of the keys of others nothing.
      await editToolServer(deps, 'admin', RULES, server.id, { headers: { 'X-Token': 'two' } });
      await until('both are told', () => told.length === 4);
      expect(told.slice(2).sort()).toEqual(['a', 'b']);
      expect(said(await call(a.principal, 'up__echo'))).toBe('{}');
      expect(upstream.calls.at(-1)?.headers['x-token']).toBe('two');
      expect(upstream.sessions.size).toBe(1);
    });

    test('one that was changed or removed a moment ago, of which no hint arrived, gets no call', async () => {
      const [before, after] = [serving({ onCall: says('before') }), serving({ onCall: says('after') })];
      const server = await newServer(before.url);
      const [a, b] = [await linked(server.id), await linked(server.id)];
      for (const { principal } of [a, b]) expect(said(await call(principal, 'up__echo'))).toBe('before');
      const row = (await findToolServer(store.db, server.id))!;
      await store.db.transaction({}, tx =>
        updateToolServer(tx, { ...row, target: after.url, updatedAt: (row.updatedAt ?? 0) + 1 }),
      );
      expect(said(await call(a.principal, 'up__echo'))).toBe('after');
      expect(said(await call(b.principal, 'up__echo'))).toBe('after');
      expect(before.calls).toHaveLength(2);
      // Another name, another server of that name, none.
      await store.db.transaction({}, tx => renameLink(tx, a.id, 'mine'));
      expect(said(await call(a.principal, 'up__echo'))).toBe('Unknown tool: up__echo');
      expect(said(await call(a.principal, 'mine__echo'))).toBe('after');
      const other = await newServer(before.url);
      await store.db.transaction({}, tx => removeConnectedTool(tx, { id: b.id, toolServerId: server.id }));
      await link(b.principal.keyId, other.id);
      expect(said(await call(b.principal, 'up__echo'))).toBe('before');
      await store.db.transaction({}, tx => removeToolServer(tx, other.id));
      expect(said(await call(b.principal, 'up__echo'))).toBe('Unknown tool: up__echo');
      expect([before.calls.length, after.calls.length]).toEqual([3, 3]);
    });

    test.if(engine === 'postgres')('a change waits for the calls that are decided just then', async () => {
      const [before, after] = [serving({ onCall: says('before') }), serving({ onCall: says('after') })];
      const server = await newServer(before.url);
      const { principal } = await linked(server.id);
      const [decided, committing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const within = newServices();
      await within.listing.list(principal.keyId);
      within.checks = checksOf({
        ...deps,
        db: committingLate(store.db, decided.resolve, committing.promise),
      });
      const calling = call(principal, 'up__echo', {}, { within });
      await decided.promise;
      let changed = false;
      const changing = editToolServer(deps, 'admin', RULES, server.id, { target: after.url }).then(() => {
        changed = true;
      });
      await until('the change waits or is done', async () => {
        const sql = `SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'`;
        return changed || (await store.db.all(sql)).length > 0;
      });
      expect(changed).toBe(false);
      committing.resolve();
      expect(said(await calling)).toBe('before');
      await changing;
      expect(said(await call(principal, 'up__echo', {}, { within }))).toBe('after');
    });

    test('its resources are read no longer, either', async () => {
      const resources = (name: string) => ({
        capabilities: { tools: {}, resources: {} },
        others: {
          'resources/list': () => ({ resources: [{ uri: `file:///${name}`, name }] }),
          'resources/read': () => ({ contents: [{ uri: 'file:///x', text: name }] }),
        },
      });
      const [before, after] = [serving(resources('before')), serving(resources('after'))];
      const server = await newServer(before.url);
      const { principal } = await linked(server.id);
      const ask = async (method: string, params: object) => {
        const headers = { 'Mcp-Session-Id': await services.mcpSessions.open(principal, '2025-11-25') };
        const request = new Request('http://localhost/mcp', { method: 'POST', headers });
        const message = { jsonrpc: '2.0', id: 1, method, params };
        const answer = await post(services, clientRequest(request, principal), message as never);
        return JSON.stringify(await answer.json());
      };
      const uri = 'up+file:///x';
      expect(await ask('resources/read', { uri })).toContain('"before"');
      const row = (await findToolServer(store.db, server.id))!;
      await store.db.transaction({}, tx =>
        updateToolServer(tx, { ...row, target: after.url, updatedAt: (row.updatedAt ?? 0) + 1 }),
      );
      expect(await ask('resources/read', { uri })).toContain('"after"');
      expect(before.of('resources/read')).toHaveLength(1);
    });

    test('another name or another trust leaves calls under way alone, another address ends them', async () => {
      const answer = Promise.withResolvers<object>();
      const upstream = serving({ onCall: () => answer.promise });
      const server = await newServer(upstream.url);
      const { principal } = await linked(server.id);
      const waiting = call(principal, 'up__echo');
      await until('it arrived', () => upstream.calls.length === 1);
      await editToolServer(deps, 'admin', RULES, server.id, {
        name: `n-${server.name}`.slice(0, 30),
        trust: 'reviewed',
      });
      await until('it is known', async () => {
        const [{ upstream: known }] = (await services.hub.of(principal.keyId)) as [Connected];
        return known.source.trust === 'reviewed';
      });
      const next = call(principal, 'up__echo');
      answer.resolve({ content: [{ type: 'text', text: 'late' }] });
      expect(said(await waiting)).toBe('late');
      expect((await next).result.structuredContent.status).toBe('pending');
      expect(upstream.of('initialize')).toHaveLength(1);
      await editToolServer(deps, 'admin', RULES, server.id, { target: serving().url });
      await until('it is closed', () => upstream.sessions.size === 0);
    });

    test('a Connected Tool that becomes one keeps its connection and its calls', async () => {
      const answer = Promise.withResolvers<object>();
      const upstream = serving({ onCall: () => answer.promise });
      const principal = await newKey();
      const id = newId();
      await store.db.transaction({}, tx =>
        insertConnectedTool(
          tx,
          connectedTool({ id, keyId: principal.keyId, target: upstream.url, createdAt: now }),
        ),
      );
      const waiting = call(principal, 'up__echo');
      await until('it arrived', () => upstream.calls.length === 1);
      const server = await shareTool(deps, 'admin', principal.keyId, id, `shared-${id}`.slice(0, 30));
      const other = await linked(server.id);
      const second = call(other.principal, 'up__echo');
      const third = call(principal, 'up__echo');
      answer.resolve({ content: [{ type: 'text', text: 'late' }] });
      expect([said(await waiting), said(await second), said(await third)]).toEqual(['late', 'late', 'late']);
      expect([upstream.of('initialize').length, upstream.of('tools/list').length]).toEqual([1, 1]);
    });

    test('what one key cancels, floods or does not read is its own loss', async () => {
      writeFileSync(heard, '');
      rmSync(`${heard}.go`, { force: true });
      slots = { perKey: 2, perConnectedTool: 2 };
      const own = newServices();
      const server = await newServer('command', 'stdio');
      const [a, b] = [await linked(server.id), await linked(server.id)];
      const hung = new AbortController();
      const within = own;
      const silent = [1, 2].map(() =>
        call(a.principal, 'up__echo', { how: 'silent' }, { within, signal: hung.signal }),
      );
      await until('they arrived', () => readFileSync(heard, 'utf8').split('call ').length === 3);
      // The key has no slots left; the other key has all of its own.
      expect(said(await call(a.principal, 'up__echo', {}, { within }))).toContain('Not forwarded');
      for (let n = 0; n < 5; n++)
        expect(said(await call(b.principal, 'up__echo', { n }, { within }))).toBe(`{"n":${n}}`);
      const tooMuch = call(b.principal, 'up__echo', { how: 'long answer' }, { within });
      const next = call(b.principal, 'up__echo', { n: 5 }, { within });
      expect(said(await tooMuch)).toContain('the upstream sent a message that is too large');
      expect(said(await next)).toBe('{"n":5}');
      hung.abort();
      await Promise.allSettled(silent);
      await until(
        'they are cancelled',
        () => readFileSync(heard, 'utf8').split('notifications/cancelled').length === 3,
      );
      expect(said(await call(a.principal, 'up__echo', { n: 9 }, { within }))).toBe('{"n":9}');
      expect(readFileSync(heard, 'utf8').split('pid ').length).toBe(2);
      giveHint(store.db, 'tool-server', server.id);
    });
  });
}
