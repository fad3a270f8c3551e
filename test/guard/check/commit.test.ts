// How checks are put into groups: the first at once, those that come meanwhile together, in their order, and never
// more in one transaction than it should take.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { auditFailed, GuardError } from '../../../src/core/errors.ts';
import { GroupCommit } from '../../../src/guard/check/commit.ts';
import { type CommittedGroup, LATER, MOVED } from '../../../src/guard/check/group-work.ts';
import { openStore, type TestStore } from '../../store/stores.ts';
import { until, withMutant } from '../../support/faults.ts';
import type { Patch } from '../../support/mutant.ts';
import { engines } from '../../support/service.ts';
import { whenChanged } from '../../support/when-changed.ts';
import { type Check, listedWork, numbersOf, QUIET } from '../group.ts';

const MOST_CHECKS = 1024;
const MOST_KEYS = 256;

const ANY_KEYS: Patch = {
  file: 'src/guard/check/check-queue.ts',
  find: '(keyIds.size === MAX_KEYS && !keyIds.has(keyId))',
  replace: 'false',
};
const ANY_SIZE: Patch = {
  file: 'src/guard/check/check-queue.ts',
  find: 'index === MAX_GROUP ||',
  replace: '',
};

interface Group {
  checks: readonly Check[];
  locks: string[];
}

/** The milliseconds within which a check is answered. */
const WHOLE_TIME = 2900;

/**
 * Asks for something with a tenth of a second left, which saves waiting for three. On a busy machine that may be over
 * before the store was in time, and then it is asked again with twice as much left.
 */
