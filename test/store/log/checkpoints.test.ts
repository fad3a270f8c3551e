// Checkpoints: found by number and by the time by which they were signed, and sent once.

import { expect, test } from 'bun:test';
import * as checkpoints from '../../../src/store/log/checkpoints.ts';
import { NOW, onEachEngine } from '../stores.ts';

const checkpoint = (number: number, at: number): checkpoints.CheckpointRecord => ({
  number,
  at: NOW + at,
  size: 10 * number,
  note: `note ${number}`,
});

await onEachEngine(store => {
  const begin = async (...all: checkpoints.CheckpointRecord[]) => {
    await store.db.run('DELETE FROM checkpoints');
    for (const each of all) await checkpoints.insertCheckpoint(store.db, each);
  };

  test('they are listed newest first', async () => {
    const { db } = store;
    await begin();
    expect(await checkpoints.newestCheckpoint(db)).toBeNull();
    const [first, second, third] = [1, 2, 3].map(number => checkpoint(number, number));
    await begin(first as never, second as never, third as never);
    expect(await checkpoints.newestCheckpoint(db)).toEqual(third as never);
    expect(await checkpoints.listCheckpoints(db, 2, 9)).toEqual([third, second] as never);
    expect(await checkpoints.listCheckpoints(db, 2, 3)).toEqual([second, first] as never);
    expect(await checkpoints.listCheckpoints(db, 2, 1)).toEqual([]);
  });

  test('the newest that was signed by a time is found, with gaps in the numbers and equal times', async () => {
    const all = [
      [0, 0],
      [1, 10],
      [2, 10],
      [5, 20],
      [6, 30],
      [9, 40],
    ].map(([number, at]) => checkpoint(number as number, at as number));
    await begin(...all);
    for (let at = -1; at <= 41; at++) {
      const wanted = all.findLast(each => each.at <= NOW + at) ?? null;
      expect(await checkpoints.checkpointBy(store.db, NOW + at, 9)).toEqual(wanted);
    }
    // Among those up to a number.
    expect((await checkpoints.checkpointBy(store.db, NOW + 99, 5))?.number).toBe(5);
    await begin();
    expect(await checkpoints.checkpointBy(store.db, NOW, 0)).toBeNull();
  });

  test('the newest is unsent until it is marked; older ones do not matter', async () => {
    const { db } = store;
    await begin();
    expect(await checkpoints.unsentCheckpoint(db)).toBeNull();
    await begin(checkpoint(1, 1), checkpoint(2, 2));
    expect(await checkpoints.unsentCheckpoint(db)).toMatchObject(checkpoint(2, 2));
    await checkpoints.markSent(db, 1, NOW);
    expect((await checkpoints.unsentCheckpoint(db))?.number).toBe(2);
    await checkpoints.markSent(db, 2, NOW);
    expect(await checkpoints.unsentCheckpoint(db)).toBeNull();
  });
});
