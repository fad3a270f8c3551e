// The stream of a client, by itself: what is held for it in memory is given back when it ends.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Principal } from '../../src/guard/credentials.ts';
import type { Deps } from '../../src/guard/deps.ts';
import { newId } from '../../src/guard/ids.ts';
import { listen } from '../../src/mcp/endpoint.ts';
import { Hub } from '../../src/mcp/hub.ts';
import { McpSessions } from '../../src/mcp/mcp-sessions.ts';
import type { McpServices } from '../../src/mcp/services.ts';
import { depsAt } from '../guard/deps.ts';
import { openStore, type TestStore } from '../store/stores.ts';
import { refusal } from '../support/refusal.ts';
import { clientRequest, HUB_SETTINGS } from './channel.ts';

const MOST_STREAMS = 100;

/** Counts who listens. */
class CountingHub extends Hub {
  listening = 0;
  override onListChanged(...given: Parameters<Hub['onListChanged']>): () => void {
    const stop = super.onListChanged(...given);
    this.listening++;
    return () => {
      this.listening--;
      stop();
    };
  }
}

let store: TestStore;
let deps: Deps;
let hub: CountingHub;
beforeAll(async () => {
  store = await openStore('sqlite');
  deps = depsAt(store.db);
  hub = new CountingHub(deps, HUB_SETTINGS);
});
afterAll(async () => {
  hub.close();
  await store.close();
});

test('a stream that ended leaves neither its place nor its listener behind', async () => {
  const mcpSessions = new McpSessions(deps);
  const principal: Principal = { kind: 'key', keyId: newId(), sessionId: null, scope: null };
  const services = { hub, mcpSessions } as unknown as McpServices;
  const open = async () => {
    const id = await mcpSessions.open(principal, '2025-11-25');
    const headers = { 'Mcp-Session-Id': id, Accept: 'text/event-stream' };
    const request = new Request('http://localhost/mcp', { headers });
    return listen(services, clientRequest(request, principal));
  };
  for (let round = 0; round < 2; round++) {
    const streams: (Response | null)[] = [];
    for (let n = 0; n < MOST_STREAMS; n++) streams.push(await open());
    expect(hub.listening).toBe(MOST_STREAMS);
    expect(await refusal(open())).toMatchObject({ code: 'rate_limited' });
    expect(hub.listening).toBe(MOST_STREAMS);
    for (const each of streams) await each?.body?.cancel();
    expect(hub.listening).toBe(0);
  }
});
