// What metrics read from the store: nobody waits for a store that hangs, and the values of the last reading stay with
// their age; counts of limits are read in parts.

import { describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import type { MetricFamily } from '../../src/core/wire/metric.ts';
import { limitId } from '../../src/guard/check/limits.ts';
import { createPolicy } from '../../src/guard/check/policies.ts';
import type { Deps } from '../../src/guard/deps.ts';
import { StoreReadings } from '../../src/metrics/readings.ts';
import { metricsText } from '../../src/metrics/text.ts';
import { addCounts } from '../../src/store/limits.ts';
import { depsAt } from '../guard/deps.ts';
import { NOW, openStore, type TestStore } from '../store/stores.ts';
import { engines } from '../support/service.ts';

let now = NOW;

async function withReadings(
  engine: TestStore['engine'],
  work: (store: TestStore, readings: StoreReadings, deps: Deps) => Promise<void>,
): Promise<void> {
  now = NOW;
  const store = await openStore(engine);
  const deps = depsAt(store.db, () => now);
  try {
    // A slow machine must not be taken for a store that hangs.
    await work(store, new StoreReadings(deps, 60_000), deps);
  } finally {
    deps.details.close();
    await store.close();
  }
}

const lines = (families: MetricFamily[], name: string): string[] =>
  metricsText(families, 'prometheus')
    .split('\n')
    .filter(line => line.startsWith(name));

for (const engine of await engines()) {
  describe(engine, () => {
    test('is at most five seconds old', () =>
      withReadings(engine, async (_, readings) => {
        const ages: string[] = [];
        for (const later of [0, 3000, 1000, 1000, 2000]) {
          now += later;
          ages.push(...lines(await readings.families(), 'toolgate_readings_age_seconds'));
        }
        const inSeconds = ages.map(line => Number(line.split(' ')[1]));
        expect(inSeconds).toEqual([0, 3, 4, 0, 2]);
      }));

    test('counts limits in parts, and tells the number once it is complete', () =>
      withReadings(engine, async (store, readings, deps) => {
        const limit = { calls: 10, within: '1h', per: 'session' } as const;
        const rules = [{ tool: 't', action: 'allow', limit: 'l' } as const];
        const content = { name: 'p', description: '', rules, limits: { l: limit } };
        const { id: policyId } = await createPolicy(deps, 'admin', content);
        const row = {
          limitId: limitId(policyId, 'l', limit),
          policyId,
          name: 'l',
          keyId: 'k',
          endsAt: now + 60_000,
        };
        // Of 750 subjects, 150 each have used 7, 8, 9, 10 and 11 of 10.
        const counts = Array.from({ length: 750 }, (_, n) => ({
          ...row,
          subject: `s${n}`,
          amount: 7 + (n % 5),
        }));
        for (let at = 0; at < counts.length; at += 250)
          await store.db.transaction({}, async tx => addCounts(tx, counts.slice(at, at + 250)));
        expect(lines(await readings.families(), 'toolgate_limits')).toEqual([]);
        now += 5000;
        const whole = ['toolgate_limits{use="near"} 300', 'toolgate_limits{use="reached"} 300'];
        expect(lines(await readings.families(), 'toolgate_limits')).toEqual(whole);
        now += 5000;
        expect(lines(await readings.families(), 'toolgate_limits')).toEqual(whole);
        now += 60_000;
        await readings.families();
        now += 5000;
        const none = ['toolgate_limits{use="near"} 0', 'toolgate_limits{use="reached"} 0'];
        expect(lines(await readings.families(), 'toolgate_limits')).toEqual(none);
      }));

    test.if(engine === 'postgres')('does not wait for a store that hangs', () =>
      withReadings(engine, async (store, _, deps) => {
        const readings = new StoreReadings(deps);
        while ((await readings.families()).length === 0);
        now += 60_000;
        const other = new SQL(store.url, { max: 1 });
        await other.unsafe('BEGIN; LOCK TABLE approvals IN ACCESS EXCLUSIVE MODE');
        // This was asked before, so it gets its answer, or is given up, before the reading does.
        const asked = store.db.all('SELECT 1 FROM approvals').then(
          () => 'the store',
          () => 'the store',
        );
        const read = readings.families();
        expect(await Promise.race([asked, read.then(() => 'the metrics')])).toBe('the metrics');
        expect(lines(await read, 'toolgate_readings_age_seconds')).toEqual([
          'toolgate_readings_age_seconds 60',
        ]);
        expect(lines(await read, 'toolgate_approvals_waiting')).toEqual(['toolgate_approvals_waiting 0']);
        await other.unsafe('ROLLBACK');
        await other.close();
        await asked;
        // It may be the reading under way that now ends, or the next one.
        while (lines(await readings.families(), 'toolgate_readings_age_seconds 0').length === 0) now += 1;
      }),
    );
  });
}
