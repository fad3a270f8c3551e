// What a replica remembers of clients' connections: gone here at once when one is ended, and bounded.

import { describe, expect, test } from 'bun:test';
import type { Principal } from '../../src/guard/credentials.ts';
import { giveHint } from '../../src/guard/hints.ts';
import { newId } from '../../src/guard/ids.ts';
import { EventWriter } from '../../src/guard/rations/event-writer.ts';
import { McpSessions } from '../../src/mcp/mcp-sessions.ts';
import { insertMcpSession } from '../../src/store/mcp-sessions.ts';
import { depsAt } from '../guard/deps.ts';
import { NOW, onEachEngine, openStore } from '../store/stores.ts';
import { until } from '../support/faults.ts';
import { refusal } from '../support/refusal.ts';

const VERSION = '2025-11-25';
const MOST_REMEMBERED = 10_000;
const credential = (keyId: string = newId()): Principal => ({
  kind: 'key',
  keyId,
  sessionId: null,
  scope: null,
});

await onEachEngine(store => {
  test('one that is ended is gone here at once, and on every other replica soon, with its stream', async () => {
    const deps = depsAt(store.db);
    const [here, there] = [new McpSessions(deps), new McpSessions(deps)];
    const mine = credential();
    const id = await here.open(mine, VERSION);
    for (const each of [here, there]) await each.find(id, mine);
    const ended: string[] = [];
    here.stream(id, mine, new EventWriter(() => ended.push('here')));
    there.stream(id, mine, new EventWriter(() => ended.push('there')));
    there.stream('probe', mine, new EventWriter(() => ended.push('probe')));
    await until('hints arrive', () => {
      giveHint(store.db, 'ended', 'probe');
      return ended.pop() === 'probe';
    });
    expect(await refusal(here.end(id, credential()))).toMatchObject({ code: 'not_found' });
    expect(ended).toEqual([]);
    await here.end(id, mine);
    expect(ended).toContain('here');
    expect(await refusal(here.find(id, mine))).toMatchObject({ code: 'not_found' });
    await until('the other stream is closed', () => ended.length === 2);
    expect(await refusal(there.find(id, mine))).toMatchObject({ code: 'not_found' });
  });
});

describe('what is remembered', () => {
  test('is let go when it is ten thousand connections', async () => {
    const store = await openStore('sqlite');
    const connections = new McpSessions(depsAt(store.db));
    const [keyId, ids] = [newId(), Array.from({ length: MOST_REMEMBERED + 1 }, () => newId())];
    await store.db.transaction({}, async tx => {
      for (const id of ids)
        insertMcpSession(tx, { id, keyId, sessionId: null, protocolVersion: VERSION, logLevel: null }, NOW);
    });
    const remembered: WeakRef<Principal>[] = [];
    const findNext = async () => {
      const principal = credential(keyId);
      await connections.find(ids.pop() as string, principal);
      remembered.push(new WeakRef(principal));
    };
    const left = async () => {
      // What a turn has looked at is kept until it ends.
      await new Promise(resolve => setImmediate(resolve));
      Bun.gc(true);
      return remembered.filter(each => each.deref() !== undefined).length;
    };
    while (ids.length > 1) await findNext();
    expect(await left()).toBe(MOST_REMEMBERED);
    await findNext();
    // Whatever the collector overlooks is few.
    expect(await left()).toBeLessThan(MOST_REMEMBERED / 10);
    expect(connections).toBeDefined();
    await store.close();
  });
});
