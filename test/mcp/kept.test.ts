// What a replica keeps in memory of clients and tools, compared with the store: MCP sessions with their streams and
// calls, the Connected Tools of a key, and what those offer.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Principal } from '../../src/guard/credentials.ts';
import type { Deps } from '../../src/guard/deps.ts';
import { giveHint } from '../../src/guard/hints.ts';
import { newId } from '../../src/guard/ids.ts';
import { EventWriter } from '../../src/guard/rations/event-writer.ts';
import { type Connected, Hub } from '../../src/mcp/hub.ts';
import { Listing } from '../../src/mcp/listing.ts';
import { McpSessions } from '../../src/mcp/mcp-sessions.ts';
import type { Upstream } from '../../src/mcp/upstream.ts';
import type { StdioServer } from '../../src/settings/server-file.ts';
import { StdioServers } from '../../src/settings/stdio-servers.ts';
import { insertConnectedTool, removeConnectedTool } from '../../src/store/connected-tools.ts';
import { removeMcpSession } from '../../src/store/mcp-sessions.ts';
import { depsAt } from '../guard/deps.ts';
import { connectedTool, NOW, openStore, type TestStore } from '../store/stores.ts';
import { newDataDir, until } from '../support/faults.ts';
import { ECHO, RecordingUpstream, stdioScript } from '../support/mcp.ts';
import { refusal } from '../support/refusal.ts';
import { HUB_SETTINGS } from './channel.ts';

const VERSION = '2025-11-25';
const credential = (keyId: string = newId(), sessionId: string | null = null): Principal => ({
  kind: sessionId === null ? 'key' : 'session',
  keyId,
  sessionId,
  scope: null,
});

let store: TestStore;
let deps: Deps;
const now = NOW;
beforeAll(async () => {
  store = await openStore('sqlite');
  deps = depsAt(store.db, () => now);
});
afterAll(() => store.close());

describe('a connection of a client', () => {
  test('is found by the credential that opened it, and by no other', async () => {
    const connections = new McpSessions(deps);
    const mine = credential();
    const id = await connections.open(mine, VERSION);
    expect(await connections.find(id, mine)).toMatchObject({ id, protocolVersion: VERSION });
    for (const other of [credential(), credential(mine.keyId, newId())])
      expect(await refusal(connections.find(id, other))).toMatchObject({ code: 'not_found' });
    expect(await refusal(connections.find(newId(), mine))).toMatchObject({ code: 'not_found' });
  });

  test('that was found is believed for a moment, and what is changed here is seen at once', async () => {
    const connections = new McpSessions(deps);
    const mine = credential();
    const id = await connections.open(mine, VERSION);
    await connections.find(id, mine);
    const begun = performance.now();
    await removeMcpSession(store.db, id);
    const believed = await connections.find(id, mine).catch(() => null);
    if (performance.now() - begun < 500) expect(believed?.id).toBe(id);
    await until('it is not believed any more', () =>
      connections.find(id, mine).then(
        () => false,
        () => true,
      ),
    );
    const other = await connections.open(mine, VERSION);
    expect((await connections.find(other, mine)).logLevel).toBeNull();
    await connections.setLevel(other, 'debug');
    expect((await connections.find(other, mine)).logLevel).toBe('debug');
  });

  test('has one stream, its newest; a key has a hundred', async () => {
    const connections = new McpSessions(deps);
    const [mine, other] = [credential(), credential()];
    const ended: number[] = [];
    const writers = Array.from({ length: 102 }, (_, n) => {
      const id = n === 101 ? '0' : `${n}`;
      const writer: EventWriter = new EventWriter(() => {
        ended.push(n);
        connections.streamEnded(id, writer);
      });
      return writer;
    });
    for (let n = 0; n < 100; n++) {
      connections.admitStream(`${n}`, mine);
      connections.stream(`${n}`, mine, writers[n]!);
    }
    expect(() => connections.admitStream('100', mine)).toThrow('This key has 100 streams open here');
    connections.admitStream('100', other);
    connections.stream('100', other, writers[100]!);
    // One that takes the place of another is no more.
    connections.admitStream('0', mine);
    connections.stream('0', mine, writers[101]!);
    expect(ended).toEqual([0]);
    expect(() => connections.admitStream('100', mine)).toThrow('100 streams');
    writers[5]!.close();
    connections.admitStream('101', mine);
    connections.endStreams();
    expect(ended).toHaveLength(102);
  });

  test('lets its calls be cancelled by their ids, wherever they are', async () => {
    const [here, there] = [new McpSessions(deps), new McpSessions(deps)];
    const calls = [1, '1', 2, 3].map(id => ({ id, cancel: new AbortController() }));
    const forget = calls.map(({ id, cancel }) => here.follow('c', id, cancel));
    const cancelled = () => calls.map(each => each.cancel.signal.aborted);
    here.cancel('other', 1);
    here.cancel('c', 1);
    expect(cancelled()).toEqual([true, false, false, false]);
    there.cancel('c', '1');
    await until('it came by the other replica', () => calls[1]!.cancel.signal.aborted);
    forget[2]!();
    here.cancel('c', 2);
    there.cancel('c', 2);
    // An id that is used again is the newer call's, also once the older has ended.
    const newer = new AbortController();
    const forgetNewer = here.follow('c', 3, newer);
    forget[3]!();
    here.cancel('c', 3);
    expect([newer.signal.aborted, ...cancelled()]).toEqual([true, true, true, false, false]);
    forgetNewer();
    // A stop lets calls be finished.
    const last = new AbortController();
    here.follow('c', 4, last);
    here.endStreams();
    expect(last.signal.aborted).toBe(false);
  });
});

