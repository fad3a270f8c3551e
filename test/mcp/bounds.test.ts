// What clients can make the proxy keep in memory has a bound: keys that were used, and streams held open.

import { heapStats } from 'bun:jsc';
import { describe, expect, test } from 'bun:test';
import { newId } from '../../src/guard/ids.ts';
import { CallSlots } from '../../src/mcp/call-slots.ts';
import { Hub } from '../../src/mcp/hub.ts';
import { insertConnectedTool } from '../../src/store/connected-tools.ts';
import { depsAt } from '../guard/deps.ts';
import { connectedTool, NOW, openStore } from '../store/stores.ts';
import { until } from '../support/faults.ts';
import { LegacyClient, postMcp, RecordingUpstream } from '../support/mcp.ts';
import { startService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { HUB_SETTINGS } from './channel.ts';

const MINUTE = 60_000;
const MOST_STREAMS = 100;

test('keys that nobody uses any more are forgotten, with their connections, and not before', async () => {
  const store = await openStore('sqlite');
  let now = NOW;
  const hub = new Hub(
    depsAt(store.db, () => now),
    HUB_SETTINGS,
  );
  const answer = Promise.withResolvers<object>();
  const server = new RecordingUpstream({ onCall: () => answer.promise });
  const keyId = newId();
  await store.db.transaction({}, tx =>
    insertConnectedTool(tx, connectedTool({ keyId, target: server.url, createdAt: now })),
  );
  const { upstream } = (await hub.of(keyId))[0]!;
  const asking = { cancel: new AbortController(), timeoutMs: MINUTE };
  const call = upstream.request('tools/call', { name: 'echo' }, asking);
  await until('the call arrived', () => server.calls.length === 1);
  const used = newId();
  await hub.of(used);
  for (let n = 1; n < 500; n++) await hub.of(newId());
  expect(hub.size).toBe(501);
  now += 10 * MINUTE;
  hub.closeIdle();
  expect(hub.size).toBe(501);
  await hub.of(used);
  now += 1;
  hub.closeIdle();
  // A call is under way on one that is left, and the other was used a moment ago.
  expect(hub.size).toBe(2);
  expect((await hub.of(keyId))[0]?.upstream).toBe(upstream);
  answer.resolve({ content: [] });
  await call;
  now += 11 * MINUTE;
  hub.closeIdle();
  expect([hub.size, upstream.health.state]).toEqual([0, 'idle']);
  await until('the server was told that the session is over', () => server.sessions.size === 0);
  hub.close();
  await server.stop();
  await store.close();
});

test('keys and Connected Tools that have no call under way take no memory', () => {
  const places = new CallSlots({ perKey: 1, perConnectedTool: 1 });
  const used = () => {
    Bun.gc(true);
    return heapStats().heapSize;
  };
  const before = used();
  for (let n = 0; n < 200_000; n++) {
    const { none, free } = places.take({ keyId: `key ${n} ${newId()}`, id: `tool ${n} ${newId()}` });
    expect(none).toBeUndefined();
    free();
  }
  // A hundred bytes for each would be 40 MB.
  expect(used() - before).toBeLessThan(10_000_000);
  expect(places).toBeDefined();
});

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    test('the open streams of a key are limited; another key, and a client that replaces its own stream, is served', async () => {
      const service = await startService({ engine });
      const { key } = await service.newKey([]);
      const other = await service.newKey([]);
      const stop = new AbortController();
      const clients: LegacyClient[] = [];
      for (let n = 0; n <= MOST_STREAMS; n++) clients.push(await LegacyClient.open(service, key));
      const last = clients.pop() as LegacyClient;
      const opened = await Promise.all(clients.map(each => each.listen(stop.signal)));
      expect(opened.map(each => each.status)).toEqual(clients.map(() => 200));
      const refused = await last.listen();
      expect(refused.status).toBe(429);
      expect(await refused.text()).toContain('Close one, or do without');
      const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
      const alive = await postMcp(service, key, ping, { headers: { 'Mcp-Session-Id': last.sessionId } });
      expect(alive.status).toBe(200);
      const stranger = await (await LegacyClient.open(service, other.key)).listen(stop.signal);
      const again = await (clients[0] as LegacyClient).listen(stop.signal);
      expect([stranger.status, again.status]).toEqual([200, 200]);
      stop.abort();
      await until('a place is free again', async () => {
        const tried = await last.listen();
        await tried.body?.cancel();
        return tried.status === 200;
      });
      await service.close();
    });
  });
}
