// What happens at the same moment to a tool server that keys share, and to the Connected Tools that name it: each change sees
// what the other did, or waits for it, as it waits for checks under way. And Connected Tools from before there were tool
// servers can be shared too.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Deps } from '../../src/guard/deps.ts';
import { newId } from '../../src/guard/ids.ts';
import { keyLock, toolServerLock } from '../../src/guard/locks.ts';
import { acceptOfTool } from '../../src/guard/tool-servers/accept.ts';
import { connectServer, connectTool, disconnectTool } from '../../src/guard/tool-servers/connected-tools.ts';
import { compareDefinitions, definitionDigest } from '../../src/guard/tool-servers/definitions.ts';
import { editTool } from '../../src/guard/tool-servers/edit-tool.ts';
import { createKeyWith } from '../../src/guard/tool-servers/new-key.ts';
import { shareTool } from '../../src/guard/tool-servers/share.ts';
import { decryptHeaders, encryptHeaders } from '../../src/guard/tool-servers/source-secrets.ts';
import {
  deleteToolServer,
  editToolServer,
  makeToolServer,
} from '../../src/guard/tool-servers/tool-servers.ts';
import { type ConnectedTool, findConnectedTool, insertLink } from '../../src/store/connected-tools.ts';
import { listReviewed } from '../../src/store/definition-reviews.ts';
import { Blocked, type Transaction } from '../../src/store/engine/db.ts';
import { MIGRATIONS, migrate } from '../../src/store/engine/migrate.ts';
import { findNamesake, insertKey } from '../../src/store/keys.ts';
import { insertPolicy } from '../../src/store/policies.ts';
import { listDefinitions } from '../../src/store/tool-definitions.ts';
import { findToolServer, type ToolServer } from '../../src/store/tool-servers.ts';
import { keyRecord, NOW, newStore, openStore, type TestStore } from '../store/stores.ts';
import { until } from '../support/faults.ts';
import { refusal } from '../support/refusal.ts';
import { engines } from '../support/service.ts';
import { depsAt } from './deps.ts';
import { meanwhile } from './meanwhile.ts';

