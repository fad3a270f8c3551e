// Limits in the transaction that records the calls: what is counted, for whom, until when, and what starts anew. The times
// lie ahead of the machine's, because audit entries have its time; on PostgreSQL the server's time counts as well.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Limit } from '../../../src/core/policy/limit.ts';
import type { Rule } from '../../../src/core/policy/policy.ts';
import { parseJson } from '../../../src/core/wire/json.ts';
import { resolveByOperator } from '../../../src/guard/approvals/approvals.ts';
import { recordChange } from '../../../src/guard/changes.ts';
import { CheckWork, newMemory } from '../../../src/guard/check/check.ts';
import { MOVED, type Outcome } from '../../../src/guard/check/group-work.ts';
import { forgetCounts, resetLimit } from '../../../src/guard/check/limit-admin.ts';
import { createPolicy, replacePolicy } from '../../../src/guard/check/policies.ts';
import type { CheckRequest, Verdict } from '../../../src/guard/check/request.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { createKey } from '../../../src/guard/keys.ts';
import { openStore, type TestStore } from '../../store/stores.ts';
import { refusal } from '../../support/refusal.ts';
import { engines } from '../../support/service.ts';
import { depsAt } from '../deps.ts';
import { decidedBy } from '../group.ts';
import { untimed } from './untimed.ts';

