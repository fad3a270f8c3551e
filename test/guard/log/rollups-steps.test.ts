// The roll-ups' steps, one thing at a time, with time in the test's hands: when a minute is counted, how much is dealt
// with at a step, when a minute is counted again and when never, and what is forgotten.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { DAY, HOUR, MINUTE } from '../../../src/core/time/duration.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { retire } from '../../../src/guard/log/retention.ts';
import { countAgain, rolledUpTo, rollUp } from '../../../src/guard/log/rollups.ts';
import { stats } from '../../../src/guard/log/stats.ts';
import { insertAudit } from '../../../src/store/log/audit.ts';
import { NOW, openStore, type TestStore } from '../../store/stores.ts';
import { random, SEED } from '../../support/faults.ts';
import { engines } from '../../support/service.ts';
import { depsAt } from '../deps.ts';
import { entryAt, expectEqualToScan, logged } from './scanned.ts';

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let clock: number;
    let deps: Deps;
    const next = random(SEED);
    beforeEach(async () => {
      store = await openStore(engine);
      clock = NOW;
      deps = depsAt(store.db, () => clock);
    });
    afterEach(() => store.close());

    const write = (...times: number[]) =>
      store.db.transaction({}, async tx =>
        insertAudit(
          tx,
          times.map(at => entryAt(at, next)),
        ),
      );
    /** Until there is nothing more to do, and how many steps said that there was. */
    async function rollOn(): Promise<number> {
      let steps = 0;
      while (await rollUp(deps)) steps++;
      return steps;
    }
    const counted = async (window: number) => {
      const { allow, deny, pending } = (await stats(deps, window)).totals;
      return allow + deny + pending;
    };
    const rows = async (span: number) =>
      (await store.db.all('SELECT DISTINCT start FROM rollups WHERE span = $1', [span])).length;

    test('a minute is counted when it has been over for ten seconds', async () => {
      await write(NOW);
      clock = NOW + MINUTE + 9_999;
      await rollOn();
      expect(await rolledUpTo(deps)).toBe(NOW);
      clock += 1;
      await rollOn();
      expect(await rolledUpTo(deps)).toBe(NOW + MINUTE);
      expect(await rows(MINUTE)).toBe(1);
    });

    test('a backlog is counted to its end, an hour of minutes at a step', async () => {
      await write(...Array.from({ length: 130 }, (_, minute) => NOW + minute * MINUTE));
      clock = NOW + 200 * MINUTE;
      expect(await rollUp(deps)).toBe(true);
      expect(await rolledUpTo(deps)).toBe(NOW + 60 * MINUTE);
      expect(await rollOn()).toBe(1);
      expect(await rolledUpTo(deps)).toBe(NOW + 199 * MINUTE);
      await expectEqualToScan(deps);
    });

    test('a busy minute is a step of its own', async () => {
      for (let group = 0; group < 50; group++) await write(...Array.from({ length: 100 }, () => NOW + group));
      await write(NOW + MINUTE);
      clock = NOW + 3 * MINUTE;
      expect(await rollUp(deps)).toBe(true);
      expect(await rolledUpTo(deps)).toBe(NOW + MINUTE);
      expect(await rollOn()).toBe(0);
      await expectEqualToScan(deps);
    });

    for (const [delay, age] of [
      [100_000, 2 * MINUTE],
      [50 * MINUTE, HOUR],
      [24 * HOUR, 25 * HOUR],
    ] as const) {
      test(`an entry that becomes visible ${delay / 1000} s late is counted soon after it is ${age / HOUR} h old`, async () => {
        await rollOn();
        await write(NOW);
        clock = NOW + delay;
        await rollOn();
        await write(NOW + 1000);
        clock = NOW + age + MINUTE - 1;
        await rollOn();
        expect(await counted(2 * DAY)).toBe(1);
        clock += 1;
        await rollOn();
        expect(await counted(2 * DAY)).toBe(2);
      });
    }

    test('entries that become visible late in many minutes are all counted, and change no other minute', async () => {
      await rollOn();
      const minutes = Array.from({ length: 130 }, (_, minute) => NOW + minute * MINUTE);
      await write(...minutes);
      clock = NOW + 132 * MINUTE;
      await rollOn();
      await write(...minutes.filter((_, minute) => minute % 3 > 0).map(at => at + 1000));
      clock += 26 * HOUR;
      await rollOn();
      expect(await counted(2 * DAY)).toBe(130 + 86);
      await expectEqualToScan(deps);
    });

    test('a minute whose entries retention removed is not counted again', async () => {
      await rollOn();
      await write(NOW, NOW + 1);
      clock = NOW + 40 * MINUTE;
      await rollOn();
      const step = retire({ retention: 30 * MINUTE, sealedBy: null, removed: () => {} });
      while (await step(deps));
      expect(await logged(store.db)).toEqual([]);
      await write(NOW + 2, clock);
      clock += HOUR;
      await rollOn();
      expect(await counted(DAY)).toBe(3);
      // Neither when everything of that time is to be counted anew.
      await countAgain(deps, NOW);
      await rollOn();
      expect(await counted(DAY)).toBe(3);
    });

    test('entries with times of the past are counted when that is asked for, and no sooner', async () => {
      const old = NOW - 5 * DAY + 3 * HOUR;
      await write(old, NOW);
      clock = NOW + 2 * MINUTE;
      await rollOn();
      await write(old - HOUR, old + HOUR);
      clock += MINUTE;
      await rollOn();
      expect(await counted(7 * DAY)).toBe(2);
      await countAgain(deps, clock + DAY);
      expect(await rolledUpTo(deps)).toBe(NOW + 2 * MINUTE);
      await countAgain(deps, old);
      await rollOn();
      await expectEqualToScan(deps);
    });

    test('a clock that was ahead is forgotten: what is made from then on is counted, late or not', async () => {
      await rollOn();
      clock = NOW + 10 * DAY;
      await rollOn();
      clock = NOW + MINUTE;
      await rollOn();
      await write(clock);
      expect(await counted(DAY)).toBe(1);
      clock += 3 * MINUTE;
      await rollOn();
      await write(clock - 2.5 * MINUTE);
      clock += HOUR + MINUTE;
      await rollOn();
      expect(await counted(DAY)).toBe(2);
      expect(await rows(MINUTE)).toBe(1);
    });

    test('minutes are forgotten after three days, looked for once an hour', async () => {
      await write(NOW, NOW + 30 * MINUTE);
      clock = NOW + 32 * MINUTE;
      await rollOn();
      expect(await rows(MINUTE)).toBe(2);
      clock = NOW + 3 * DAY + 2 * MINUTE;
      await rollOn();
      expect(await rows(MINUTE)).toBe(1);
      clock += HOUR - 1;
      await rollOn();
      expect(await rows(MINUTE)).toBe(1);
      clock += 1;
      await rollOn();
      expect([await rows(MINUTE), await rows(HOUR)]).toEqual([0, 1]);
    });
  });
}
