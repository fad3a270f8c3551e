// The report of a shadow equals a plain scan of the log: calls of the key that the current version of this shadow judged,
// in the period that was counted, whatever other shadows and keys there are.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { DECISIONS } from '../../../src/core/decision/decide.ts';
import { recordedReason } from '../../../src/core/decision/recorded-reason.ts';
import type { Rule } from '../../../src/core/policy/policy.ts';
import { DAY, HOUR } from '../../../src/core/time/duration.ts';
import { createPolicy, replacePolicy } from '../../../src/guard/check/policies.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { createKey } from '../../../src/guard/keys.ts';
import { rollUp } from '../../../src/guard/log/rollups.ts';
import { shadowReport } from '../../../src/guard/log/shadow-report.ts';
import { insertAudit } from '../../../src/store/log/audit.ts';
import type { AuditEntry } from '../../../src/store/log/audit-entry.ts';
import { NOW, openStore, type TestStore } from '../../store/stores.ts';
import { random, SEED } from '../../support/faults.ts';
import { engines } from '../../support/service.ts';
import { depsAt } from '../deps.ts';
import { entryAt } from './scanned.ts';

const ENTRIES = 300;

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let deps: Deps;
    let keyId: string;
    let shadowId: string;
    let realId: string;
    const next = random(SEED);
    const pick = <T>(...some: readonly T[]): T => some[Math.floor(next() * some.length)] as T;

    beforeEach(async () => {
      store = await openStore(engine);
      deps = depsAt(store.db, () => NOW);
      const made = async (name: string) =>
        (await createPolicy(deps, 'admin', { name, description: '', rules: [] })).id;
      shadowId = await made('shadow');
      realId = await made('real');
      const key = { name: 'k', policyId: realId, shadowPolicyId: shadowId, expiresAt: null };
      const input = { ...key, requireSignInToApprove: false, notify: null, forward: [] };
      keyId = (await createKey(deps, 'admin', input)).key.id;
    });
    afterEach(() => store.close());

    function made(at: number): AuditEntry {
      const policyId = pick(shadowId, shadowId, 'another');
      const shadow = {
        policyId,
        policyVersion: pick(1, 2),
        decision: pick(...DECISIONS),
        ruleIndex: pick(null, 0),
      };
      return { ...entryAt(at, next), keyId: pick(keyId, keyId, 'other'), shadow: pick(null, shadow, shadow) };
    }

    test('a flood of made-up names hides no difference: what is not listed is counted', async () => {
      const at = NOW - HOUR;
      const entries = Array.from({ length: 2100 }, (_, n): AuditEntry => {
        // The rarest contexts are added up, and these are among them.
        const shadow = { policyId: shadowId, policyVersion: n < 2090 ? 1 : 2, ruleIndex: null };
        const decision = n % 3 === 0 ? 'deny' : 'allow';
        return {
          ...entryAt(at, next),
          keyId,
          toolName: `t-${n}`,
          decision: 'allow',
          shadow: { ...shadow, decision },
        };
      });
      await store.db.transaction({}, tx => insertAudit(tx, entries));
      while (await rollUp(deps));
      const report = await shadowReport(deps, keyId, 0, NOW);
      expect([report.calls, report.agreements]).toEqual([2090, 1393]);
      const listed = report.differences.reduce((sum, each) => sum + each.calls, 0);
      expect(listed).toBeLessThan(700);
      expect(report.differences.every(each => each.to === 'deny')).toBe(true);
    });

    test('what people freed and the shadow allows without asking is a difference', async () => {
      const rules: Rule[] = [
        { tool: 'pay', action: 'allow' },
        { tool: 'send', action: 'require_approval' },
      ];
      const { version } = await replacePolicy(deps, 'admin', shadowId, { rules });
      const answer = { by: 'approval', is: 'freed', referenceId: '7' } as const;
      const code = recordedReason({ answer, code: 'asks', policy: 'real', rule: 0 });
      const earlier = 'Rule 0 of policy "real" requires approval for s__pay; freed by approval 7.';
      const freed = (toolName: string, ruleIndex: number, reason = code): AuditEntry => ({
        ...entryAt(NOW - HOUR, next),
        keyId,
        policyId: realId,
        policyVersion: 2,
        ruleIndex: 0,
        serverName: 's',
        toolName,
        decision: 'allow',
        reason,
        shadow: { policyId: shadowId, policyVersion: version, decision: 'allow', ruleIndex },
      });
      await replacePolicy(deps, 'admin', realId, { rules: [{ tool: '*', action: 'require_approval' }] });
      await store.db.transaction({}, tx =>
        insertAudit(tx, [freed('pay', 0), freed('pay', 0, earlier), freed('send', 1)]),
      );
      const { agreements, differences } = await shadowReport(deps, keyId, 0, NOW);
      expect([agreements, differences]).toMatchObject([
        1,
        [{ toolName: 'pay', from: 'pending', to: 'allow', calls: 2 }],
      ]);
    });

    test('counts, differences and their newest examples', async () => {
      const entries = Array.from({ length: ENTRIES }, () => made(NOW - Math.floor(next() * 3 * DAY)));
      await store.db.transaction({}, tx => insertAudit(tx, entries));
      for (const counted of [false, true]) {
        if (counted) while (await rollUp(deps));
        for (const asked of [0, NOW - DAY, NOW - HOUR]) {
          const report = await shadowReport(deps, keyId, asked, NOW);
          const judged = entries.filter(
            each =>
              each.keyId === keyId &&
              each.shadow?.policyId === shadowId &&
              each.shadow.policyVersion === 1 &&
              each.at >= report.from &&
              each.at < report.to,
          );
          const differing = judged.filter(each => each.shadow?.decision !== each.decision);
          expect(report).toMatchObject({
            policyId: shadowId,
            policyVersion: 1,
            calls: judged.length,
            agreements: judged.length - differing.length,
          });
          const groups = Map.groupBy(differing, ({ serverName, toolName, decision, shadow }) =>
            [serverName, toolName, decision, shadow?.decision].join(),
          );
          const wanted = [...groups].map(([name, all]) => {
            const ids = all.map(each => each.id).sort();
            return [name, all.length, ids.toReversed().slice(0, 5)];
          });
          const found = report.differences.map(({ serverName, toolName, from, to, calls, examples }) => [
            [serverName, toolName, from, to].join(),
            calls,
            examples,
          ]);
          expect(found.toSorted()).toEqual(wanted.toSorted());
          const counts = report.differences.map(each => each.calls);
          expect(counts).toEqual(counts.toSorted((a, b) => b - a));
        }
      }
    });
  });
}
