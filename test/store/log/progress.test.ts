// Marks and leases of background work: one holder at a time, until the very millisecond at which a lease ends.

import { expect, test } from 'bun:test';
import { endLease, takeLease } from '../../../src/store/leases.ts';
import { readProgress, writeProgress } from '../../../src/store/log/progress.ts';
import { NOW, onEachEngine } from '../stores.ts';

await onEachEngine(store => {
  test('a mark is what was written last under its name', async () => {
    const { db } = store;
    expect(await readProgress(db, 'a')).toBeNull();
    await writeProgress(db, 'a', 5);
    await writeProgress(db, 'b', 6);
    await writeProgress(db, 'a', 4);
    expect([await readProgress(db, 'a'), await readProgress(db, 'b')]).toEqual([4, 6]);
  });

  test('a lease is renewed by its holder, and by others once it has ended', async () => {
    const take = (holder: string, now: number, until: number, name = 'chores') =>
      takeLease(store.db, name, holder, NOW + now, NOW + until);
    expect(await take('one', 0, 10)).toBe(true);
    expect(await take('two', 9, 20)).toBe(false);
    expect(await take('one', 9, 15)).toBe(true);
    expect(await take('two', 14, 30)).toBe(false);
    expect(await take('two', 15, 30)).toBe(true);
    expect(await take('one', 15, 30)).toBe(false);
    expect(await take('one', 15, 30, 'other')).toBe(true);
  });

  test('a lease is given up by its holder, and that one only', async () => {
    const { db } = store;
    const take = (holder: string, name: string) => takeLease(db, name, holder, NOW, NOW + 10);
    await db.run('DELETE FROM leases');
    for (const name of ['chores', 'other']) await take('one', name);
    await endLease(db, 'chores', 'two');
    expect(await take('two', 'chores')).toBe(false);
    await endLease(db, 'chores', 'one');
    expect(await take('two', 'chores')).toBe(true);
    expect(await take('two', 'other')).toBe(false);
  });
});