async function withLittleTime<T>(
  ask: (waitedMs: number) => Promise<T>,
  inTime: (answer: T) => boolean,
): Promise<T> {
  for (let leftMs = 100; leftMs < WHOLE_TIME; leftMs *= 2) {
    const answer = await ask(WHOLE_TIME - leftMs);
    if (inTime(answer)) return answer;
  }
  return ask(0);
}

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await openStore(engine);
    });
    afterAll(() => store.close());

    /** The groups that checks of these keys are put into, all of them submitted at once; each is answered its number. */
    async function groupsOf(keyIds: readonly string[], Commit = GroupCommit): Promise<Group[]> {
      const told: number[] = [];
      const locks: string[][] = [];
      const shares = (ids: ReadonlySet<string>) => {
        locks.push([...ids]);
        return [...ids];
      };
      const { groups, work } = listedWork(undefined, { shares });
      const begun = performance.now();
      const committed = ({ size, waited, took }: CommittedGroup) => {
        expect(waited + took).toBeLessThanOrEqual(performance.now() - begun);
        told.push(size);
      };
      const watched = { ...QUIET, committed };
      const commit = new Commit<Check, number>(store.db, work, keyIds.length, watched);
      const answers = await Promise.all(keyIds.map((keyId, number) => commit.submit({ keyId, number })));
      expect(answers).toEqual(keyIds.map((_, number) => number));
      expect(told).toEqual(groups.map(checks => checks.length));
      return groups.map((checks, at) => ({ checks, locks: locks[at] ?? [] }));
    }

    /** The sizes of groups where the first of the callers begins alone, and all come back two turns after each answer. */
    async function sizesOf(callers: number, times: number): Promise<number[]> {
      const begun = Promise.withResolvers<void>();
      const { groups, work } = listedWork(({ number }) => {
        begun.resolve();
        return number;
      });
      // No turn takes any time, however busy the machine is.
      const commit = new GroupCommit(store.db, work, callers, QUIET, null, () => 0);
      const call = async (number: number) => {
        for (let time = 0; time < times; time++) {
          await commit.submit({ keyId: 'key', number });
          // One turn until the answer has left, and one until the next question is here.
          await new Promise(setImmediate);
          await new Promise(setImmediate);
        }
      };
      const first = call(0);
      await begun.promise;
      await Promise.all([first, ...Array.from({ length: callers - 1 }, (_, index) => call(index + 1))]);
      return groups.map(checks => checks.length);
    }

    /** How many checks the first group has if each turn of the event loop takes so long, and brings one more check. */
    async function gathered(turnMs: number): Promise<number> {
      const { groups, work } = listedWork();
      let now = 0;
      const commit = new GroupCommit(store.db, work, 100, QUIET, null, () => now);
      const all = Promise.withResolvers<Promise<number>[]>();
      const answers: Promise<number>[] = [];
      // The next check arrives before the group looks whether one has.
      const arrive = () => {
        if (answers.length < 49) setImmediate(arrive);
        now += turnMs;
        answers.push(commit.submit({ keyId: 'key', number: answers.length }));
        if (answers.length === 50) all.resolve(answers);
      };
      arrive();
      expect(await Promise.all(await all.promise)).toEqual([...Array(50).keys()]);
      return groups[0]?.length ?? 0;
    }

    const keys = (count: number) => Array.from({ length: count }, (_, index) => `key ${index}`);

    test('many checks of one key share few commits', async () => {
      const groups = await groupsOf(Array(3000).fill('key'));
      expect(groups.map(({ checks }) => checks.length)).toEqual([MOST_CHECKS, MOST_CHECKS, 952]);
      expect(groups.map(({ locks }) => locks)).toEqual([['key'], ['key'], ['key']]);
    });

    test('callers that come back together share a commit, also with one that waited for them', async () => {
      expect(await sizesOf(64, 5)).toEqual([1, 63, 64, 64, 64, 64]);
    });

    test('a group gathers while more checks come, but not for long', async () => {
      expect(await gathered(0)).toBe(50);
      expect(await gathered(0.5)).toBeLessThan(6);
      expect(await gathered(8)).toBeLessThan(3);
    });

    test('a group has so many keys at most, and a lock for each of them', async () => {
      const groups = await groupsOf([...keys(600), ...keys(600)]);
      for (const { checks, locks } of groups) {
        expect(locks.length).toBeLessThanOrEqual(MOST_KEYS);
        expect(new Set(checks.map(each => each.keyId))).toEqual(new Set(locks));
      }
      expect(groups.flatMap(({ checks }) => checks.map(each => each.number))).toEqual([
        ...Array(1200).keys(),
      ]);
    });

    test('what a group leaves for later is decided in the next ones, behind newer checks', async () => {
      const { groups, work } = listedWork(({ number }, index) => (index < 2 ? number : LATER));
      const commit = new GroupCommit(store.db, work, 10, QUIET);
      const submit = (number: number) => commit.submit({ keyId: 'key', number });
      const first = [0, 1, 2, 3, 4].map(submit);
      const newer = first[0]?.then(() => submit(5));
      expect(await Promise.all([...first, newer])).toEqual([0, 1, 2, 3, 4, 5]);
      expect(numbersOf(groups).slice(0, 2)).toEqual([
        [0, 1, 2, 3, 4],
        [5, 2, 3, 4],
      ]);
      await commit.drain();
      expect(commit.depth).toBe(0);
    });

    test('what is left for later again and again is rejected in the end', async () => {
      const { groups, work } = listedWork(() => LATER);
      const commit = new GroupCommit(store.db, work, 10, QUIET);
      const ask = (waitedMs: number) =>
        commit.submit({ keyId: 'key', number: 0 }, waitedMs).catch((error: GuardError) => error.code);
      expect(await withLittleTime(ask, () => groups.length > 1)).toBe('audit_failed');
      await commit.drain();
      expect([commit.depth, groups.length > 1]).toEqual([0, true]);
    });

    describe('what is left for later and has to be prepared', () => {
      /** Checks are left for later until they are prepared, which `prepare` does. */
      function preparing(prepare: (number: number) => Promise<void>) {
        const prepared = new Set<number>();
        const { groups, work } = listedWork(
          ({ number }) => (number < 0 && !prepared.has(number) ? LATER : number),
          {
            prepare: ({ number }) =>
              number < 0 ? prepare(number).then(() => void prepared.add(number)) : null,
          },
        );
        return { commit: new GroupCommit(store.db, work, 10, QUIET), groups };
      }

      test('comes back when it is ready, and nothing waits for it', async () => {
        const gate = Promise.withResolvers<void>();
        const { commit, groups } = preparing(() => gate.promise);
        const slow = commit.submit({ keyId: 'key', number: -1 });
        await until('it is prepared', () => groups.length === 1);
        expect(await commit.submit({ keyId: 'key', number: 1 })).toBe(1);
        expect(commit.depth).toBeGreaterThan(0);
        gate.resolve();
        await commit.drain();
        expect([await slow, commit.depth]).toEqual([-1, 0]);
        expect(numbersOf(groups)).toEqual([[-1], [1], [-1]]);
      });

      test('is rejected if that fails, or takes too long', async () => {
        const code = (answer: Promise<number>) => answer.catch((error: GuardError) => error.code);
        const failing = preparing(() => Promise.reject(new Error('no memory')));
        expect(await code(failing.commit.submit({ keyId: 'key', number: -1 }))).toBe('audit_failed');
        const hang = async (waitedMs: number) => {
          const gate = Promise.withResolvers<void>();
          const { commit, groups } = preparing(() => gate.promise);
          expect(await code(commit.submit({ keyId: 'key', number: -1 }, waitedMs))).toBe('audit_failed');
          gate.resolve();
          await commit.drain();
          return numbersOf(groups);
        };
        // What was answered is not decided any more.
        expect(await withLittleTime(hang, groups => groups.length > 0)).toEqual([[-1]]);
      });
    });

    test('so many wait, the next is told to come again, and an answer makes room', async () => {
      const gate = Promise.withResolvers<void>();
      const { groups, work } = listedWork(({ number }) => gate.promise.then(() => number));
      const commit = new GroupCommit(store.db, work, 3, QUIET);
      const submit = (number: number) =>
        commit.submit({ keyId: 'key', number }).catch((error: { code: string }) => error.code);
      const first = submit(0);
      await until('the first is being judged', () => groups.length === 1);
      const waiting = [1, 2, 3].map(submit);
      expect([commit.depth, commit.overloaded]).toEqual([4, true]);
      expect(await submit(4)).toBe('overloaded');
      gate.resolve();
      // A machine that stalls for three seconds answers these too late.
      const answers = await Promise.all([first, ...waiting]);
      for (const [number, answer] of answers.entries()) expect([number, 'audit_failed']).toContain(answer);
      await commit.drain();
      expect([commit.depth, commit.overloaded]).toEqual([0, false]);
      expect([5, 'audit_failed']).toContain(await submit(5));
    });

    describe('several together', () => {
      type Kind = 'plain' | 'later' | 'never' | 'moved' | 'refused' | 'throws';
      /** Answers with the number of a check, once; its kind says what happens to it before. */
      const together = () => {
        const put = new Set<number>();
        const { groups, work } = listedWork<Check & { kind: Kind }>(({ kind, number }) => {
          if (kind === 'throws') throw new RangeError('a member’s own');
          if (kind === 'refused') return auditFailed(new Error('no such version'));
          if (kind === 'never') return LATER;
          if ((kind !== 'later' && kind !== 'moved') || put.has(number)) return number;
          put.add(number);
          return kind === 'later' ? LATER : MOVED;
        });
        const next = new GroupCommit(store.db, work, 10, QUIET);
        const commit = new GroupCommit(store.db, work, 10, QUIET, next);
        const ask = async (kinds: Kind[], waitedMs = 0) => {
          const checks = kinds.map((kind, number) => ({ keyId: `key ${number % 3}`, number, kind }));
          const answers = await commit.submitAll(checks, waitedMs);
          return answers.map(each => (each instanceof GuardError ? each.code : each));
        };
        return { commit, groups, ask };
      };

      test('each is answered in its place, whatever becomes of the others', async () => {
        const { commit, groups, ask } = together();
        expect(await ask(['plain', 'later', 'moved', 'refused', 'plain'])).toEqual([
          0,
          1,
          2,
          'audit_failed',
          4,
        ]);
        expect(numbersOf(groups)[0]).toEqual([0, 1, 2, 3, 4]);
        expect(numbersOf(groups).slice(1).flat().sort()).toEqual([1, 2]);
        expect(await ask(['plain', 'plain', 'throws', 'plain'])).toEqual([0, 1, 'audit_failed', 3]);
        expect(await ask([])).toEqual([]);
        await commit.drain();
        expect(commit.depth).toBe(0);
      });

      test('one that is moved is answered there, although another one failed beside it', async () => {
        const { ask } = together();
        expect(await ask(['throws', 'plain', 'moved'])).toEqual(['audit_failed', 1, 2]);
      });

      test('those for whom there is no room are refused, and each has its time limit', async () => {
        const { ask } = together();
        expect(await ask(Array(12).fill('plain'))).toEqual([...Array(10).keys(), 'overloaded', 'overloaded']);
        const never = (waitedMs: number) => ask(['never', 'plain'], waitedMs);
        const answers = await withLittleTime(never, ([, plain]) => plain === 1);
        expect(answers).toEqual(['audit_failed', 1]);
      });
    });

    whenChanged(ANY_SIZE, ANY_KEYS)('mutants without a limit are found out', async () => {
      const sizes = async (patch: Patch, keyIds: string[]) =>
        withMutant([patch], async root => {
          const broken = await import(join(root, 'src/guard/check/commit.ts'));
          const groups = await groupsOf(keyIds, broken.GroupCommit);
          return groups.map(({ checks, locks }) => [checks.length, locks.length]);
        });
      expect(await sizes(ANY_SIZE, Array(3000).fill('key'))).toEqual([[3000, 1]]);
      expect(await sizes(ANY_KEYS, keys(600))).toEqual([[600, 600]]);
    });
  });
}
