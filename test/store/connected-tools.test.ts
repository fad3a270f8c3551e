// Connected Tools and the definitions of their tools: one key, one server and one tool at a time.

import { expect, test } from 'bun:test';
import * as tools from '../../src/store/connected-tools.ts';
import * as reviews from '../../src/store/definition-reviews.ts';
import * as definitions from '../../src/store/tool-definitions.ts';
import { NOW, onEachEngine } from './stores.ts';

const tool = (id: string, keyId: string, name: string): tools.ConnectedTool => ({
  id,
  keyId,
  sourceId: id,
  toolServerId: null,
  trust: 'first',
  name,
  transport: 'http',
  target: 'https://example.com',
  headersEncrypted: id === 'c1' ? 'sealed' : null,
  oauthEncrypted: null,
  oauthAs: null,
  authorizationServer: null,
  updatedAt: null,
  createdAt: NOW,
});

const ALL = [tool('c1', 'key-1', 'b'), tool('c2', 'key-1', 'a'), tool('c3', 'key-2', 'a')] as const;
const PINS = [
  ['c1', 'read'],
  ['c1', 'write'],
  ['c2', 'read'],
] as const;

await onEachEngine(store => {
  const pin = (sourceId: string, toolName: string, digest = 'first') =>
    store.db.transaction({}, async tx =>
      definitions.pinDefinition(tx, {
        sourceId,
        toolName,
        digest,
        definition: `{"${digest}":1}`,
        seenAt: NOW,
      }),
    );
  const drift = (id: string, name: string, digest: string | null) =>
    store.db.transaction({}, async tx =>
      definitions.markDrift(
        tx,
        id,
        name,
        digest === null ? null : { digest, definition: '{"new":1}', at: NOW + 1 },
      ),
    );
  const accept = (id: string, name: string, digest: string) =>
    store.db.transaction({}, async tx => {
      const others = await definitions.acceptDefinitions(tx, id, [{ name, digest }], {
        by: 'eve',
        at: NOW + 2,
      });
      return others.length === 0;
    });
  /** Every definition, as `server tool digest other`. */
  const shown = async (ids = ['c1', 'c2'], names = ['read', 'write']) =>
    (await definitions.shownDefinitions(store.db, ids, names))
      .filter(each => each.toolName !== null)
      .map(each => `${each.connectedToolId} ${each.toolName} ${each.digest} ${each.changedDigest ?? '-'}`)
      .sort();
  const connect = (all: readonly tools.ConnectedTool[]) =>
    store.db.transaction({}, async tx => {
      for (const each of all) await tools.insertConnectedTool(tx, each);
    });
  const begin = async () => {
    await store.db.run('DELETE FROM tool_definitions');
    await store.db.run('DELETE FROM connected_tools');
    await connect(ALL);
    for (const [id, name] of PINS) await pin(id, name);
  };

  test('servers are listed by their names, and found by key and id', async () => {
    const { db } = store;
    await begin();
    expect(await tools.listConnectedTools(db, 'key-1')).toEqual([ALL[1], ALL[0]] as never);
    expect(await tools.findConnectedTool(db, 'key-1', 'c1')).toEqual(ALL[0] as never);
    expect(await tools.findConnectedTool(db, 'key-2', 'c1')).toBeNull();
    expect(await tools.findConnectedTool(db, 'key-1', 'unknown')).toBeNull();

    await drift('c1', 'read', 'new');
    const find = (keyId: string, serverName: string, toolName: string) =>
      definitions.findDefinition(db, { keyId, serverName, toolName });
    const first = { definition: '{"first":1}', toolServerId: null };
    expect(await find('key-1', 'b', 'read')).toEqual({ ...first, drifted: true, connectedToolId: 'c1' });
    expect(await find('key-1', 'a', 'read')).toEqual({ ...first, drifted: false, connectedToolId: 'c2' });
    expect([await find('key-1', 'a', 'write'), await find('key-2', 'a', 'read')]).toEqual([null, null]);
    await db.transaction({}, tx => tools.removeConnectedTool(tx, ALL[0]));
    expect(await tools.listConnectedTools(db, 'key-1')).toEqual([ALL[1]] as never);
    expect(await shown()).toEqual(['c2 read first -']);
  });

  test('a definition is pinned at first sight and stays', async () => {
    await begin();
    await pin('c1', 'read', 'second');
    expect(await shown()).toEqual(['c1 read first -', 'c1 write first -', 'c2 read first -']);
    expect(await shown(['c1'], ['read'])).toEqual(['c1 read first -']);
    expect(await definitions.listDefinitions(store.db, 'c2')).toEqual([
      {
        sourceId: 'c2',
        toolName: 'read',
        digest: 'first',
        definition: '{"first":1}',
        changedDigest: null,
        changedDefinition: null,
        changedAt: null,
        seenAt: NOW,
      },
    ]);
    expect((await definitions.listDefinitions(store.db, 'c1')).map(each => each.toolName)).toEqual([
      'read',
      'write',
    ]);
  });

  test('a changed definition is marked, and shown again unmarked, for one tool', async () => {
    await begin();
    await drift('c1', 'read', 'new');
    expect(await shown()).toEqual(['c1 read first new', 'c1 write first -', 'c2 read first -']);
    const [read] = await definitions.listDefinitions(store.db, 'c1');
    expect(read).toMatchObject({ changedDefinition: '{"new":1}', changedAt: NOW + 1 });
    await drift('c1', 'read', null);
    expect(await shown()).toEqual(['c1 read first -', 'c1 write first -', 'c2 read first -']);
  });

  test('the definition that a tool shows can be accepted, and no other', async () => {
    await begin();
    for (const [id, name] of PINS) await drift(id, name, 'new');
    expect(await accept('c1', 'read', 'old')).toBe(false);
    expect(await accept('c1', 'unknown', 'new')).toBe(false);
    expect(await accept('c1', 'read', 'new')).toBe(true);
    expect(await shown()).toEqual(['c1 read new -', 'c1 write first new', 'c2 read first new']);
    const [read] = await definitions.listDefinitions(store.db, 'c1');
    expect(read).toMatchObject({ definition: '{"new":1}', changedDefinition: null, changedAt: null });
    expect(await accept('c2', 'read', 'first')).toBe(false);
    await drift('c2', 'read', null);
    expect(await accept('c2', 'read', 'first')).toBe(true);
    expect(await reviews.listReviewed(store.db, 'c2', 10, '')).toMatchObject([
      { digest: 'first', acceptedDigest: 'first', acceptedBy: 'eve', acceptedAt: NOW + 2 },
    ]);
  });
});
