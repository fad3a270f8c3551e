// What limits have counted, on both engines: sums of what has not ended, adding, listing, resetting and removing.

import { expect, test } from 'bun:test';
import {
  addCounts,
  deleteCounts,
  type LimitCount,
  listUsed,
  removeEnded,
  type Used,
  usedOf,
} from '../../src/store/limits.ts';
import { NOW, onEachEngine, type TestStore } from './stores.ts';

const HOUR = 3_600_000;
const FIRST = { limitId: '', subject: '' };

const count = (more: Partial<LimitCount> = {}): LimitCount => ({
  limitId: 'limit',
  subject: 'key-1',
  endsAt: NOW + HOUR,
  amount: 1,
  policyId: 'policy-1',
  name: 'sends',
  keyId: 'key-1',
  ...more,
});

const add = ({ db }: TestStore, ...counts: LimitCount[]) =>
  db.transaction({}, async tx => addCounts(tx, counts));

const used = ({ db }: TestStore, now: number, ...wanted: [limitId: string, subject: string][]) =>
  usedOf(
    db,
    wanted.map(([limitId, subject]) => ({ limitId, subject })),
    now,
  );

await onEachEngine(store => {
  test('what is used is the sum of what has not ended', async () => {
    const limit = (endsAt: number, amount: number) => count({ limitId: 'sum', endsAt, amount });
    await add(store, limit(NOW + 1, 5), limit(NOW + 2, 20), limit(NOW + 3, 100));
    const at = (now: number) => used(store, now, ['sum', 'key-1']);
    expect(await Promise.all([at(NOW), at(NOW + 1), at(NOW + 2), at(NOW + 3)])).toEqual([
      [125],
      [120],
      [100],
      [0],
    ]);
  });

  test('sums come in the order in which they were asked for, of any number of limits', async () => {
    const subjects = Array.from({ length: 70 }, (_, index) => `subject ${index}`);
    await add(store, ...subjects.map((subject, index) => count({ limitId: 'many', subject, amount: index })));
    await add(store, count({ limitId: 'other', subject: 'subject 3', amount: 1000 }));
    for (const size of [0, 1, 2, 3, 5, 8, 70]) {
      const wanted = subjects.slice(0, size).reverse();
      const sums = await used(store, NOW, ...wanted.map((subject): [string, string] => ['many', subject]));
      expect(sums).toEqual(wanted.map((_, index) => size - 1 - index));
    }
    expect(await used(store, NOW, ['other', 'subject 3'], ['many', 'nobody'], ['many', 'subject 3'])).toEqual(
      [1000, 0, 3],
    );
  });

  test('counts are added to what is there, of any number of rows in one statement', async () => {
    const limit = count({ limitId: 'add' });
    await add(store, limit, { ...limit, subject: 'key-2' }, { ...limit, subject: 'key-3' });
    for (let round = 0; round < 2; round++) await add(store, limit);
    await add(store, { ...limit, amount: 40 }, { ...limit, endsAt: NOW + 2 * HOUR, amount: 500 });
    expect(await used(store, NOW, ['add', 'key-1'], ['add', 'key-2'])).toEqual([543, 1]);
    expect(await used(store, NOW + HOUR, ['add', 'key-1'])).toEqual([500]);
  });

  test('a rollback takes the counts back', async () => {
    const failing = store.db
      .transaction({}, async tx => {
        addCounts(tx, [count({ limitId: 'back' })]);
        throw new RangeError('out');
      })
      .catch((error: Error) => error);
    expect(await failing).toBeInstanceOf(RangeError);
    expect(await used(store, NOW, ['back', 'key-1'])).toEqual([0]);
  });

  test('huge amounts fill a count up and do not break it', async () => {
    const huge = count({ limitId: 'huge', amount: 2 ** 53 });
    await store.db.transaction({}, async tx => {
      for (let round = 0; round < 1200; round++) addCounts(tx, [huge]);
    });
    expect(await used(store, NOW, ['huge', 'key-1'])).toEqual([2 ** 53]);
    await add(store, { ...huge, endsAt: NOW + 2 * HOUR });
    expect(await used(store, NOW, ['huge', 'key-1'])).toEqual([2 ** 54]);
    await add(store, count({ limitId: 'nearly', amount: 2 ** 53 - 1 }));
    expect(await used(store, NOW, ['nearly', 'key-1'])).toEqual([2 ** 53 - 1]);
  });

  test('small and large amounts in any order are added by one prepared statement', async () => {
    if (store.engine === 'sqlite') return;
    const lane = store.db.lane();
    for (let pattern = 0; pattern < 8; pattern++) {
      const amounts = [0, 1, 2].map(bit => ((pattern >> bit) % 2 === 0 ? 1 : 2 ** 40));
      const counts = amounts.map((amount, at) => count({ limitId: 'mixed', subject: String(at), amount }));
      await lane.transaction({}, async tx => addCounts(tx, counts));
    }
    const prepared = await lane.all(
      "SELECT 1 FROM pg_prepared_statements WHERE statement LIKE '%limit_counts%'",
    );
    expect(prepared).toHaveLength(1);
    expect(await used(store, NOW, ['mixed', '0'])).toEqual([4 + 4 * 2 ** 40]);
  });

  test('what is used is listed in pages, by limits and by key', async () => {
    for (const limitId of ['list a', 'list b'])
      for (const keyId of ['k1', 'k2', 'k3']) {
        const ends = [NOW, NOW + 1, NOW + 2];
        await add(
          store,
          ...ends.map(endsAt => count({ limitId, subject: `of ${keyId}`, keyId, endsAt, amount: 2 })),
        );
      }
    await add(
      store,
      count({ limitId: 'list b', subject: 'all', keyId: null, name: 'shared', policyId: 'policy-2' }),
    );
    const limitIds = ['list a', 'list b', 'list c'];
    const shown = ({ limitId, subject }: Used) => `${limitId}, ${subject}`;

    const pages: string[][] = [];
    for (let after = FIRST; ; ) {
      const page = await listUsed(store.db, { limitIds }, NOW, 3, after);
      pages.push(page.map(shown));
      if (page.length < 3) break;
      after = page.at(-1) as Used;
    }
    expect(pages).toEqual([
      ['list a, of k1', 'list a, of k2', 'list a, of k3'],
      ['list b, all', 'list b, of k1', 'list b, of k2'],
      ['list b, of k3'],
    ]);

    const [one, two] = await listUsed(store.db, { limitIds: ['list b'] }, NOW, 2, FIRST);
    expect(one).toEqual({
      limitId: 'list b',
      subject: 'all',
      endsAt: NOW + HOUR,
      used: 1,
      policyId: 'policy-2',
      name: 'shared',
      keyId: null,
    });
    expect(two).toMatchObject({ endsAt: NOW + 2, used: 4, keyId: 'k1' });
    expect((await listUsed(store.db, { keyId: 'k2' }, NOW, 9, FIRST)).map(shown)).toEqual([
      'list a, of k2',
      'list b, of k2',
    ]);
    expect(
      (await listUsed(store.db, { keyId: 'k2', limitIds: ['list b'] }, NOW, 9, FIRST)).map(shown),
    ).toEqual(['list b, of k2']);
    expect(await listUsed(store.db, { keyId: 'k2' }, NOW + 2, 9, FIRST)).toEqual([]);
    expect((await listUsed(store.db, {}, NOW, 1000, FIRST)).length).toBeGreaterThan(7);
  });

  test('a reset forgets one subject of one limit', async () => {
    const limit = count({ limitId: 'reset' });
    await add(store, limit, { ...limit, endsAt: NOW + 2 * HOUR }, { ...limit, subject: 'key-2' });
    await add(store, { ...limit, limitId: 'kept' });
    expect(await deleteCounts(store.db, { limitId: 'reset', subject: 'key-1' })).toBe(true);
    expect(await deleteCounts(store.db, { limitId: 'reset', subject: 'key-1' })).toBe(false);
    expect(await used(store, NOW, ['reset', 'key-1'], ['reset', 'key-2'], ['kept', 'key-1'])).toEqual([
      0, 1, 1,
    ]);
  });

  test('what has ended is removed in steps, the oldest first, and nothing else', async () => {
    const past = Array.from({ length: 5 }, (_, index) => count({ limitId: 'past', endsAt: 1000 + index }));
    await add(store, ...past);
    expect(await removeEnded(store.db, 1004, 3)).toBe(3);
    expect(await used(store, 0, ['past', 'key-1'])).toEqual([2]);
    expect(await removeEnded(store.db, 1004, 3)).toBe(1);
    expect(await removeEnded(store.db, 1004, 3)).toBe(0);
    expect(await used(store, 1003, ['past', 'key-1'])).toEqual([1]);
  });

  test('a transaction knows when it had its locks, by the clock of the database server', async () => {
    for (const locks of [{ shared: ['a', 'b'], exclusive: ['c'] }, {}]) {
      const before = Date.now();
      const [first, second] = await store.db.transaction(locks, async tx => {
        const early = await tx.lockedAt();
        await tx.lock({ exclusive: ['d'] });
        return [early, await tx.lockedAt()];
      });
      expect(second).toBe(first as number);
      if (store.engine === 'sqlite') expect(first).toBeNull();
      // The server runs on this machine, and its time is rounded down to a millisecond as ours is.
      else expect(first).toBeWithin(before, Date.now() + 1);
    }
  });
});
