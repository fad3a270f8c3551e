// Counts of limits beside the checks: what ended long ago is removed in small steps.

import { expect, test } from 'bun:test';
import { forgetCounts } from '../../../src/guard/check/limit-admin.ts';
import { addCounts, type LimitCount, usedOf } from '../../../src/store/limits.ts';
import { NOW, onEachEngine } from '../../store/stores.ts';
import { depsAt } from '../deps.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

await onEachEngine(store => {
  const ended = (endsAt: number): LimitCount => ({
    limitId: 'limit',
    subject: 'key',
    endsAt,
    amount: 1,
    policyId: 'policy',
    name: 'sends',
    keyId: null,
  });
  const add = (...counts: LimitCount[]) => store.db.transaction({}, async tx => addCounts(tx, counts));
  const left = async () => (await usedOf(store.db, [{ limitId: 'limit', subject: 'key' }], 0))[0];

  test('counts are removed a day after their end, in steps, once a minute', async () => {
    let now = NOW;
    const [forget, deps] = [forgetCounts(), depsAt(store.db, () => now)];
    const old = Array.from({ length: 1200 }, (_, index) => ended(NOW - DAY - 1 - index));
    await add(...old, ended(NOW - DAY), ended(NOW + DAY));
    expect(await forget(deps)).toBe(true);
    expect(await left()).toBe(702);
    expect([await forget(deps), await forget(deps), await left()]).toEqual([true, false, 2]);

    await add(ended(NOW - 2 * DAY));
    now += MINUTE - 1;
    expect([await forget(deps), await left()]).toEqual([false, 3]);
    now += 1;
    expect([await forget(deps), await left()]).toEqual([false, 1]);

    // A clock that was set back does not stop it.
    now -= 3 * DAY;
    await add(ended(now - DAY - 1));
    expect([await forget(deps), await left()]).toEqual([false, 1]);
  });
});
