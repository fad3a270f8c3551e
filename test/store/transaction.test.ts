// What both engines promise behind the port: all or nothing, unique rows told apart, ids that sort by time.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { newId, timeOfId } from '../../src/guard/ids.ts';
import { type Transaction, UniqueViolation } from '../../src/store/engine/db.ts';
import { openPostgres } from '../../src/store/engine/postgres.ts';
import { keepSetting, readSetting } from '../../src/store/settings.ts';
import { refusal } from '../support/refusal.ts';
import { engines } from '../support/service.ts';
import { openStore, type TestStore } from './stores.ts';

test('10,000 ids strictly increase and carry their time', () => {
  const before = Date.now();
  const ids = Array.from({ length: 10_000 }, newId);
  const after = Date.now();
  for (let index = 1; index < ids.length; index++) {
    if (!((ids[index - 1] as string) < (ids[index] as string)))
      throw new Error(`${ids[index - 1]} ${ids[index]}`);
  }
  expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(timeOfId(ids[0] as string)).toBeGreaterThanOrEqual(before - 1);
  expect(timeOfId(ids[9999] as string)).toBeLessThanOrEqual(after + 10);
});

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await openStore(engine);
    });
    afterAll(() => store.close());

    const put = (tx: Transaction, name: string, value = 'x') =>
      tx.run('INSERT INTO settings (name, value) VALUES ($1, $2)', [name, value]);
    const defer = (tx: Transaction, name: string) =>
      tx.defer('INSERT INTO settings (name, value) VALUES ($1, $2)', [name, 'x']);
    const there = async (name: string) => (await readSetting(store.db, name)) !== null;

    test('a transaction commits all of its work and gives its result', async () => {
      const result = await store.db.transaction({}, async tx => {
        expect(await put(tx, 'all-1')).toBe(1);
        defer(tx, 'all-2');
        return 42;
      });
      expect(result).toBe(42);
      expect([await there('all-1'), await there('all-2')]).toEqual([true, true]);
    });

    test('a throw rolls everything back and is the error that comes out', async () => {
      const failing = store.db.transaction({}, async tx => {
        await put(tx, 'thrown-1');
        defer(tx, 'thrown-2');
        throw new RangeError('out');
      });
      expect(await refusal(failing)).toBeInstanceOf(RangeError);
      expect([await there('thrown-1'), await there('thrown-2')]).toEqual([false, false]);
    });

    test('a deferred statement that fails takes the whole transaction with it', async () => {
      await keepSetting(store.db, 'taken', 'x');
      const failing = store.db.transaction({}, async tx => {
        await put(tx, 'deferred-1');
        defer(tx, 'taken');
        defer(tx, 'deferred-2');
        return 'never';
      });
      expect(await refusal(failing)).toBeInstanceOf(UniqueViolation);
      expect([await there('deferred-1'), await there('deferred-2')]).toEqual([false, false]);
    });

    test('the store goes on after failures, also on a lane of its own', async () => {
      const lane = store.db.lane();
      for (let round = 0; round < 3; round++) {
        expect(
          await refusal(lane.transaction({}, tx => tx.run('INSERT INTO nowhere VALUES (1)'))),
        ).toBeInstanceOf(Error);
        await lane.transaction({}, tx => put(tx, `lane-${round}`));
        expect(await there(`lane-${round}`)).toBe(true);
      }
    });

    test('a row that is there already is a UniqueViolation; other faults are not', async () => {
      await store.db.run('INSERT INTO settings (name, value) VALUES ($1, $2)', ['once', 'x']);
      const again = store.db.run('INSERT INTO settings (name, value) VALUES ($1, $2)', ['once', 'y']);
      expect(await refusal(again)).toBeInstanceOf(UniqueViolation);
      const missing = store.db.run('INSERT INTO settings (name, value) VALUES ($1, $2)', ['null', null]);
      expect(await missing.catch((error: unknown) => error)).not.toBeInstanceOf(UniqueViolation);
      expect(await missing.catch((error: unknown) => error)).toBeInstanceOf(Error);
    });

    test('readers see nothing of a transaction before its commit', async () => {
      await store.db.transaction({}, async tx => {
        await put(tx, 'unseen');
        expect(await there('unseen')).toBe(false);
        expect(await readSetting(tx, 'unseen')).toBe('x');
      });
      expect(await there('unseen')).toBe(true);
    });

    test('work under an exclusive lock never overlaps', async () => {
      let inside = 0;
      let most = 0;
      const work = () =>
        store.db.transaction({ exclusive: ['2 key a'] }, async tx => {
          // The lock is sure to be held once the first answer is there.
          await readSetting(tx, 'once');
          most = Math.max(most, ++inside);
          await readSetting(tx, 'once');
          inside--;
        });
      await Promise.all(Array.from({ length: 20 }, work));
      expect(most).toBe(1);
    });

    test('of many who keep a setting at once, one value stands for all', async () => {
      const values = await Promise.all(
        Array.from({ length: 20 }, (_, index) => keepSetting(store.db, 'kept', `value ${index}`)),
      );
      expect(new Set(values).size).toBe(1);
    });

    test('texts come back as they went in and sort by their bytes', async () => {
      const texts = ['Z', 'a', 'é', '😀', 'quote\'"', 'A', 'back\\slash', '$1 ?1'];
      for (const text of texts)
        await store.db.run('INSERT INTO settings VALUES ($1, $2)', [`t:${text}`, text]);
      const rows = await store.db.all<{ value: string }>(
        "SELECT value FROM settings WHERE name >= 't:' AND name < 't;' ORDER BY name",
      );
      const sorted = texts.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(rows.map(row => row.value)).toEqual(sorted);
    });

    test('whole numbers come back as numbers', async () => {
      const [row] = await store.db.all('SELECT count(*) AS count, max(applied_at) AS at FROM migrations');
      expect(row).toEqual({ count: expect.any(Number), at: expect.any(Number) });
    });
  });
}

test.if((await engines()).includes('postgres'))(
  'postgres: so many wait for a connection at most, the others are told at once',
  async () => {
    const store = await openStore('postgres');
    const db = await openPostgres(store.url, 1);
    const { promise, resolve } = Promise.withResolvers<void>();
    const holding = db.transaction({}, () => promise);
    const asked = Array.from({ length: 2010 }, () => db.all('SELECT 1 AS one'));
    const refused = await Promise.allSettled(asked.slice(2000));
    expect(refused.map(each => (each as PromiseRejectedResult).reason.code)).toEqual(
      Array(10).fill('overloaded'),
    );
    resolve();
    // Some may have waited for too long on a busy machine; none is left waiting.
    await Promise.allSettled([holding, ...asked]);
    expect(await db.all('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await db.close();
    await store.close();
  },
);
