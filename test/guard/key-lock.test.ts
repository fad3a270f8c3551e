// Whoever changes a fact of a key waits until the checks that rely on it have committed, and whoever checks then
// waits for the change: grants, sessions, and the definitions of tools. PostgreSQL is asked who waits for whom. SQLite has one
// writer at a time, and no such locks.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { endGrant } from '../../src/guard/approvals/grants.ts';
import type { Deps } from '../../src/guard/deps.ts';
import { newId } from '../../src/guard/ids.ts';
import { keyLock } from '../../src/guard/locks.ts';
import { endOAuthSession } from '../../src/guard/people/oauth-tokens.ts';
import { endAnySession, endConnection } from '../../src/guard/sessions.ts';
import { acceptDrift } from '../../src/guard/tool-servers/accept.ts';
import { connectTool } from '../../src/guard/tool-servers/connected-tools.ts';
import { compareDefinitions } from '../../src/guard/tool-servers/definitions.ts';
import { listChanges } from '../../src/store/changes.ts';
import type { ConnectedTool } from '../../src/store/connected-tools.ts';
import { Blocked, type Db } from '../../src/store/engine/db.ts';
import { findGrant, insertGrant, openGrants } from '../../src/store/grants.ts';
import { insertKey } from '../../src/store/keys.ts';
import { insertOperator } from '../../src/store/operators.ts';
import { findSession, insertSession } from '../../src/store/sessions.ts';
import { listDefinitions } from '../../src/store/tool-definitions.ts';
import { keyRecord, NOW, openStore, sessionRecord, type TestStore } from '../store/stores.ts';
import { until } from '../support/faults.ts';
import { refusal } from '../support/refusal.ts';
import { engines } from '../support/service.ts';
import { depsAt } from './deps.ts';

const KEY = 'key-1';
const definition = (description: string) => ({ toolName: 'a', definition: { name: 'a', description } });

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let deps: Deps;
    beforeAll(async () => {
      store = await openStore(engine);
      deps = depsAt(store.db);
      await store.db.transaction({}, tx => insertKey(tx, keyRecord({ id: KEY }), 'hash'));
    });
    afterAll(() => store.close());

    async function newGrant(): Promise<string> {
      const id = newId();
      const about = { keyId: KEY, serverName: 's', toolName: 't', definitionDigest: null, ruleDigest: null };
      const times = { createdAt: NOW, expiresAt: NOW + 60_000 };
      await store.db.transaction({}, async tx =>
        insertGrant(tx, { id, referenceId: newId(), ...about, ...times }),
      );
      return id;
    }

    /** A Connected Tool whose tool `a` shows another definition than the accepted one; its digest. */
    async function changedTool(): Promise<ConnectedTool & { digest: string }> {
      const input = {
        name: `up-${newId().slice(-8)}`,
        transport: 'stdio' as const,
        target: 'x',
        headers: null,
      };
      const tool = await connectTool(deps, 'admin', { allowPrivate: true }, KEY, input);
      await compareDefinitions(deps, tool, [definition('one')]);
      await compareDefinitions(deps, tool, [definition('two')]);
      const [shown] = await listDefinitions(store.db, tool.id);
      return { ...tool, digest: shown?.changedDigest as string };
    }

    test('a connection that has ended takes no lock: old tokens cannot make others wait', async () => {
      const person = { operatorId: 'ann', email: 'ann@example.com' };
      const session = sessionRecord({ id: newId(), keyId: KEY, personId: person.operatorId });
      await store.db.transaction({}, tx => insertSession(tx, session, `oauth ${session.id}`));
      let transactions = 0;
      const transaction: Db['transaction'] = (locks, work) => {
        transactions++;
        return store.db.transaction(locks, work);
      };
      const all: Db['all'] = (sql, params) => store.db.all(sql, params);
      const counting = { ...deps, db: { all, transaction } as Db };
      const repeat = async () => {
        await endOAuthSession(counting, 'system', session.id, 'used twice');
        await endConnection(counting, person, session.id);
      };
      await repeat();
      await repeat();
      expect(transactions).toBe(1);
      expect((await findSession(store.db, session.id))?.revokedBecause).toBe('used twice');
    });

    test('a grant that is ended frees nothing, is ended once, and the change is recorded', async () => {
      const id = await newGrant();
      const grant = await findGrant(store.db, id);
      const eve = { operatorId: 'eve', email: 'eve@example.com', role: 'admin' as const, groups: [] };
      await insertOperator(store.db, { ...eve, id: eve.operatorId, createdAt: NOW }, null);
      await endGrant(deps, eve, id);
      await endGrant(deps, 'admin', id);
      expect((await openGrants(store.db, [KEY], NOW)).filter(each => each.id === id)).toEqual([]);
      const changes = (await listChanges(store.db, 100, 'z')).filter(each => each.target === id);
      expect(changes).toMatchObject([
        {
          actor: 'operator:eve@example.com',
          action: 'grant.revoke',
          detail: { referenceId: grant?.referenceId },
        },
      ]);
      expect(await refusal(endGrant(deps, 'admin', newId()))).toMatchObject({ code: 'not_found' });
    });

    const CHANGES: Record<string, () => Promise<() => Promise<void>>> = {
      'a grant is ended': async () => {
        const id = await newGrant();
        return () => endGrant(deps, 'admin', id);
      },
      'a session is revoked by the administration': async () => {
        const id = newId();
        await store.db.transaction({}, tx => insertSession(tx, sessionRecord({ id, keyId: KEY }), id));
        return () => endAnySession(deps, 'admin', id);
      },
      'a definition is marked as changed': async () => {
        const tool = await changedTool();
        return () => compareDefinitions(deps, tool, [definition('three')]);
      },
      'a changed definition is accepted': async () => {
        const { id, digest } = await changedTool();
        return () => acceptDrift(deps, 'admin', KEY, id, { toolName: 'a', digest });
      },
    };

    for (const [what, prepare] of Object.entries(engine === 'postgres' ? CHANGES : {})) {
      test(`${what}: no sooner than checks under way have committed`, async () => {
        const change = await prepare();
        const events: string[] = [];
        const changing = await whileChecking(store, async () => {
          const done = unlessGivenUp(change).then(() => events.push('changed'));
          await until(
            'the change waits, or is done',
            async () => events.length > 0 || (await waits(store.db)),
          );
          events.push('checked');
          return { done };
        });
        await changing.done;
        expect(events).toEqual(['checked', 'changed']);
      });
    }
  });
}

/** On a machine that stalls, the wait for a lock is given up after a second. */
async function unlessGivenUp(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (!(error instanceof Blocked)) throw error;
    await change();
  }
}

/** As the transaction of a group of checks holds the key's lock. */
async function whileChecking<T>(store: TestStore, work: () => Promise<T>): Promise<T> {
  const other = await store.again();
  try {
    return await other.transaction({ shared: [keyLock(KEY)] }, async tx => {
      // Locks travel with the first statement.
      await tx.all('SELECT 1 AS one');
      return work();
    });
  } finally {
    await other.close();
  }
}

async function waits(db: Db): Promise<boolean> {
  const rows = await db.all(
    `SELECT 1 AS one FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows.length > 0;
}
