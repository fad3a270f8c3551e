// Counted calls equal a plain scan of the log: at every state of the counts, after late entries, while an older
// store's past is caught up, and after retention removed the entries. Examples are the newest entries of their group.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { DAY, HOUR, MINUTE } from '../../../src/core/time/duration.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { timeOfId } from '../../../src/guard/ids.ts';
import {
  type CallFilter,
  type CountedCall,
  countedCalls,
  newestCalls,
} from '../../../src/guard/log/counted-calls.ts';
import { retire } from '../../../src/guard/log/retention.ts';
import { countAgain, RECHECK_AGES, rollUp } from '../../../src/guard/log/rollups.ts';
import { insertAudit } from '../../../src/store/log/audit.ts';
import type { AuditEntry } from '../../../src/store/log/audit-entry.ts';
import { idAt, NOW, openStore, type TestStore } from '../../store/stores.ts';
import { random, SEED } from '../../support/faults.ts';
import { engines } from '../../support/service.ts';
import { enginesWhenChanged } from '../../support/when-changed.ts';
import { depsAt } from '../deps.ts';
import { entryAt } from './scanned.ts';

type Logged = Omit<CountedCall, 'count' | 'until'> & { id: string };

/** Where all tests run. Those in which the engine has a part of its own come first, and run on both. */
const whole = await enginesWhenChanged('src/store/**', 'src/guard/log/**');
for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let clock: number;
    let deps: Deps;
    let next: () => number;
    beforeEach(async () => {
      store = await openStore(engine);
      clock = NOW;
      deps = depsAt(store.db, () => clock);
      next = random(SEED);
    });
    afterEach(() => store.close());

    const pick = <T>(...some: T[]): T => some[Math.floor(next() * some.length)] as T;
    const made = (at: number): AuditEntry => ({
      ...entryAt(at, next),
      reason: pick('One reason.', 'Another reason.'),
      policyId: pick('policy-1', 'policy-2'),
      policyVersion: pick(1, 2),
      ruleIndex: pick(null, 0, 1),
      personId: pick(null, 'person-1'),
      shadow: pick(null, {
        policyId: 'policy-3',
        policyVersion: 1,
        decision: 'deny',
        ruleIndex: pick(null, 0),
      }),
    });
    const write = (...times: number[]) => store.db.transaction({}, tx => insertAudit(tx, times.map(made)));
    const rollOn = async () => {
      while (await rollUp(deps));
    };
    async function log(): Promise<Logged[]> {
      const rows = await store.db.all<Omit<Logged, 'shadow'> & { by: string | null; rule: number | null }>(
        `SELECT e.id, e.context, e.decision, c.key_id AS "keyId", c.server_name AS "serverName",
           c.tool_name AS "toolName", c.reason, c.policy_id AS "policyId", c.policy_version AS "policyVersion",
           c.rule_index AS "ruleIndex", c.person_id AS "personId", c.shadow_policy_id AS "by", c.shadow_rule_index AS "rule"
         FROM audit_entries e JOIN audit_contexts c ON c.id = e.context ORDER BY e.id DESC`,
      );
      return rows.map(({ by, rule, ...row }) => ({
        ...row,
        shadow: by === null ? null : { policyId: by, policyVersion: 1, decision: 'deny', ruleIndex: rule },
      }));
    }
    const named = (calls: readonly (Omit<Logged, 'id'> & { count: number })[]) =>
      Object.fromEntries(
        calls.map(({ count, ...call }) => {
          const { context, keyId, serverName, toolName, reason, policyId, policyVersion } = call;
          const { ruleIndex, personId, decision, shadow } = call;
          const all = [context, keyId, serverName, toolName, reason, policyId, policyVersion, ruleIndex];
          return [JSON.stringify([...all, personId, decision, shadow]), count];
        }),
      );

    async function expectEqualToScan(filter: CallFilter, from: number, to: number, entries?: Logged[]) {
      const found = await countedCalls(deps, filter, from, to);
      const inside = (entries ?? (await log())).filter(
        entry =>
          timeOfId(entry.id) >= found.from &&
          timeOfId(entry.id) < found.to &&
          (filter.policyId ?? entry.policyId) === entry.policyId &&
          (filter.keyId ?? entry.keyId) === entry.keyId,
      );
      const groups = Map.groupBy(inside, entry => `${entry.context} ${entry.decision}`);
      const scanned = [...groups.values()].map(all => ({ ...(all[0] as Logged), count: all.length }));
      expect(named(found.calls)).toEqual(named(scanned));
      expect(found.others).toBe(0);
      return found;
    }

    test(`at every state of the counts, by policy and by key (seed ${SEED})`, async () => {
      for (let round = 0; round < 8; round++) {
        const spread = [MINUTE, HOUR, DAY, 20 * DAY][round % 4] as number;
        const edges = [MINUTE, HOUR, DAY].map(span => Math.ceil(clock / span) * span);
        await write(
          ...Array.from({ length: 60 }, () => clock + Math.floor(next() * spread)),
          ...edges.flatMap(edge => [edge - 1, edge, edge + 1].filter(at => at >= clock)),
        );
        clock += Math.floor(spread * next()) + 1;
        for (let step = Math.floor(next() * 6); step > 0; step--) await rollUp(deps);
        const from = NOW + Math.floor(next() * (clock - NOW));
        for (const filter of [{}, { policyId: 'policy-1' }, { keyId: 'key-2' }]) {
          await expectEqualToScan(filter, from, from + Math.floor(next() * (clock - from)));
          await expectEqualToScan(filter, 0, clock + 1);
        }
        await rollOn();
        const found = await expectEqualToScan({ policyId: 'policy-2' }, from, clock + 1);
        // What was asked for is counted, and at most a day more on either side.
        expect(found.from).toBeLessThanOrEqual(Math.max(from, NOW));
        expect(found.from).toBeGreaterThan(from - DAY);
        expect(found.to - clock).toBeGreaterThan(0);
        expect(found.to - clock).toBeLessThanOrEqual(MINUTE);
      }
    });

    test('what another replica counts while hours are summed up is not lost', async () => {
      await write(NOW, NOW + MINUTE);
      clock += 2 * HOUR;
      await rollOn();
      await write(NOW + MINUTE + 1);
      clock = NOW + Math.max(...RECHECK_AGES) + HOUR;
      // The first moves the mark, the second writes a minute and sums up its hour.
      let transactions = 0;
      const slow: Deps = {
        ...deps,
        db: {
          all: (...params: Parameters<TestStore['db']['all']>) => store.db.all(...params),
          run: (...params: Parameters<TestStore['db']['run']>) => store.db.run(...params),
          async transaction(...params: Parameters<TestStore['db']['transaction']>) {
            if (++transactions === 2) {
              await write(NOW + 1);
              await rollOn();
            }
            return store.db.transaction(...params);
          },
        } as unknown as Deps['db'],
      };
      while (await rollUp(slow));
      clock += 10 * DAY;
      await rollOn();
      expect(transactions).toBe(2);
      const found = await expectEqualToScan({}, 0, clock);
      expect(found.calls.reduce((sum, each) => sum + each.count, 0)).toBe(4);
    });

    if (!whole.includes(engine)) return;

    test('nothing logged, nothing counted', async () => {
      const found = await countedCalls(deps, {}, 0, clock + MINUTE);
      expect(found).toEqual({ from: NOW + MINUTE, to: NOW + MINUTE, calls: [], others: 0, unnamed: [] });
    });

    test('of too many different calls only the newest days are counted, and the answer says so', async () => {
      for (let day = 0; day < 6; day++)
        await store.db.transaction({}, tx =>
          insertAudit(
            tx,
            Array.from({ length: 10 }, (_, n) => {
              const at = NOW + day * DAY + n;
              return {
                ...made(at),
                id: idAt(at, n),
                toolName: `tool-${day}-${n}`,
                policyId: `policy-${n % 2}`,
              };
            }),
          ),
        );
      clock = NOW + 6 * DAY;
      await rollOn();
      const whole = await countedCalls(deps, {}, 0, clock);
      expect([whole.from, whole.calls.length]).toEqual([NOW, 60]);
      const newest = await countedCalls(deps, {}, 0, clock, 19);
      expect([newest.from, newest.calls.length]).toEqual([NOW + 4 * DAY, 20]);
      // Calls of other policies count for less.
      const ofOne = await countedCalls(deps, { policyId: 'policy-1' }, 0, clock, 16);
      expect([ofOne.from, ofOne.calls.length]).toEqual([NOW + 3 * DAY, 15]);
      const fewer = await countedCalls(deps, { policyId: 'policy-1' }, 0, clock, 15);
      expect([fewer.from, fewer.to]).toEqual([NOW + 3 * DAY, newest.to]);
    });

    test('what becomes visible late, or is written into the past, is counted by context too', async () => {
      await write(clock);
      clock += 2 * MINUTE;
      await rollOn();
      await write(NOW + 1, NOW + 2);
      clock += Math.max(...RECHECK_AGES);
      await rollOn();
      expect((await expectEqualToScan({}, 0, clock)).calls.reduce((sum, each) => sum + each.count, 0)).toBe(
        3,
      );
      clock += 10 * DAY;
      await rollOn();
      await write(NOW + 3, NOW + HOUR);
      await countAgain(deps, NOW);
      await rollOn();
      expect((await expectEqualToScan({}, 0, clock)).calls.reduce((sum, each) => sum + each.count, 0)).toBe(
        5,
      );
    });

    test('counts outlive the entries that retention removes', async () => {
      await write(...Array.from({ length: 50 }, () => NOW + Math.floor(next() * 3 * DAY)));
      clock = NOW + 3 * DAY + HOUR;
      await rollOn();
      const entries = await log();
      const chore = retire({ retention: DAY, sealedBy: null, removed: () => {} });
      while (await chore(deps));
      expect((await log()).length).toBeLessThan(entries.length);
      await expectEqualToScan({}, 0, clock, entries);
    });

    test(`examples are the newest entries of their group (seed ${SEED})`, async () => {
      await write(...Array.from({ length: 2000 }, () => NOW + Math.floor(next() * 4 * HOUR)));
      clock = NOW + 3 * HOUR;
      await rollOn();
      clock = NOW + 4 * HOUR;
      const [from, to] = [NOW + HOUR, NOW + 4 * HOUR];
      const { calls } = await countedCalls(deps, { policyId: 'policy-1' }, from, to);
      const some = calls.filter(() => next() < 0.5);
      const groups = [
        ...Map.groupBy(some, c => `${c.keyId} ${c.serverName} ${c.toolName} ${c.decision}`).values(),
      ];
      const entries = (await log()).filter(each => timeOfId(each.id) >= from && timeOfId(each.id) < to);
      const expected = groups.map(group =>
        entries
          .filter(each => group.some(c => c.context === each.context && c.decision === each.decision))
          .slice(0, 5)
          .map(each => each.id),
      );
      expect(groups.length).toBeGreaterThan(50);
      expect(await newestCalls(deps, groups, from, to, 5)).toEqual(expected);
      expect(await newestCalls(deps, [[]], from, to, 5)).toEqual([[]]);
    });

    test('an old example is found although thousands of newer calls have its key and tool', async () => {
      const old = { ...made(NOW), reason: 'One reason.' };
      for (let hour = 0; hour < 10; hour++) {
        const newer = Array.from({ length: 600 }, (_, n) => {
          const at = NOW + (hour + 1) * HOUR + n;
          return { ...old, at, id: idAt(at, n), reason: 'Another reason.' };
        });
        await store.db.transaction({}, tx => insertAudit(tx, hour === 0 ? [old, ...newer] : newer));
      }
      clock = NOW + DAY;
      await rollOn();
      const { calls } = await countedCalls(deps, {}, 0, clock);
      const group = calls.filter(call => call.reason === old.reason);
      expect(await newestCalls(deps, [group], 0, clock, 5)).toEqual([[old.id]]);
    });
  });
}
