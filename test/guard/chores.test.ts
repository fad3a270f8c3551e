// Background work on both engines, with time in the test's hands: every chore comes to its end, one replica at a time
// works, another takes over when it should and no sooner, and a stop waits for the step under way and no other.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type Chore, Chores } from '../../src/guard/chores.ts';
import { NOW, openStore, type TestStore } from '../store/stores.ts';
import { until } from '../support/faults.ts';
import { engines } from '../support/service.ts';
import { depsAt } from './deps.ts';

const LEASE_MS = 30_000;

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let now: number;
    let open: (() => Promise<void>)[];
    beforeEach(async () => {
      store = await openStore(engine);
      now = NOW;
      open = [];
    });
    afterEach(async () => {
      await Promise.all(open.map(close => close()));
      await store.close();
    });

    /** A replica of its own. */
    function replica(...chores: Chore[]) {
      const told = { rounds: 0, failures: [] as unknown[] };
      const deps = depsAt(store.db, () => now);
      const worker = new Chores(deps, chores, {
        round: async () => {
          told.rounds++;
        },
        failed: error => told.failures.push(error),
      });
      open.push(() => worker.stop());
      return { worker, told };
    }

    /** Whether a replica that starts now gets to work. */
    async function works(): Promise<boolean> {
      let steps = 0;
      const { worker, told } = replica(async () => ++steps < 0);
      worker.start();
      await until('its round is over', () => told.rounds > 0);
      await worker.stop();
      return steps > 0;
    }

    /** A replica that has made some steps, the clock moving in each, and hangs in the next, as if it were dead. */
    async function hanging(...moves: number[]) {
      const released = Promise.withResolvers<void>();
      const told = { steps: 0, begun: false };
      const { worker } = replica(async () => {
        const move = moves[told.steps++];
        now += move ?? 0;
        if (move !== undefined) return true;
        told.begun = true;
        await released.promise;
        return told.steps < 1000;
      });
      worker.start();
      await until('it hangs', () => told.begun);
      open.unshift(async () => released.resolve());
      return { worker, told, release: () => released.resolve() };
    }

    test('every chore is done to its end, and one that fails keeps no other from it', async () => {
      const done: string[] = [];
      const { worker, told } = replica(
        async () => done.push('first') < 3,
        async () => {
          throw new Error('broken');
        },
        async () => done.push('last') < 0,
      );
      worker.start();
      await until('the round is over', () => told.rounds === 1);
      expect(done).toEqual(['first', 'first', 'first', 'last']);
      expect(told.failures).toEqual([new Error('broken')]);
    });

    test('one replica works; another does when the lease of the first is over, to the millisecond', async () => {
      await hanging();
      expect(await works()).toBe(false);
      now = NOW + LEASE_MS - 1;
      expect(await works()).toBe(false);
      now = NOW + LEASE_MS;
      expect(await works()).toBe(true);
      // It stopped, and left no lease behind.
      expect(await works()).toBe(true);
    });

    test('a lease is renewed when half of it is over', async () => {
      await hanging(LEASE_MS / 2);
      now = NOW + 1.5 * LEASE_MS - 1;
      expect(await works()).toBe(false);
      now = NOW + 1.5 * LEASE_MS;
      expect(await works()).toBe(true);
    });

    test('a lease by a clock that was ahead is taken anew, and holds nobody up for longer', async () => {
      await hanging(-24 * 3_600_000);
      now += LEASE_MS - 1;
      expect(await works()).toBe(false);
      now += 1;
      expect(await works()).toBe(true);
    });

    test('a stop waits for the step under way, and no step follows, whatever is left to do', async () => {
      const { worker, told, release } = await hanging();
      let stopped = false;
      const stopping = worker.stop().then(() => {
        stopped = true;
      });
      expect(await works()).toBe(false);
      expect(stopped).toBe(false);
      release();
      await stopping;
      expect(told.steps).toBe(1);
      expect(await works()).toBe(true);
    });

    test('round follows round', async () => {
      const { worker, told } = replica(async () => false);
      worker.start();
      await until('there is a second round', () => told.rounds > 1);
    });
  });
}
