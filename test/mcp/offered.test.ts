// When one upstream is asked what it offers, and when what was read before is believed, with time in the test's hands.

import { afterAll, afterEach, beforeAll, expect, jest, test } from 'bun:test';
import type { Deps } from '../../src/guard/deps.ts';
import { newId } from '../../src/guard/ids.ts';
import { Hub } from '../../src/mcp/hub.ts';
import { Listing } from '../../src/mcp/listing.ts';
import { Offered } from '../../src/mcp/offered.ts';
import { insertConnectedTool } from '../../src/store/connected-tools.ts';
import type { Db } from '../../src/store/engine/db.ts';
import { depsAt } from '../guard/deps.ts';
import { connectedTool, openStore, type TestStore } from '../store/stores.ts';
import { ECHO, RecordingUpstream } from '../support/mcp.ts';
import { Channel, HUB_SETTINGS, upstreamOn } from './channel.ts';

// biome-ignore lint/suspicious/noExplicitAny: a message is whatever was sent
type Any = any;

/** An upstream that was asked is not asked again within this time. */
const AGAIN_MS = 5000;
const CHANGED = { method: 'notifications/tools/list_changed', params: {} };
const listed = (...tools: object[]) => ({ result: { tools } });

let store: TestStore;
let deps: Deps;
let hub: Hub;
beforeAll(async () => {
  store = await openStore('sqlite');
  deps = depsAt(store.db);
  hub = new Hub(deps, HUB_SETTINGS);
});
afterEach(() => {
  jest.useRealTimers();
});
afterAll(async () => {
  hub.close();
  await store.close();
});

/** What an upstream offers that lists as it is told, and how often it was asked. */
async function offering(list: (channel: Channel) => Any = () => listed(ECHO), db: Db = store.db) {
  const id = newId();
  const row = connectedTool({ id, keyId: newId(), transport: 'stdio', target: '' });
  await store.db.transaction({}, async tx => insertConnectedTool(tx, row));
  const open = (): Channel => {
    const channel: Channel = new Channel({ 'tools/list': () => list(channel) });
    return channel;
  };
  const { upstream, opened } = upstreamOn(open, { id });
  const offered = new Offered({ ...deps, db }, upstream, () => {});
  const asked = () => opened.reduce((sum, each) => sum + each.of('tools/list').length, 0);
  return { offered, upstream, opened, asked };
}

test('it is asked once in five seconds, and at once when it says that something changed', async () => {
  jest.useFakeTimers();
  const { offered, opened, asked } = await offering();
  // The clock begins at its zero, at which no time is long ago.
  jest.advanceTimersByTime(60_000);
  await offered.refresh();
  jest.advanceTimersByTime(AGAIN_MS - 1);
  await offered.refresh();
  expect(asked()).toBe(1);
  jest.advanceTimersByTime(2);
  await offered.refresh();
  expect(asked()).toBe(2);
  opened[0]?.say(CHANGED);
  await offered.refresh();
  expect(asked()).toBe(3);
});

test('what was read on a connection that was opened for it is current', async () => {
  const { offered, upstream, asked } = await offering();
  await offered.read();
  expect([offered.current, offered.changes]).toEqual([true, upstream.changes]);
  await offered.confirm();
  expect(asked()).toBe(1);
});

test('a failure is not current: it is asked again after a while, and what it offers then counts', async () => {
  jest.useFakeTimers();
  const answer = { now: { error: { code: -1, message: 'not today' } } as Any };
  const { offered, asked } = await offering(() => answer.now);
  await offered.confirm();
  expect([offered.current, offered.fault]).toEqual([false, 'the upstream refused tools/list: not today']);
  answer.now = listed(ECHO);
  await offered.confirm();
  expect([offered.current, asked()]).toEqual([false, 1]);
  jest.advanceTimersByTime(AGAIN_MS + 1);
  await offered.confirm();
  expect([offered.current, offered.fault, asked()]).toEqual([true, null, 2]);
});

test('one that was closed is connected anew before it is confirmed', async () => {
  const { offered, upstream, asked } = await offering();
  await offered.confirm();
  upstream.close();
  await offered.confirm();
  expect([upstream.health.state, offered.changes, asked()]).toEqual(['ready', 2, 2]);
});

test('one that changes whenever it is asked is asked twice', async () => {
  const { offered, asked } = await offering(channel => {
    channel.say(CHANGED);
    return listed(ECHO);
  });
  await offered.confirm();
  expect([offered.current, asked()]).toEqual([false, 2]);
});

test('what is read while the store is asked is not replaced by what the store remembers', async () => {
  const held = Promise.withResolvers<void>();
  let asked = 0;
  const slow = Object.create(store.db, {
    all: {
      value: async (...given: Parameters<Db['all']>) => {
        const first = asked++ === 0;
        const rows = await store.db.all(...given);
        if (first) await held.promise;
        return rows;
      },
    },
    transaction: { value: store.db.transaction.bind(store.db) },
  });
  const { offered } = await offering(undefined, slow);
  const found = offered.find('up', 'up__echo');
  await offered.read();
  held.resolve();
  expect((await found)?.definition).toEqual(ECHO);
});

test('a tool that is known, of an upstream that said of no change, is found without another reading', async () => {
  const server = new RecordingUpstream();
  const [id, keyId] = [newId(), newId()];
  const row = connectedTool({ id, keyId, target: server.url });
  await store.db.transaction({}, async tx => insertConnectedTool(tx, row));
  const listing = new Listing(deps, hub, false, () => {});
  jest.useFakeTimers();
  await listing.list(keyId);
  jest.advanceTimersByTime(AGAIN_MS + 1);
  const { upstream } = (await listing.find(keyId, 'up__echo'))!;
  const asking = { cancel: new AbortController(), timeoutMs: 60_000 };
  await upstream.request('tools/call', { name: 'echo' }, asking);
  jest.useRealTimers();
  expect(server.of('tools/list')).toHaveLength(1);
  hub.close();
  await server.stop();
});

test('a command that is still starting when an operator has waited long enough is said to be, and is not at fault', async () => {
  jest.useFakeTimers();
  const { upstream } = upstreamOn(() => new Promise<never>(() => {}));
  const listing = new Listing(deps, hub, false, () => {});
  const tried = listing.test({ tool: { name: 'up' }, upstream });
  jest.advanceTimersByTime(25_000);
  const { ok, error, tools } = await tried;
  expect([ok, tools]).toEqual([false, []]);
  expect(error).toContain('the command is still starting: it has taken 25 s');
  expect(listing.health(upstream).error).toBeNull();
});