const KEY = 'key-1';
const RULES = { allowPrivate: true };
const DEFINITION = { toolName: 'a', definition: { name: 'a' } };
const LOOKED_AT = { name: 'a', digest: definitionDigest(DEFINITION.definition) };

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let deps: Deps;
    beforeAll(async () => {
      store = await openStore(engine);
      deps = depsAt(store.db);
      await store.db.transaction({}, tx => insertKey(tx, keyRecord({ id: KEY }), 'hash'));
      const policy = { name: 'p', description: '', version: 1, createdAt: NOW, updatedAt: NOW };
      await insertPolicy(store.db, { ...policy, id: 'policy' });
    });
    afterAll(() => store.close());

    const input = () => ({
      name: `up-${newId().slice(-8)}`,
      transport: 'stdio' as const,
      target: 'x',
      headers: null,
    });
    const newServer = () => makeToolServer(deps, 'admin', RULES, input());
    const newTool = () => connectTool(deps, 'admin', RULES, KEY, input());
    const link = ({ id }: ToolServer) => connectServer(deps, 'admin', KEY, { toolServerId: id });
    const share = ({ id }: ConnectedTool) => shareTool(deps, 'admin', KEY, id);
    const edit = (on: Deps, { id }: ConnectedTool, changes: object) =>
      editTool(on, 'admin', RULES, KEY, id, changes);

    test('a server that is removed just before a key gets it is not found', async () => {
      const server = await newServer();
      const removed = meanwhile(deps, () => deleteToolServer(deps, 'admin', server.id));
      const given = { toolServerId: server.id };
      const refused = await refusal(connectServer(removed, 'admin', KEY, given));
      expect(refused).toMatchObject({ code: 'invalid_input', errors: [{ path: '/toolServerId' }] });

      const another = await newServer();
      const key = {
        name: 'never made',
        policyId: 'policy',
        requireSignInToApprove: false,
        expiresAt: null,
        notify: null,
        forward: [],
      };
      const gone = meanwhile(deps, () => deleteToolServer(deps, 'admin', another.id));
      const names = [(await newServer()).name, another.name];
      expect(await refusal(createKeyWith(gone, 'admin', names, key))).toMatchObject({
        code: 'invalid_input',
        errors: [{ path: '/toolServers/1' }],
      });
      const made = { ...keyRecord({ id: 'none' }), name: key.name };
      expect(await findNamesake(store.db, made, NOW)).toBeNull();
    });

    test('a Connected Tool that is shared just before is found as what it is now', async () => {
      const edited = await newTool();
      const change = edit(
        meanwhile(deps, () => share(edited)),
        edited,
        { target: 'y' },
      );
      expect(await refusal(change)).toMatchObject({ code: 'conflict' });
      expect((await findToolServer(store.db, edited.id))?.target).toBe('x');

      const seen = await newTool();
      await compareDefinitions(
        meanwhile(deps, () => share(seen)),
        seen,
        [DEFINITION],
      );
      expect(await listDefinitions(store.db, seen.id)).toMatchObject([{ toolName: 'a' }]);
      const accepted = await newTool();
      await compareDefinitions(deps, accepted, [DEFINITION]);
      const sharing = meanwhile(deps, () => share(accepted));
      await acceptOfTool(sharing, 'admin', KEY, accepted.id, [LOOKED_AT]);
      const [row] = await listReviewed(store.db, accepted.id, 1, '');
      expect(row).toMatchObject({ acceptedBy: 'admin', acceptedDigest: LOOKED_AT.digest });

      for (const [work, code] of [
        [share, 'conflict'],
        [(tool: ConnectedTool) => disconnectTool(deps, 'admin', KEY, tool.id), 'not_found'],
      ] as const) {
        const tool = await newTool();
        const late = meanwhile(deps, () => work(tool));
        expect(await refusal(shareTool(late, 'admin', KEY, tool.id))).toMatchObject({ code });
      }
    });

    test('a server that two are given the same name is one, and the other is refused', async () => {
      const { name } = await newServer();
      const again = makeToolServer(deps, 'admin', RULES, { ...input(), name });
      expect(await refusal(again)).toMatchObject({ code: 'conflict' });
      const other = await newServer();
      expect(await refusal(editToolServer(deps, 'admin', RULES, other.id, { name }))).toMatchObject({
        code: 'conflict',
      });
      expect((await findToolServer(store.db, other.id))?.name).toBe(other.name);
    });

    /** Each with the lock that those who depend on the fact hold. */
    const CHANGES: Record<string, () => Promise<[lock: string, change: () => Promise<unknown>]>> = {
      'a tool server is changed': async () => {
        const { id } = await newServer();
        return [toolServerLock(id), () => editToolServer(deps, 'admin', RULES, id, { target: 'y' })];
      },
      'a tool server is removed': async () => {
        const { id } = await newServer();
        return [toolServerLock(id), () => deleteToolServer(deps, 'admin', id)];
      },
      'a Connected Tool is shared': async () => {
        const tool = await newTool();
        return [keyLock(KEY), () => share(tool)];
      },
      'a Connected Tool that names a tool server is renamed': async () => {
        const tool = await link(await newServer());
        return [keyLock(KEY), () => edit(deps, tool, { name: 'another' })];
      },
      'a definition is accepted through one key': async () => {
        const server = await newServer();
        const { id } = await link(server);
        await compareDefinitions(deps, server, [DEFINITION]);
        const change = () => acceptOfTool(deps, 'admin', KEY, id, [LOOKED_AT]);
        return [toolServerLock(server.id), change];
      },
      'a definition is accepted of what was shared just before': async () => {
        const tool = await newTool();
        await compareDefinitions(deps, tool, [DEFINITION]);
        const [shared, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        const late = meanwhile(deps, async () => {
          await share(tool);
          shared.resolve();
          await go.promise;
        });
        const accepted = acceptOfTool(late, 'admin', KEY, tool.id, [LOOKED_AT]);
        await shared.promise;
        const change = () => {
          go.resolve();
          return accepted;
        };
        return [toolServerLock(tool.id), change];
      },
    };

    for (const [what, prepare] of Object.entries(engine === 'postgres' ? CHANGES : {}))
      test(`${what}: no sooner than checks under way have committed`, async () => {
        const [lock, change] = await prepare();
        const events: string[] = [];
        const { done } = await whileHeld(store, lock, async () => {
          const begun = unlessGivenUp(change).then(() => events.push('changed'));
          await until('it waits, or is done', async () => events.length > 0 || (await waits(store)));
          events.push('checked');
          return { done: begun };
        });
        await done;
        expect(events).toEqual(['checked', 'changed']);
      });

    test.skipIf(engine !== 'postgres')('a key that is just getting it keeps a server', async () => {
      const server = await newServer();
      const given = { id: newId(), keyId: KEY, name: server.name, toolServerId: server.id, createdAt: NOW };
      const { refused } = await whileHeld(store, toolServerLock(server.id), async tx => {
        await insertLink(tx, given);
        const removal = refusal(deleteToolServer(deps, 'admin', server.id));
        await until('the removal waits', () => waits(store));
        return { refused: removal };
      });
      expect(await refused).toMatchObject({ code: 'conflict' });
      expect(await findToolServer(store.db, server.id)).not.toBeNull();
    });

    test('a Connected Tool from before there were tool servers works on, and can be shared', async () => {
      const old = await newStore(engine);
      await migrate(
        old.db,
        NOW,
        MIGRATIONS.filter(each => each.version < 26),
      );
      const { vault } = deps;
      const headers = { Authorization: 'Bearer upstream' };
      await old.db.run(
        `INSERT INTO connected_tools (id, key_id, name, transport, target, headers_sealed, created_at, updated_at)
         VALUES ('tool', $1, 'old', 'http', 'https://example.com', $2, $3, $4)`,
        [KEY, encryptHeaders(vault, 'tool', headers), NOW, NOW + 1],
      );
      await old.db.run(
        `INSERT INTO tool_definitions (connected_tool_id, tool_name, digest, definition, seen_at)
         VALUES ('tool', 'a', $1, '{"name":"a"}', $2)`,
        [LOOKED_AT.digest, NOW],
      );
      await migrate(old.db, NOW);
      const then = depsAt(old.db);
      const before = (await findConnectedTool(old.db, KEY, 'tool')) as ConnectedTool;
      expect(before).toMatchObject({
        sourceId: 'tool',
        toolServerId: null,
        trust: 'first',
        transport: 'http',
      });
      await compareDefinitions(then, before, [DEFINITION]);
      const server = await shareTool(then, 'admin', KEY, 'tool');
      const after = (await findConnectedTool(old.db, KEY, 'tool')) as ConnectedTool;
      expect(after).toEqual({ ...before, toolServerId: server.id });
      expect(decryptHeaders(vault, after)).toEqual(headers);
      expect(await listDefinitions(old.db, server.id)).toMatchObject([
        { digest: LOOKED_AT.digest, changedDigest: null, seenAt: NOW },
      ]);
      await old.close();
    });
  });
}

/** On a machine that stalls, the wait for a lock is given up after a second. */
async function unlessGivenUp(change: () => Promise<unknown>): Promise<unknown> {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof Blocked)) throw error;
    return change();
  }
}

/** As the transaction of a group of checks holds a lock. */
async function whileHeld<T>(
  store: TestStore,
  lock: string,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const other = await store.again();
  try {
    return await other.transaction({ shared: [lock] }, async tx => {
      // Locks travel with the first statement.
      await tx.all('SELECT 1 AS one');
      return work(tx);
    });
  } finally {
    await other.close();
  }
}

async function waits({ db }: TestStore): Promise<boolean> {
  const rows = await db.all(
    `SELECT 1 AS one FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows.length > 0;
}
