// One member of a group makes its transaction fail: every other one is answered, and recorded once. Keys that do so are
// decided apart for a while. An error of the store itself is never blamed on a member, and nothing is decided again.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { GroupCommit } from '../../../src/guard/check/commit.ts';
import type { Transaction } from '../../../src/store/engine/db.ts';
import { openStore, type TestStore } from '../../store/stores.ts';
import { until, withMutant } from '../../support/faults.ts';
import type { Patch } from '../../support/mutant.ts';
import { engines, ROOT, unlessStalled } from '../../support/service.ts';
import { whenChanged } from '../../support/when-changed.ts';
import { groupWork } from '../group.ts';

interface Check {
  keyId: string;
  caller?: string;
  /** What is wrong with it: it throws, the store refuses its value, or its statement needs what the store lacks. */
  bad?: 'throws' | 'refused' | 'broken';
}

const WHOLE: Patch = {
  file: 'src/guard/check/commit.ts',
  find: 'if (group.length > 1) await this.#divide(group);',
  replace: '',
};
const ANYTHING_AGAIN: Patch = {
  file: 'src/guard/check/commit.ts',
  find: 'if (error instanceof StoreError) throw error;',
  replace: '',
};
const NEVER_APART: Patch = {
  file: 'src/guard/check/commit.ts',
  find: 'this.#queue.quarantine(bad);',
  replace: '',
};
const NO_BUDGET: Patch = {
  file: 'src/guard/check/blame.ts',
  find: 'const budget = { left: ATTEMPTS_WITHIN_KEYS };',
  replace: 'const budget = { left: Number.POSITIVE_INFINITY };',
};
const STAYS_QUEUED: Patch = {
  file: 'src/guard/check/check-queue.ts',
  find: 'this.#queue = this.#queue.filter(each => !late(each));',
  replace: '',
};

type Commit = typeof GroupCommit;

