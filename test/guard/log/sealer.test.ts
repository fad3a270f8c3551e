// The loop that seals: what it reports, what a stop waits for and leaves, and that it rests when there is nothing to
// do. sealed-log.test.ts tests what is sealed and signed.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { Db } from '../../../src/store/engine/db.ts';
import { readSealing } from '../../../src/store/log/seals.ts';
import { NOW, openStore, type TestStore } from '../../store/stores.ts';
import { until } from '../../support/faults.ts';
import { Clock, entries, MINUTE, sealerOn, write } from './sealing.ts';

/** What one transaction seals at the most. */
const BATCH = 256;
/** Batches between two looks at the clock. */
const RUN = 50;
const POLL_MS = 1000;
const FIRST_WAIT_MS = 2000;

let store: TestStore;
let db: Db;
let clock: Clock;
beforeEach(async () => {
  store = await openStore('sqlite');
  ({ db } = store);
  clock = new Clock();
});
afterEach(() => store.close());

test('how far it is, is told at the beginning and after each batch; what is signed and sent, once', async () => {
  const { sealer, ...told } = await sealerOn(db, clock, { send: async () => {} });
  await write(db, entries(2 * BATCH));
  clock.now += MINUTE;
  await sealer.tick();
  await sealer.idle();
  const beginning = { size: 0, behindSince: NOW };
  const middle = { size: BATCH, behindSince: NOW + BATCH };
  const end = { size: 2 * BATCH, behindSince: null };
  expect(told.lags).toEqual([beginning, middle, end]);
  expect([told.checkpointed, told.sent, told.failures]).toEqual([[1], [[1, null]], []]);
});

test('one that only watches tells how far the other is', async () => {
  const [one, two] = [await sealerOn(db, clock), await sealerOn(db, clock)];
  await write(db, entries(20));
  clock.now += MINUTE;
  await one.sealer.tick();
  expect(await two.sealer.tick()).toBe(false);
  expect(two.lags).toEqual([{ size: 20, behindSince: null }]);
});

test('one whose turn another took in the middle of its work leaves the rest, and signs nothing', async () => {
  let taken: Promise<unknown> | null = null;
  const one = await sealerOn(db, clock, {
    lag: ({ size }) => {
      if (size > 0)
        taken ??= db.run("UPDATE sealing SET holder = 'another', leased_until = $1", [clock.now + 5000]);
    },
  });
  await write(db, entries(3 * BATCH));
  clock.now += MINUTE;
  expect(await one.sealer.tick()).toBe(false);
  expect(taken).not.toBeNull();
  expect((await readSealing(db)).size).toBe(BATCH);
  expect([one.notes, one.failures]).toEqual([[], []]);
});

test('a stop ends a backlog at the next batch, and waits for what is under way', async () => {
  let stopping: Promise<void> | null = null;
  const one = await sealerOn(db, clock, {
    lag: ({ size }) => {
      if (size > 0) stopping ??= one.sealer.stop();
    },
  });
  await write(db, entries(3 * BATCH));
  clock.now += MINUTE;
  one.sealer.start();
  await until('it is being stopped', () => stopping !== null);
  await stopping;
  // The tick came to its end, with a checkpoint of what was sealed by then.
  expect([(await readSealing(db)).size, one.checkpointed, one.notes.length]).toEqual([BATCH, [1], 1]);
});

test('a stop waits for the checkpoint that is being kept', async () => {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const one = await sealerOn(db, clock, {
    keep: async () => {
      begun.resolve();
      await released.promise;
    },
  });
  await write(db, entries(1));
  clock.now += MINUTE;
  one.sealer.start();
  await begun.promise;
  const events: string[] = [];
  const stopping = one.sealer.stop().then(() => events.push('stopped'));
  for (let turn = 0; turn < 20; turn++) await readSealing(db);
  events.push('released');
  released.resolve();
  await stopping;
  expect(events).toEqual(['released', 'stopped']);
});

test('one that was stopped does nothing more', async () => {
  const one = await sealerOn(db, clock);
  one.sealer.start();
  await one.sealer.stop();
  // Another one that runs is the clock: while it looks twice, the first would have looked as well.
  const two = await sealerOn(db, clock);
  two.sealer.start();
  await until('the other has looked twice', () => two.lags.length >= 2);
  await two.sealer.stop();
  expect(one.lags).toEqual([]);
});

test('with nothing to seal it looks once a second, and no oftener', async () => {
  const one = await sealerOn(db, clock);
  const begun = performance.now();
  one.sealer.start();
  await until('it has looked three times', () => one.lags.length >= 3);
  // A timer may come some milliseconds early by this clock.
  expect(performance.now() - begun).toBeGreaterThan(3 * POLL_MS - 100);
  await one.sealer.stop();
});

test('a backlog longer than one run is worked off, and then it rests again', async () => {
  const one = await sealerOn(db, clock);
  const backlog = entries((RUN + 1) * BATCH);
  await write(db, backlog);
  clock.now += MINUTE;
  one.sealer.start();
  // It rests nine times as long as it works, on purpose.
  const sealed = async () => (await readSealing(db)).size === backlog.length;
  await until('all is sealed', sealed);
  const begun = performance.now();
  const { length: told } = one.lags;
  // One for the last batch, and one that the timer may bring at once.
  await until('it has looked again', () => one.lags.length >= told + 4);
  expect(performance.now() - begun).toBeGreaterThan(POLL_MS - 100);
  await one.sealer.stop();
});

test('what goes wrong is told, and tried again', async () => {
  const one = await sealerOn(db, clock);
  await write(db, entries(3));
  clock.now += MINUTE;
  await db.run('ALTER TABLE seals RENAME TO elsewhere');
  one.sealer.start();
  await until('a failure is told', () => one.failures.length > 0);
  await db.run('ALTER TABLE elsewhere RENAME TO seals');
  await until('it is signed', () => one.checkpointed.length > 0);
  await one.sealer.stop();
  expect((await readSealing(db)).size).toBe(3);
});

test('one checkpoint is sent at a time, and a target that failed is left alone for some seconds', async () => {
  const begun: [number, number][] = [];
  let answer = Promise.withResolvers<void>();
  const one = await sealerOn(db, clock, {
    send: async ({ number }) => {
      begun.push([number, performance.now()]);
      await answer.promise;
    },
  });
  const next = async () => {
    await write(db, entries(1, clock.now));
    clock.now += MINUTE;
    await one.sealer.tick();
  };
  await next();
  await until('the first is being sent', () => begun.length === 1);
  await next();
  const refused = new Error('unreachable');
  answer.reject(refused);
  await one.sealer.idle();
  expect(one.sent).toEqual([[1, refused]]);
  answer = Promise.withResolvers();
  answer.resolve();
  await until('the newest is sent', async () => {
    await one.sealer.tick();
    await one.sealer.idle();
    return one.sent.length > 1;
  });
  const [[, failed] = [0, 0], ...again] = begun;
  expect(again.map(([number]) => number)).toEqual([2]);
  expect((again[0]?.[1] ?? 0) - failed).toBeGreaterThanOrEqual(FIRST_WAIT_MS);
  expect(one.sent).toEqual([
    [1, refused],
    [2, null],
  ]);
  expect(one.failures).toEqual([]);
});
