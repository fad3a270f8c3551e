// Counts of limits beside the checks: what ended long ago is removed in small steps, and a reset waits for the calls that
// are being counted. test/http/limits.test.ts has what operators see.

import { expect, test } from 'bun:test';
import { recordChange } from '../../../src/guard/changes.ts';
import { forgetCounts, resetLimit } from '../../../src/guard/check/limit-admin.ts';
import { countLock, limitId } from '../../../src/guard/check/limits.ts';
import { createPolicy } from '../../../src/guard/check/policies.ts';
import { Blocked } from '../../../src/store/engine/db.ts';
import { addCounts, type LimitCount, usedOf } from '../../../src/store/limits.ts';
import { NOW, onEachEngine } from '../../store/stores.ts';
import { until } from '../../support/faults.ts';
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
    // Neither the database's clock nor the record is behind it.
    const start = Date.now() - 10 * DAY;
    let now = start;
    const [forget, deps] = [forgetCounts(), depsAt(store.db, () => now)];
    await recordChange(store.db, depsAt(store.db, Date.now), 'admin', 'limit.reset', 'policy', {});
    const old = Array.from({ length: 1200 }, (_, index) => ended(start - DAY - 1 - index));
    await add(...old, ended(start - DAY), ended(start + DAY));
    expect(await forget(deps)).toBe(true);
    expect(await left()).toBe(702);
    expect([await forget(deps), await forget(deps), await left()]).toEqual([true, false, 2]);

    await add(ended(start - 2 * DAY));
    now += MINUTE - 1;
    expect([await forget(deps), await left()]).toEqual([false, 3]);
    now += 1;
    expect([await forget(deps), await left()]).toEqual([false, 1]);

    // A clock that was set back does not stop it.
    now -= 3 * DAY;
    await add(ended(now - DAY - 1));
    expect([await forget(deps), await left()]).toEqual([false, 1]);
  });

  test('a reset also forgets calls that are being counted when it comes', async () => {
    // SQLite has one writer at a time.
    if (store.engine === 'sqlite') return;
    const deps = depsAt(store.db);
    const limit = { calls: 2, within: '1h' };
    const rules = [{ tool: '*', action: 'allow' as const, limit: 'sends' }];
    const { id } = await createPolicy(deps, 'admin', {
      name: 'p',
      description: '',
      rules,
      limits: { sends: limit },
    });
    const counted = { limitId: limitId(id, 'sends', limit), subject: 'key' };
    const reset = () => resetLimit(deps, 'admin', { policyId: id, name: 'sends', subject: 'key' });
    let isReset = false;
    const { resetting } = await store.db.transaction(
      { exclusive: [countLock(counted.limitId, 'key')] },
      async tx => {
        addCounts(tx, [{ ...ended(NOW + DAY), ...counted }]);
        await tx.all('SELECT 1 AS one');
        // On a machine that stalls, the wait for a lock is given up after a second.
        const again = (error: unknown) => (error instanceof Blocked ? reset() : Promise.reject(error));
        const resetting = reset()
          .catch(again)
          .finally(() => {
            isReset = true;
          });
        await until('the reset waits, or is done', async () => isReset || (await waits()));
        return { resetting };
      },
    );
    await resetting;
    expect(await usedOf(store.db, [counted], NOW)).toEqual([0]);
  });

  async function waits(): Promise<boolean> {
    const rows = await store.db.all(
      `SELECT 1 AS one FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    return rows.length > 0;
  }
});
