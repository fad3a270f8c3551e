// The sealed log as it is stored: places, hashes of subtrees, what has no place yet, and who may write next.

import { expect, test } from 'bun:test';
import { type Hash, leafHash, Tree } from '../../../src/core/log/merkle.ts';
import { insertAudit } from '../../../src/store/log/audit.ts';
import * as seals from '../../../src/store/log/seals.ts';
import { refusal } from '../../support/refusal.ts';
import { auditEntry, idAt, NOW, onEachEngine } from '../stores.ts';

/** Four whole subtrees of the first kept level, and some leaves. */
const LEAVES = 4 * 256 + 7;

const entry = (number: number) => auditEntry({ id: idAt(NOW + number, number), at: NOW + number });
const text = (hash: Hash) => Buffer.from(hash).toString('base64');

await onEachEngine(store => {
  /** `sealed`: the numbers of entries in the order of their places. */
  const begin = async (count: number, sealed: number[]) => {
    for (const table of ['audit_entries', 'seals', 'seal_nodes']) await store.db.run(`DELETE FROM ${table}`);
    const entries = Array.from({ length: count }, (_, number) => entry(number));
    await store.db.transaction({}, async tx => {
      await insertAudit(tx, entries);
      const rows = sealed.map((number, seq) => ({ seq, entryId: entry(number).id, leafHash: `leaf ${seq}` }));
      seals.insertSeals(tx, rows);
    });
    return entries;
  };
  const id = (number: number) => entry(number).id;

  test('of two who read how far sealing has come, one writes', async () => {
    const { db } = store;
    const read = await seals.readSealing(db);
    const to = {
      holder: 'one',
      leasedUntil: NOW,
      size: 3,
      newestId: 'n',
      recentId: 'r',
      fullId: 'f',
      fullAfter: 9,
    };
    expect(await seals.updateSealing(db, read, to)).toBe(true);
    expect(await seals.updateSealing(db, read, { holder: 'two' })).toBe(false);
    const now = await seals.readSealing(db);
    expect(now).toEqual({ ...to, revision: read.revision + 1 });
    expect(await seals.updateSealing(db, now, { size: 4 })).toBe(true);
    expect(await seals.readSealing(db)).toEqual({ ...to, size: 4, revision: read.revision + 2 });
  });

  test('a store that has lost the row of its sealing says so', async () => {
    await store.db.run("UPDATE sealing SET name = 'lost'");
    expect(String(await refusal(seals.readSealing(store.db)))).toContain(
      'the table "sealing" has lost its row',
    );
    await store.db.run("UPDATE sealing SET name = 'audit'");
  });

  test('a run of the log is without its bounds, and ends after so many', async () => {
    const { db } = store;
    await begin(5, []);
    const end = (after: string, before: string, limit: number) =>
      seals.sliceEnd(db, { after, before }, limit);
    expect(await end('', 'z', 2)).toBe(id(1));
    expect(await end(id(0), id(3), 9)).toBe(id(2));
    expect(await end(id(2), id(3), 9)).toBeNull();
    expect([await seals.firstAfter(db, ''), await seals.firstAfter(db, id(2))]).toEqual([id(0), id(3)]);
    expect(await seals.firstAfter(db, id(4))).toBeNull();
  });

  test('entries without a place are found in order, the last of the run included', async () => {
    const { db } = store;
    const all = await begin(6, [1, 3]);
    expect(await seals.unsealedIn(db, id(0), id(4))).toEqual([all[2], all[4]] as never);
    expect(await seals.unsealedIn(db, '', id(2))).toEqual([all[0], all[2]] as never);
    expect(await seals.listUnsealed(db, '', 3)).toEqual({ ids: [id(0), id(2)], end: id(2) });
    expect(await seals.listUnsealed(db, id(2), 9)).toEqual({ ids: [id(4), id(5)], end: id(5) });
    expect(await seals.listUnsealed(db, id(5), 9)).toEqual({ ids: [], end: null });
  });

  test('places are found by entry and by number, and what stands in them while it is there', async () => {
    const { db } = store;
    await begin(1, []);
    expect(await seals.sealedSize(db)).toBe(0);
    const all = await begin(4, [2, 0, 1]);
    expect(await seals.sealedSize(db)).toBe(3);
    expect(await seals.sealOf(db, id(0))).toEqual({ seq: 1, entryId: id(0), leafHash: 'leaf 1' });
    expect(await seals.sealOf(db, id(3))).toBeNull();
    expect([await seals.entryIdAt(db, 0), await seals.entryIdAt(db, 3)]).toEqual([id(2), null]);
    await db.run('DELETE FROM audit_entries WHERE id = $1', [id(0)]);
    const rows = await seals.listSealed(db, 0, 2);
    expect(rows).toEqual([
      { seq: 0, entryId: id(2), leafHash: 'leaf 0', entry: all[2] as never },
      { seq: 1, entryId: id(0), leafHash: 'leaf 1', entry: null },
    ]);
    expect((await seals.listSealed(db, 1, 9)).map(row => row.seq)).toEqual([1, 2]);
  });

  test('hashes of every subtree are those of the tree, whichever levels are kept', async () => {
    const { db } = store;
    await begin(0, []);
    const leaves = Array.from({ length: LEAVES }, (_, number) => leafHash(`leaf ${number}`));
    const tree = new Tree();
    await db.transaction({}, async tx => {
      const rows = leaves.map((hash, seq) => ({ seq, entryId: id(seq), leafHash: text(hash) }));
      seals.insertSeals(tx, rows);
      for (const leaf of leaves) tree.append(leaf, (node, hash) => seals.insertNode(tx, node, hash));
    });
    expect(await db.all('SELECT level, position FROM seal_nodes ORDER BY position')).toEqual([
      { level: 8, position: 0 },
      { level: 8, position: 1 },
      { level: 8, position: 2 },
      { level: 8, position: 3 },
    ]);
    const rootOf = (from: number, to: number) => {
      const part = new Tree();
      for (const leaf of leaves.slice(from, to)) part.append(leaf);
      return text(part.root());
    };
    for (const [from, to] of [
      [0, 0],
      [0, 1],
      [0, 100],
      [128, 256],
      [0, 256],
      [256, 512],
      [0, 512],
      [512, 1024],
      [0, LEAVES],
      [1024, LEAVES],
    ] as const) {
      expect(text(await seals.subtreeHash(db, { from, to }))).toBe(rootOf(from, to));
    }
    expect(await seals.wholeHashes(db, { from: 0, to: LEAVES })).toHaveLength(4);
    await db.run('DELETE FROM seals WHERE seq = 3');
    expect(String(await refusal(seals.subtreeHash(db, { from: 0, to: 4 })))).toContain(
      'The sealed log is not whole: run toolgate audit verify.',
    );
  });
});