const HOUR = 3_600_000;
const PAY: Rule = { tool: 'pay', action: 'allow', limit: 'spent' };

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let now: number;
    let deps: Deps;
    let policyId: string;
    let keyId: string;
    beforeEach(async () => {
      store = await openStore(engine);
      // The beginning of an hour, so that no test sees the end of a window by chance.
      now = Math.ceil(Date.now() / HOUR) * HOUR;
      deps = depsAt(store.db, () => now);
    });
    afterEach(() => store.close());

    async function policy(spent: Limit, ...rules: Rule[]): Promise<void> {
      const content = { rules: [PAY, ...rules], limits: { spent } };
      policyId = (await createPolicy(deps, 'admin', { name: 'p', description: '', ...content })).id;
      keyId = await newKey('a');
    }

    async function newKey(name: string): Promise<string> {
      const input = { name, policyId, requireSignInToApprove: false, expiresAt: null, notify: null };
      return (await createKey(deps, 'admin', { ...input, forward: [] })).key.id;
    }

    const change = (spent: Limit) =>
      replacePolicy(deps, 'admin', policyId, { rules: [PAY], limits: { spent } });

    const pay = (args: CheckRequest['args'] = {}, more: Partial<CheckRequest> = {}): CheckRequest => ({
      principal: { kind: 'key', keyId, sessionId: null, scope: null },
      surface: 'check',
      call: { serverName: 'bank', toolName: 'pay' },
      args,
      referenceId: null,
      startedAt: performance.now(),
      ...more,
    });
    const decided = (...requests: CheckRequest[]): Promise<Outcome<Verdict>[]> =>
      decidedBy(store.db, untimed(deps), requests);
    const decisions = async (...requests: CheckRequest[]): Promise<string[]> =>
      (await decided(...requests)).map(each => (each as Verdict).decision);
    const reason = async (request: CheckRequest): Promise<string> =>
      ((await decided(request))[0] as Verdict).reason;
    const counted = async (): Promise<number> => {
      const [row] = await store.db.all<{ amount: number | null }>(
        'SELECT CAST(sum(amount) AS bigint) AS amount FROM limit_counts',
      );
      return row?.amount ?? 0;
    };

    test('the calls of a group are counted in order, and those of the next group go on', async () => {
      await policy({ calls: 3, within: '1h' });
      expect(await decisions(pay(), pay())).toEqual(['allow', 'allow']);
      expect(await decisions(pay(), pay(), pay())).toEqual(['allow', 'deny', 'deny']);
      expect(await reason(pay())).toBe(
        'Rule 0 of policy "p" allows bank__pay, but its limit "spent" is used up (3 within 1h per key).',
      );
      expect(await counted()).toBe(3);
    });

    test('amounts are exact decimals, and one that would exceed the limit leaves room for a smaller one', async () => {
      await policy(
        { sum: 'args.amount', unit: 0.01, atMost: 1, each: 'day' },
        { tool: 'pay', action: 'deny', reason: 'Not like this.' },
      );
      const amounts = (...list: unknown[]) => decisions(...list.map(amount => pay({ amount } as never)));
      expect(await amounts(0.1, 0.2, 0.7, 0.01)).toEqual(['allow', 'allow', 'allow', 'deny']);
      expect(await counted()).toBe(100);
      expect(await amounts(0, -1, 0.001, '5', null)).toEqual(['allow', 'deny', 'deny', 'deny', 'deny']);
      expect(await reason(pay({ amount: -1 }))).toBe(
        'Not like this. Rule 0 did not apply: its limit "spent" cannot count this call.',
      );
      expect(await counted()).toBe(100);
    });

    test('an amount with more digits than a double has is not rounded', async () => {
      await policy({ sum: 'args.amount', unit: 0.01, atMost: 100, each: 'day' });
      const amount = (text: string) => pay(parseJson(`{"amount": ${text}}`));
      expect(await decisions(amount('50.000000000000000001'), amount('50.000000000000000000'))).toEqual([
        'deny',
        'allow',
      ]);
      expect(await counted()).toBe(5000);
    });

    test('a call that is not allowed does not count, and neither does a group that fails', async () => {
      await policy({ calls: 1, within: '1h' });
      expect(await decisions(pay({}, { call: { serverName: 'bank', toolName: 'other' } }))).toEqual(['deny']);
      const failed = store.db.transaction({}, async tx => {
        await new CheckWork(deps).decideGroup(tx, [pay()]);
        throw new Error('the group fails');
      });
      expect(await refusal(failed)).toEqual(new Error('the group fails'));
      expect(await counted()).toBe(0);
      expect(await decisions(pay(), pay())).toEqual(['allow', 'deny']);
    });

    test('a call that will not be sent does not count', async () => {
      await policy({ calls: 1, within: '1h' });
      const unsent = pay({}, { call: { serverName: 'bank', toolName: 'pay', unsent: true } });
      expect(await decisions(unsent, unsent)).toEqual(['allow', 'allow']);
      expect(await decisions(pay(), pay())).toEqual(['allow', 'deny']);
    });

    test('each key has its own count, and a limit per policy counts for all of them', async () => {
      await policy({ calls: 1, within: '1h' });
      const other = {
        principal: { kind: 'key' as const, keyId: await newKey('b'), sessionId: null, scope: null },
      };
      expect(await decisions(pay(), pay({}, other), pay())).toEqual(['allow', 'allow', 'deny']);
      await change({ calls: 1, within: '1h', per: 'policy' });
      expect(await decisions(pay(), pay({}, other), pay())).toEqual(['allow', 'deny', 'deny']);
    });

    test('a limit per session denies a call without one', async () => {
      await policy({ calls: 1, within: '1h', per: 'session', beyond: 'require_approval' });
      expect(await reason(pay())).toBe(
        'Rule 0 of policy "p" allows bank__pay, but its limit "spent" counts per session, and this call has none.',
      );
    });

    test('beyond the limit a call can wait for approval; once approved it exceeds the limit and counts', async () => {
      await policy({ calls: 1, within: '1h', beyond: 'require_approval' });
      const [first, held] = (await decided(pay(), pay())) as Verdict[];
      expect([first?.decision, held?.decision]).toEqual(['allow', 'pending']);
      expect(held?.reason).toBe(
        'Rule 0 of policy "p" allows bank__pay, but its limit "spent" is used up (1 within 1h per key), so it requires approval.',
      );
      expect(await counted()).toBe(1);
      const referenceId = held?.referenceId ?? '';
      await resolveByOperator(deps, 'admin', referenceId, { action: 'approve', grantMs: null });
      expect(await decisions(pay({}, { referenceId }))).toEqual(['allow']);
      expect(await counted()).toBe(2);
    });

    test('a new version goes on counting unless what is counted changes', async () => {
      await policy({ calls: 2, within: '1h' });
      expect(await decisions(pay(), pay(), pay())).toEqual(['allow', 'allow', 'deny']);
      await change({ calls: 3, within: '60m', per: 'key', beyond: 'deny' });
      expect(await decisions(pay(), pay())).toEqual(['allow', 'deny']);
      await change({ calls: 2, within: '2h' });
      expect(await decisions(pay(), pay(), pay())).toEqual(['allow', 'allow', 'deny']);
      await change({ calls: 3, within: '1h' });
      expect(await decisions(pay())).toEqual(['deny']);
      await resetLimit(deps, 'admin', { policyId, name: 'spent', subject: keyId });
      expect(await decisions(pay())).toEqual(['allow']);
    });

    test.skipIf(engine === 'postgres')('a rolling window opens late rather than early', async () => {
      await policy({ calls: 1, within: '12h' });
      now += HOUR / 2;
      expect(await decisions(pay())).toEqual(['allow']);
      now += 12 * HOUR;
      expect(await decisions(pay())).toEqual(['deny']);
      now += HOUR / 2 - 1;
      expect(await decisions(pay())).toEqual(['deny']);
      now += 1;
      expect(await decisions(pay(), pay())).toEqual(['allow', 'deny']);
    });

    test.skipIf(engine === 'postgres')(
      'a day ends at midnight of its zone, also in a night of 25 hours',
      async () => {
        await policy({ calls: 1, each: 'day', zone: 'Europe/Berlin' });
        // In the year after next, so that it lies ahead. Summer time ends on the last Sunday of October.
        const year = new Date(now).getUTCFullYear() + 2;
        const sunday = 31 - new Date(Date.UTC(year, 9, 31)).getUTCDay();
        now = Date.UTC(year, 9, sunday) - 2 * HOUR;
        expect(await decisions(pay(), pay())).toEqual(['allow', 'deny']);
        now += 25 * HOUR - 1;
        expect(await decisions(pay())).toEqual(['deny']);
        now += 1;
        expect(await decisions(pay(), pay())).toEqual(['allow', 'deny']);
      },
    );

    test('what a replica with a fast clock has counted still counts for a slow one', async () => {
      await policy({ calls: 1, each: 'hour' });
      now += 5 * HOUR;
      expect(await decisions(pay())).toEqual(['allow']);
      now -= 5 * HOUR;
      expect(await decisions(pay())).toEqual(['deny']);
    });

    test.skipIf(engine === 'sqlite')('a fast clock opens no window before the server’s does', async () => {
      await policy({ calls: 1, each: 'hour' });
      expect(await decisions(pay())).toEqual(['allow']);
      now += 24 * HOUR;
      expect(await decisions(pay())).toEqual(['deny']);
    });

    test('a replica whose clock is days ahead forgets nothing that others still count by', async () => {
      now = Date.now();
      await policy({ calls: 1, within: '1h' });
      expect(await decisions(pay())).toEqual(['allow']);
      const ahead = depsAt(store.db, () => now + 48 * HOUR);
      const forget = forgetCounts();
      expect([await forget(ahead), await counted()]).toEqual([false, 1]);
      expect(await decisions(pay())).toEqual(['deny']);
      // On PostgreSQL not even if its calls are in the record; on SQLite there is no other clock than the process's.
      if (engine === 'sqlite') return;
      await recordChange(store.db, ahead, 'admin', 'policy.update', policyId, {});
      expect([await forgetCounts()(ahead), await counted()]).toEqual([false, 1]);
      expect(await decisions(pay())).toEqual(['deny']);
    });

    test('groups that do not count leave such calls to others, and remember which', async () => {
      await policy({ calls: 1, within: '1h' }, { tool: 'look', action: 'allow' });
      const memory = newMemory();
      const work = new CheckWork(deps, memory, true);
      const look = pay({}, { call: { serverName: 'bank', toolName: 'look' } });
      expect(work.moves(pay())).toBe(false);
      const [moved, seen] = await decidedBy(store.db, work, [pay(), look]);
      expect([moved, (seen as Verdict).decision]).toEqual([MOVED, 'allow']);
      expect([work.moves(pay()), work.moves(look)]).toEqual([true, false]);
      expect(await counted()).toBe(0);
      const counting = new CheckWork(deps, memory);
      await decidedBy(store.db, counting, [pay()]);
      expect([await counted(), counting.moves(pay())]).toEqual([1, false]);
      await change({ calls: 1, within: '1h' });
      await replacePolicy(deps, 'admin', policyId, { rules: [{ tool: '*', action: 'allow' }] });
      await decidedBy(store.db, counting, [pay()]);
      expect(work.moves(pay())).toBe(false);
    });
  });
}