describe('the Connected Tools of a key', () => {
  const closing: (() => unknown)[] = [];
  afterAll(async () => {
    for (const close of closing) await close();
  });
  function newHub(stdioServers: Record<string, StdioServer> = {}): Hub {
    const hub = new Hub(deps, { ...HUB_SETTINGS, stdioServers: new StdioServers(stdioServers) });
    closing.push(() => hub.close());
    return hub;
  }
  async function connected(server: { url: string }, keyId: string = newId(), name = 'up') {
    const id = newId();
    const row = connectedTool({ id, keyId, name, target: server.url, createdAt: now });
    await store.db.transaction({}, async tx => insertConnectedTool(tx, row));
    return { keyId, id };
  }
  const serving = (options?: ConstructorParameters<typeof RecordingUpstream>[0]) => {
    const server = new RecordingUpstream(options);
    closing.push(() => server.stop());
    return server;
  };

  test('are those of the store, each one connection, and one that was removed is closed', async () => {
    const hub = newHub();
    const server = serving();
    const { keyId, id } = await connected(server);
    const second = await connected(server, keyId, 'zoo');
    const both = (await hub.of(keyId)) as [Connected, Connected];
    expect(both.map(each => each.tool.name)).toEqual(['up', 'zoo']);
    const [up, other] = both.map(each => each.upstream) as [Upstream, Upstream];
    expect((await hub.find(keyId, id))?.upstream).toBe(up);
    expect(await hub.find(keyId, newId())).toBeNull();
    await up.connect();
    await other.connect();
    await store.db.transaction({}, async tx => removeConnectedTool(tx, both[0].tool));
    giveHint(store.db, 'tools', keyId);
    await new Promise(resolve => setImmediate(resolve));
    expect((await hub.of(keyId)).map(each => each.upstream)).toEqual([other]);
    expect([up.health.state, other.health.state]).toEqual(['idle', 'ready']);
    expect(second.id).toBe(both[1].tool.id);
    hub.close();
    expect([other.health.state, hub.size]).toEqual(['idle', 0]);
  });

  test('tell clients that listen that tools changed, for as long as they listen', async () => {
    const hub = newHub();
    const server = serving();
    const { keyId } = await connected(server);
    const { upstream } = (await hub.of(keyId))[0]!;
    const told: string[] = [];
    const stops = ['one', 'two'].map(name => hub.onListChanged(keyId, () => told.push(name)));
    hub.onListChanged(newId(), () => told.push('another key'));
    await upstream.connect();
    await until('it listens', () => server.listening === 1);
    const say = async () => {
      const { changes } = upstream;
      server.say('notifications/tools/list_changed');
      await until('it was heard', () => upstream.changes > changes);
    };
    await say();
    expect(told).toEqual(['one', 'two']);
    stops[0]!();
    await say();
    expect(told).toEqual(['one', 'two', 'two']);
    stops[1]!();
    await say();
    expect(told).toHaveLength(3);
  });

  test('offer what they last offered; where calls depend on it, only what was seen', async () => {
    const hub = newHub();
    const errors: string[] = [];
    const server = serving();
    const { keyId } = await connected(server);
    const [up] = (await hub.of(keyId)) as [Connected];
    const { upstream } = up;
    const onError = (_: Upstream, error: unknown) => errors.push((error as Error).message);
    const [loose, strict] = [false, true].map(each => new Listing(deps, hub, each, onError)) as [
      Listing,
      Listing,
    ];
    expect((await loose.list(keyId)).map(each => each.exposedName)).toEqual(['up__echo']);
    const known = (await loose.find(keyId, 'up__echo'))!;
    expect(known).toMatchObject({ serverName: 'up', toolName: 'echo', upstream });
    expect(loose.confirmed(known)).toBeNull();
    expect(await loose.find(keyId, 'up__other')).toBeNull();
    expect(await loose.find(keyId, 'down__echo')).toBeNull();
    expect(await strict.find(keyId, 'up__echo')).not.toBeNull();
    expect(strict.confirmed(known)).toBe(upstream.changes);
    expect(await loose.test(up)).toEqual({ ok: true, error: null, tools: ['up__echo'] });
    expect([errors, loose.health(upstream).error]).toEqual([[], null]);
    server.options.others = { 'tools/list': () => new Response('busy', { status: 503 }) };
    const failure = 'the upstream answered with HTTP status 503';
    expect(await loose.test(up)).toEqual({ ok: false, error: failure, tools: [] });
    expect(await loose.list(keyId)).toEqual([]);
    expect(errors).toContain(failure);
    expect(loose.health(upstream)).toMatchObject({ state: 'ready', error: failure });
    // A tool that is known stays known; another replica knows it from the store.
    expect(await loose.find(keyId, 'up__echo')).toMatchObject({ toolName: 'echo' });
    const fresh = new Listing(deps, newHub(), false, onError);
    expect(await fresh.find(keyId, 'up__echo')).toMatchObject({ toolName: 'echo', definition: ECHO });
    const freshStrict = new Listing(deps, hub, true, onError);
    expect(await freshStrict.find(keyId, 'up__echo')).toMatchObject({ toolName: 'echo' });
    expect(() => freshStrict.confirmed(known)).toThrow(
      `whether the tool has changed could not be seen: ${failure}`,
    );
  });

  test('are asked at once by an operator, whatever the pause after a failure', async () => {
    const hub = newHub();
    const server = serving();
    const { keyId } = await connected(server);
    const [up] = (await hub.of(keyId)) as [Connected];
    const listing = new Listing(deps, hub, false, () => {});
    await server.stop();
    const failed = await listing.test(up);
    expect(failed).toEqual({ ok: false, error: 'the upstream cannot be reached', tools: [] });
    await server.restart();
    // The clock stands still, and so the pause is not over.
    expect(await listing.list(keyId)).toEqual([]);
    expect(await listing.test(up)).toMatchObject({ ok: true, tools: ['up__echo'] });
  });

  test('that are commands are those that the server file declares, by their own names', async () => {
    const folder = newDataDir();
    closing.push(() => rmSync(folder, { recursive: true, force: true }));
    const declared = { args: [], env: {}, ...stdioScript('good', join(folder, 'heard')) };
    const hub = newHub({ declared });
    const keyId = newId();
    for (const [name, target] of ['declared', 'undeclared', 'constructor'].entries()) {
      const row = connectedTool({ keyId, name: `up${name}`, transport: 'stdio', target, createdAt: now });
      await store.db.transaction({}, async tx => insertConnectedTool(tx, row));
    }
    const [one, ...others] = (await hub.of(keyId)) as [Connected, ...Connected[]];
    await one.upstream.connect();
    expect(one.upstream.offers('tools')).toBe(true);
    for (const each of others) {
      const message = `no stdio server "${each.tool.target}" is declared in the server file (toolgate.yaml)`;
      expect(await refusal(each.upstream.connect())).toMatchObject({ message });
    }
  });

  test('are shown under names that model APIs take; of a name twice the first stands', async () => {
    const hub = newHub();
    const long = 'x'.repeat(70);
    const named = (name: unknown, description = '') => ({ ...ECHO, name, description });
    const tools = [
      named('echo', 'first'),
      named('echo', 'second'),
      named('a.b'),
      named(long),
      named(7),
      named(''),
    ];
    const { keyId } = await connected(serving({ tools: [...tools, named('x'.repeat(60))] as never }));
    const listed = await new Listing(deps, hub, false, () => {}).list(keyId);
    expect(listed.map(each => [each.exposedName.replace(/[0-9a-f]{10}$/, '#'), each.toolName])).toEqual([
      ['up__echo', 'echo'],
      ['up__a_b_#', 'a.b'],
      [`up__${'x'.repeat(49)}_#`, long],
      [`up__${'x'.repeat(60)}`, 'x'.repeat(60)],
    ]);
    expect(listed[0]?.definition).toMatchObject({ description: 'first' });
    expect(listed.map(each => each.exposedName.length <= 64)).toEqual([true, true, true, true]);
  });
});
