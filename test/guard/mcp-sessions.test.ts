// Connections of MCP clients as state: they last while they are used, and no credential has more of them than its
// share, on one replica or two.

import { describe, expect, test } from 'bun:test';
import type { Principal } from '../../src/guard/credentials.ts';
import { newId } from '../../src/guard/ids.ts';
import { closeMcpSession, lookUpMcpSession, openMcpSession } from '../../src/guard/mcp-sessions.ts';
import { insertMcpSession } from '../../src/store/mcp-sessions.ts';
import { NOW, openStore, type TestStore } from '../store/stores.ts';
import { engines } from '../support/service.ts';
import { depsAt } from './deps.ts';

const HOUR = 3_600_000;
const VERSION = '2025-11-25';
const MOST = 1000;

function credential(sessionId: string | null = null, keyId: string = newId()): Principal {
  return { keyId, sessionId, scope: null } as Principal;
}

async function rowsOf({ db }: TestStore, { keyId }: Principal): Promise<string[]> {
  const rows = await db.all<{ id: string }>('SELECT id FROM connections WHERE key_id = $1', [keyId]);
  return rows.map(row => row.id);
}

/** So many connections of a credential, each used at this time. */
function seed({ db }: TestStore, { keyId, sessionId }: Principal, count: number, now: number): Promise<void> {
  const connection = { keyId, sessionId, protocolVersion: VERSION, logLevel: null };
  return db.transaction({}, async tx => {
    for (let n = 0; n < count; n++) insertMcpSession(tx, { ...connection, id: newId() }, now);
  });
}

for (const engine of await engines()) {
  describe(engine, () => {
    test('one that is used does not lapse, however many others there are and whichever replica served it', async () => {
      const store = await openStore(engine);
      let now = NOW;
      const clock = () => now;
      const principal = credential();
      const id = await openMcpSession(depsAt(store.db, clock), principal, VERSION);
      for (let n = 0; n < 5; n++) {
        now += 20 * HOUR;
        // Another replica each time, or the same after a restart: nothing is remembered but the row.
        expect((await lookUpMcpSession(depsAt(store.db, clock), principal, id))?.id).toBe(id);
      }
      now += 25 * HOUR;
      expect(await lookUpMcpSession(depsAt(store.db, clock), principal, id)).toBeNull();
      await store.close();
    });

    test('use is written down every ten minutes, not at every message', async () => {
      const store = await openStore(engine);
      let now = NOW;
      const deps = depsAt(store.db, () => now);
      const principal = credential();
      const id = await openMcpSession(deps, principal, VERSION);
      const usedAt = async () => (await store.db.all('SELECT used_at AS "at" FROM connections'))[0]?.['at'];
      now += 9 * 60_000;
      await lookUpMcpSession(deps, principal, id);
      expect(await usedAt()).toBe(NOW);
      now += 60_000;
      await lookUpMcpSession(deps, principal, id);
      expect(await usedAt()).toBe(now);
      await store.close();
    });

    test('one that ended leaves no row', async () => {
      const store = await openStore(engine);
      const deps = depsAt(store.db);
      const principal = credential();
      const id = await openMcpSession(deps, principal, VERSION);
      await closeMcpSession(deps, id);
      expect(await rowsOf(store, principal)).toEqual([]);
      expect(await lookUpMcpSession(deps, principal, id)).toBeNull();
      await store.close();
    });

    test('a credential that opens them without end loses its least used ones, and no other its own', async () => {
      const store = await openStore(engine);
      let now = NOW;
      const deps = depsAt(store.db, () => now);
      const owner = credential();
      const sessions = [credential(newId(), owner.keyId), credential(newId(), owner.keyId)] as const;
      const others = [owner, sessions[1], credential()];
      const kept = await Promise.all(others.map(each => openMcpSession(deps, each, VERSION)));
      const first = await openMcpSession(deps, sessions[0], VERSION);
      const used = await openMcpSession(deps, sessions[0], VERSION);
      now += HOUR;
      await lookUpMcpSession(deps, sessions[0], used);
      await seed(store, sessions[0], MOST - 2, now);
      now += HOUR;
      for (let n = 0; n < 3; n++) {
        await lookUpMcpSession(deps, sessions[0], used);
        await openMcpSession(deps, sessions[0], VERSION);
      }
      expect((await rowsOf(store, owner)).length).toBe(MOST + 2);
      expect(await lookUpMcpSession(deps, sessions[0], first)).toBeNull();
      expect((await lookUpMcpSession(deps, sessions[0], used))?.id).toBe(used);
      for (const [index, each] of others.entries()) {
        expect((await lookUpMcpSession(deps, each, kept[index] as string))?.id).toBe(kept[index] as string);
      }
      await store.close();
    });
  });
}

test.skipIf(!(await engines()).includes('postgres'))('the bound holds on two replicas at once', async () => {
  const store = await openStore('postgres');
  const other = await store.again();
  const principal = credential();
  const guards = [depsAt(store.db), depsAt(other)];
  await seed(store, principal, MOST, NOW - 1);
  for (let round = 0; round < 5; round++) {
    await Promise.all([...guards, ...guards].map(deps => openMcpSession(deps, principal, VERSION)));
  }
  expect((await rowsOf(store, principal)).length).toBe(MOST);
  await other.close();
  await store.close();
});
