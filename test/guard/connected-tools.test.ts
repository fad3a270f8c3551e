// Whoever keeps a key's Connected Tools in memory is told of the key once they have changed in the store.

import { expect, test } from 'bun:test';
import { giveHint, onHint } from '../../src/guard/hints.ts';
import { connectTool, disconnectTool } from '../../src/guard/tool-servers/connected-tools.ts';
import { listConnectedTools } from '../../src/store/connected-tools.ts';
import { insertKey } from '../../src/store/keys.ts';
import { keyRecord, onEachEngine } from '../store/stores.ts';
import { until } from '../support/faults.ts';
import { depsAt } from './deps.ts';

const KEY = 'key-1';
const input = { name: 'up', transport: 'stdio' as const, target: 'x', headers: null };

await onEachEngine(store => {
  test('a Connected Tool that is registered or removed is told of, and is in the store as told by then', async () => {
    const { db } = store;
    const deps = depsAt(db);
    await db.transaction({}, tx => insertKey(tx, keyRecord({ id: KEY }), 'hash'));
    const told: Promise<number>[] = [];
    let listens = false;
    onHint(db, 'tools', keyId => {
      if (keyId === KEY) told.push(listConnectedTools(db, keyId).then(tools => tools.length));
      else listens = true;
    });
    await until('hints arrive', () => {
      giveHint(db, 'tools', 'another key');
      return listens;
    });
    const { id } = await connectTool(deps, 'admin', { allowPrivate: true }, KEY, input);
    await until('the new one is told of', () => told.length > 0);
    await disconnectTool(deps, 'admin', KEY, id);
    await until('the removed one is told of', () => told.length > 1);
    expect(await Promise.all(told)).toEqual([1, 0]);
  });
});
