// Statistics from roll-ups equal a plain scan of the log: with entries anywhere in time, with some that become
// visible late, with several writers and two replicas rolling up at once, while the clock runs.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { DAY, HOUR, MINUTE } from '../../../src/core/time/duration.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { RECHECK_AGES, rollUp } from '../../../src/guard/log/rollups.ts';
import { stats } from '../../../src/guard/log/stats.ts';
import type { Db } from '../../../src/store/engine/db.ts';
import { insertAudit } from '../../../src/store/log/audit.ts';
import { idAt, NOW, openStore, type TestStore } from '../../store/stores.ts';
import { random, SEED, withMutant } from '../../support/faults.ts';
import { engines } from '../../support/service.ts';
import { whenChanged } from '../../support/when-changed.ts';
import { depsAt } from '../deps.ts';
import { entryAt, expectEqualToScan } from './scanned.ts';

type RollUp = typeof rollUp;

/** Writers whose transactions take their time, two rollers, and a clock that runs 2000 times as fast. */
async function concurrent(store: TestStore, rolling: RollUp, from: number): Promise<Deps> {
  const begun = performance.now();
  const clock = { ended: 0 };
  const now = () => Math.floor(from + (clock.ended || (performance.now() - begun) * 2000));
  const next = random(SEED);
  let writing = true;
  const write = async () => {
    for (let group = 0; group < 30; group++) {
      await store.db.transaction({}, async tx => {
        const entries = Array.from({ length: 5 }, () => entryAt(now() - Math.floor(next() * 5000), next));
        await insertAudit(tx, entries);
        await Bun.sleep(next() * 15);
      });
    }
  };
  const other = store.engine === 'postgres' ? await store.again() : store.db;
  const roll = async (db: Db) => {
    while (writing) {
      await rolling(depsAt(db, now));
      await Bun.sleep(1);
    }
  };
  const rollers = [roll(store.db), roll(other)];
  await Promise.all([write(), write(), write()]);
  writing = false;
  await Promise.all(rollers);
  if (other !== store.db) await other.close();
  clock.ended = (performance.now() - begun) * 2000 + Math.max(...RECHECK_AGES) + 3 * MINUTE;
  return depsAt(store.db, now);
}

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await openStore(engine);
    });
    afterAll(() => store.close());

    test('nothing logged, nothing counted', async () => {
      await expectEqualToScan(depsAt(store.db, () => NOW));
    });

    test(`at every state of the roll-ups (seed ${SEED})`, async () => {
      const next = random(SEED);
      let clock = NOW;
      const deps = depsAt(store.db, () => clock);
      for (let round = 0; round < 12; round++) {
        const spread = [MINUTE, HOUR, DAY, 20 * DAY][round % 4] as number;
        const times = Array.from({ length: 60 }, () => clock + Math.floor(next() * spread));
        // Some at the very edges of buckets.
        for (const span of [MINUTE, HOUR, DAY]) {
          const edge = Math.ceil(clock / span) * span;
          times.push(edge, edge - 1, edge + 1);
        }
        const entries = times.filter(at => at >= clock).map(at => entryAt(at, next));
        await store.db.transaction({}, async tx => insertAudit(tx, entries));
        clock += Math.floor(spread * next()) + 1;
        for (let step = Math.floor(next() * 6); step > 0; step--) await rollUp(deps);
        await expectEqualToScan(deps);
        while (await rollUp(deps));
        await expectEqualToScan(deps);
      }
    });

    test('a clock that leapt ahead and came back spoils nothing', async () => {
      let clock = NOW + 500 * DAY;
      const deps = depsAt(store.db, () => clock);
      const next = random(SEED + 1);
      clock += DAY;
      while (await rollUp(deps));
      clock -= DAY;
      const entries = Array.from({ length: 50 }, () => entryAt(clock + Math.floor(next() * HOUR), next));
      while (await rollUp(deps));
      await store.db.transaction({}, async tx => insertAudit(tx, entries));
      clock += 2 * HOUR;
      while (await rollUp(deps));
      await expectEqualToScan(deps);
    });

    test(`with writers and counters at once, after the minutes were counted again (seed ${SEED})`, async () => {
      const deps = await concurrent(store, rollUp, NOW + 600 * DAY);
      while (await rollUp(deps));
      await expectEqualToScan(deps);
    });

    /** An entry of a minute that was counted already becomes visible, and time goes on. */
    async function missesWhatIsLate(rolling: RollUp): Promise<boolean> {
      let clock = NOW + 700 * DAY;
      const deps = depsAt(store.db, () => clock);
      const next = random(SEED);
      await store.db.transaction({}, async tx => insertAudit(tx, [entryAt(clock, next)]));
      clock += 90_000;
      while (await rolling(deps));
      await store.db.transaction({}, async tx => insertAudit(tx, [entryAt(clock - 89_000, next)]));
      clock += 5 * MINUTE;
      while (await rolling(deps));
      const seen = (await stats(deps, HOUR)).totals;
      await store.db.run('DELETE FROM audit_entries WHERE id >= $1', [idAt(NOW + 700 * DAY)]);
      await store.db.run('DELETE FROM rollups WHERE start >= $1', [NOW + 699 * DAY]);
      await store.db.run('DELETE FROM marks');
      return seen.allow + seen.deny + seen.pending < 2;
    }

    test('what becomes visible late is counted soon after', async () => {
      expect(await missesWhatIsLate(rollUp)).toBe(false);
    });

    const once = {
      file: 'src/guard/log/rollups.ts',
      find: 'if (await recheck(deps, age)) return true;',
      replace: 'if (age < 0) return true;',
    };
    whenChanged(once)('mutant: minutes counted once only miss what came late', async () => {
      await withMutant([once], async root => {
        const broken = (await import(join(root, 'src/guard/log/rollups.ts'))) as { rollUp: RollUp };
        expect(await missesWhatIsLate(broken.rollUp)).toBe(true);
      });
    });
  });
}