/** The store is the tree's own, and so are its errors. */
const OWN_ERRORS: Patch = {
  file: 'src/guard/check/commit.ts',
  find: "from '../../store/engine/db.ts';",
  replace: `from '${join(ROOT, 'src/store/engine/db.ts')}';`,
};

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await openStore(engine);
      await store.db.run('CREATE TABLE judged (number bigint NOT NULL)');
    });
    afterAll(() => store.close());

    /** Judges checks, whose numbers are their places, and says what came of it. */
    class Bench {
      readonly groups: Check[][] = [];
      readonly commit: GroupCommit<Check & { number: number }, number>;
      #next = 0;
      #failed = 0;
      /** Judging waits for it. */
      gate: Promise<void> = Promise.resolve();

      constructor(Commit: Commit = GroupCommit) {
        const decideGroup = async (tx: Transaction, checks: readonly (Check & { number: number })[]) => {
          this.groups.push([...checks]);
          await this.gate;
          for (const { bad, number } of checks) {
            if (bad === 'throws') throw new RangeError('a member’s own');
            if (bad === 'broken') await tx.run('INSERT INTO nowhere VALUES ($1)', [number]);
            tx.defer('INSERT INTO judged VALUES ($1)', [bad === 'refused' ? null : number]);
          }
          return checks.map(each => each.number);
        };
        const work = groupWork(decideGroup, {
          callerOf: check => check.caller ?? '',
          shares: ids => [...ids],
        });
        const observer = { committed: () => {}, failed: () => this.#failed++ };
        this.commit = new Commit(store.db, work, 100_000, observer);
      }

      get failures(): number {
        return this.#failed;
      }

      /** Which of the checks were answered; all of them submitted at once. */
      async answered(checks: readonly Check[], waitedMs = 0): Promise<boolean[]> {
        const from = this.#next;
        this.#next += checks.length;
        const asked = checks.map((check, index) =>
          this.commit.submit({ ...check, number: from + index }, waitedMs),
        );
        const settled = await Promise.allSettled(asked);
        settled.forEach((each, index) => {
          if (each.status === 'fulfilled') expect(each.value).toBe(from + index);
          else expect(each.reason.code).toBe('audit_failed');
        });
        return settled.map(each => each.status === 'fulfilled');
      }
    }

    async function recorded(): Promise<number[]> {
      const rows = await store.db.all<{ number: number }>('SELECT number FROM judged ORDER BY number');
      await store.db.run('DELETE FROM judged');
      return rows.map(each => each.number);
    }

    const onMutant = <T>(patch: Patch, work: (Commit: Commit) => Promise<T>): Promise<T> =>
      withMutant([OWN_ERRORS, patch], async root =>
        work((await import(join(root, 'src/guard/check/commit.ts'))).GroupCommit),
      );

    const good = (count: number, keys = 8): Check[] =>
      Array.from({ length: count }, (_, index) => ({ keyId: `key ${index % keys}` }));

    for (const bad of ['throws', 'refused'] as const) {
      test(`whoever ${bad === 'throws' ? 'throws' : 'brings what the store refuses'} fails alone`, async () => {
        const checks = good(1000, 200);
        checks.splice(700, 0, { keyId: 'bad', bad });
        const bench = new Bench();
        const answered = await bench.answered(checks);
        expect(answered.flatMap((each, index) => (each ? [] : [index]))).toEqual([700]);
        expect(await recorded()).toEqual(checks.flatMap((each, index) => (each.bad ? [] : [index])));
        // One for the whole, and two for each halving of 201 keys.
        expect(bench.groups.length).toBeLessThanOrEqual(1 + 2 * 8);
        expect(bench.failures).toBe(1);
      });
    }

    whenChanged(WHOLE)('mutant: a group that is not divided is failed as a whole', async () => {
      const checks = [...good(100), { keyId: 'bad', bad: 'throws' as const }];
      const whole = await onMutant(WHOLE, Commit => new Bench(Commit).answered(checks));
      expect(whole.some(each => each)).toBe(false);
      expect(await recorded()).toEqual([]);
    });

    test('of one key, other callers are answered, and the same caller’s other checks', async () => {
      const checks: Check[] = good(500, 5).map((each, index) => ({ ...each, caller: `run ${index % 50}` }));
      checks[77] = { ...checks[77]!, bad: 'throws' };
      const answered = await new Bench().answered(checks);
      expect(answered.flatMap((each, index) => (each ? [] : [index]))).toEqual([77]);
      expect(await recorded()).toHaveLength(499);
    });

    const ALL_BAD = [...good(500), ...Array<Check>(500).fill({ keyId: 'bad', bad: 'throws' })];
    const MOST = 1 + 2 * 9 + 64;

    test('a key that is all bad costs the others little, at first and later', async () => {
      const bench = new Bench();
      expect((await bench.answered(ALL_BAD)).filter(each => each)).toHaveLength(500);
      expect(bench.groups.length).toBeLessThanOrEqual(MOST);
      await recorded();
    });

    whenChanged(NO_BUDGET)('mutant: without a bound it costs them much', async () => {
      const unbounded = new Bench(await onMutant(NO_BUDGET, async Commit => Commit));
      await unbounded.answered(ALL_BAD);
      expect(unbounded.groups.length).toBeGreaterThan(MOST);
      await recorded();
    });

    const TWO_BAD: Check[] = [
      ...good(100),
      { keyId: 'bad', bad: 'throws' },
      { keyId: 'worse', bad: 'throws' },
    ];

    test('from then on it is decided apart, and nobody waits for two such groups in a row', async () => {
      const checks = TWO_BAD;
      const bench = new Bench();
      await bench.answered(checks);
      bench.groups.length = 0;
      const { promise, resolve } = Promise.withResolvers<void>();
      bench.gate = promise;
      const first = bench.answered(checks);
      await until('a first group', () => bench.groups.length === 1);
      const second = bench.answered(checks);
      resolve();
      for (const answered of [await first, await second]) {
        expect(answered.filter(each => each)).toHaveLength(100);
        expect(answered.slice(100)).toEqual([false, false]);
      }
      const kinds = bench.groups.map(group => [...new Set(group.map(each => each.bad ?? 'good'))].join());
      expect(new Set(kinds)).toEqual(new Set(['good', 'throws']));
      const lastGood = kinds.lastIndexOf('good');
      expect(kinds.slice(0, lastGood).join(' ')).not.toContain('throws throws');
      expect(await recorded()).toHaveLength(300);
    });

    whenChanged(NEVER_APART)('mutant: a key that is not set apart spoils the next group', async () => {
      const mixed = new Bench(await onMutant(NEVER_APART, async Commit => Commit));
      await mixed.answered(TWO_BAD);
      mixed.groups.length = 0;
      await mixed.answered(TWO_BAD);
      expect(mixed.groups[0]).toHaveLength(102);
      await recorded();
    });

    const BROKEN: Check[] = [...good(100), { keyId: 'key 1', bad: 'broken' }];

    test('an error of the store itself fails the group at once, and no check is decided twice', async () => {
      const bench = new Bench();
      expect(await bench.answered(BROKEN)).not.toContain(true);
      expect(bench.groups).toHaveLength(1);
      expect(await recorded()).toEqual([]);
    });

    whenChanged(ANYTHING_AGAIN)('mutant: after an error of the store checks are decided twice', async () => {
      const again = new Bench(await onMutant(ANYTHING_AGAIN, async Commit => Commit));
      await again.answered(BROKEN);
      expect(again.groups.length).toBeGreaterThan(1);
      await recorded();
    });

    const judgedLate = async (bench: Bench) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      bench.gate = promise;
      const first = bench.answered(good(1));
      await until('a first group', () => bench.groups.length === 1);
      // Their time is over as soon as anybody looks.
      expect(await bench.answered(good(10), 2900)).not.toContain(true);
      const waiting = bench.commit.depth;
      resolve();
      const answered = await first;
      await bench.commit.drain();
      return { waiting, answered, recorded: await recorded() };
    };
    const measureLate = (Commit?: Commit) =>
      unlessStalled(
        () => judgedLate(new Bench(Commit)),
        each => each.answered[0] === false,
      );

    test('a check whose time is over is neither decided later nor counted as waiting', async () => {
      expect(await measureLate()).toEqual({ waiting: 1, answered: [true], recorded: [0] });
    });

    whenChanged(STAYS_QUEUED)('mutant: one that stays in the queue is decided late', async () => {
      const found = await measureLate(await onMutant(STAYS_QUEUED, async Commit => Commit));
      expect(found.waiting).toBe(11);
      expect(found.recorded).toHaveLength(11);
    });
  });
}
