// What a suggestion is made from: the calls of one key since a time, rules of earlier versions, what people answered,
// and what was not used for a longer time.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { recordedReason } from '../../../src/core/decision/recorded-reason.ts';
import type { Rule } from '../../../src/core/policy/policy.ts';
import { parsePolicy } from '../../../src/core/policy-file/policy-file.ts';
import { DAY, HOUR } from '../../../src/core/time/duration.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { rollUp } from '../../../src/guard/log/rollups.ts';
import { suggestPolicy } from '../../../src/guard/log/suggest.ts';
import { ruleDigest } from '../../../src/guard/rule-digest.ts';
import { insertApproval } from '../../../src/store/approvals.ts';
import { insertLink } from '../../../src/store/connected-tools.ts';
import { insertKey } from '../../../src/store/keys.ts';
import { insertAudit } from '../../../src/store/log/audit.ts';
import type { AuditEntry } from '../../../src/store/log/audit-entry.ts';
import { insertPolicy, insertPolicyVersion, updatePolicy } from '../../../src/store/policies.ts';
import { pinDefinition } from '../../../src/store/tool-definitions.ts';
import { insertToolServer } from '../../../src/store/tool-servers.ts';
import {
  approvalRecord,
  auditEntry,
  connectedTool,
  idAt,
  keyRecord,
  NOW,
  openStore,
  type TestStore,
} from '../../store/stores.ts';
import { refusal } from '../../support/refusal.ts';
import { engines } from '../../support/service.ts';
import { depsAt } from '../deps.ts';

const FIRST: Rule[] = [
  { tool: 'old__*', action: 'allow' },
  { tool: 'github__*', action: 'allow' },
];
const SECOND: Rule[] = [
  { tool: 'pay__*', action: 'require_approval', show: 'all' },
  { tool: 'github__*', action: 'allow' },
  { tool: 'slack__*', action: 'allow' },
];

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let deps: Deps;
    let serial = 0;

    beforeEach(async () => {
      store = await openStore(engine);
      deps = depsAt(store.db, () => NOW);
      const about = { id: 'policy-1', name: 'prod', description: '', createdAt: NOW, updatedAt: NOW };
      await insertPolicy(store.db, { ...about, version: 1 });
      for (const [at, rules] of [FIRST, SECOND].entries()) {
        const version = { version: at + 1, name: 'prod', rules, limits: {}, results: [], text: null };
        await insertPolicyVersion(store.db, 'policy-1', { ...version, createdAt: NOW, createdBy: 'admin' });
      }
      await updatePolicy(store.db, { ...about, version: 2 });
      await insertKey(store.db, keyRecord({ id: 'key-1', name: 'ci' }), 'hash-1');
    });
    afterEach(() => store.close());

    const call = (at: number, more: Partial<AuditEntry>) => {
      const entry = auditEntry({ id: idAt(at, serial++), at, policyVersion: 2, ruleIndex: 1, ...more });
      const allows = recordedReason({ code: 'allows', policy: 'prod', rule: entry.ruleIndex ?? 0 });
      return { ...entry, reason: more.reason ?? allows };
    };
    const write = async (...entries: AuditEntry[]) => {
      await store.db.transaction({}, tx => insertAudit(tx, entries));
      while (await rollUp(deps));
    };
    const since = async (ms: number) => suggestPolicy(deps, 'key-1', NOW - ms);
    const rules = (text: string) => parsePolicy(text).policy?.rules.map(rule => [rule.tool, rule.action]);

    test('only calls of this key since the time that is asked for, whichever version decided', async () => {
      await write(
        call(NOW - 40 * DAY, { toolName: 'long_ago' }),
        call(NOW - 2 * DAY, { toolName: 'list' }),
        call(NOW - 2 * DAY, { toolName: 'list', policyVersion: 1 }),
        call(NOW - 2 * DAY, { serverName: 'old', toolName: 'gone', policyVersion: 1, ruleIndex: 0 }),
        call(NOW - HOUR, { toolName: 'other_key', keyId: 'key-2' }),
        call(NOW - 1000, { toolName: 'just_now' }),
      );
      const text = await since(30 * DAY);
      expect(rules(text)).toEqual([
        ['github__just_now', 'allow'],
        ['github__list', 'allow'],
      ]);
      expect(text).toContain('  # 2 calls: 2 allowed.\n  - { tool: "github__list"');
      expect(text).toContain('#   "old__gone" (1 call)');
      expect(rules(await since(50 * DAY))).toContainEqual(['github__long_ago', 'allow']);
    });

    test('calls that an earlier version recorded are kept apart from what they do not tell', async () => {
      const reason = 'Rule 0 of policy "prod" requires approval for pay__refund.';
      const asked = { serverName: 'pay', toolName: 'refund', decision: 'pending', ruleIndex: 0 } as const;
      await write(call(NOW - HOUR, { ...asked, reason }), call(NOW - HOUR, { toolName: 'list' }));
      const text = await since(30 * DAY);
      expect(text).toContain(
        '# 1 call of an earlier version of Toolgate can be read in part only, so some rules may not be needed.\n',
      );
      expect(rules(text)).toContainEqual(['pay__refund', 'require_approval']);
    });

    test('rules and tools that are unused for as long as calls are counted, at most 90 days', async () => {
      await store.db.transaction({}, async tx => {
        const shared = { sourceId: 'server-1', toolServerId: 'server-1', keyId: null };
        await insertToolServer(tx, { ...connectedTool({ id: 'server-1', name: 'shared' }), ...shared });
        const { keyId } = connectedTool({});
        const link = { id: 'tool-1', keyId, name: 'github', toolServerId: 'server-1', createdAt: NOW };
        await insertLink(tx, link);
        for (const toolName of ['list', 'create'])
          pinDefinition(tx, {
            sourceId: 'server-1',
            toolName,
            digest: 'd',
            definition: '{}',
            seenAt: NOW,
          });
      });
      await write(call(NOW - 40 * DAY, { toolName: 'list' }));
      const short = await since(30 * DAY);
      expect(short).toContain(
        `# Rules of the policy "prod" that decided no call of this key in 40 days, which is as far back as its calls are counted:
#   rule 0: { tool: "pay__*", action: require_approval, show: all }
#   rule 2: { tool: "slack__*", action: allow }
`,
      );
      expect(short).toContain('counted:\n#   "github__create"\n');
      await write(call(NOW - 1000, { toolName: 'create' }));
      expect(await since(30 * DAY)).not.toContain('Tools of its servers');
    });

    test('says 90 days only if calls are counted as far back', async () => {
      await write(call(NOW - 100 * DAY, { serverName: 'slack', toolName: 'post', ruleIndex: 2 }));
      expect(await since(30 * DAY)).toContain(
        'decided no call of this key in 90 days:\n#   rule 0: { tool: "pay__*", action: require_approval, show: all }\n#   rule 1',
      );
      expect(await since(120 * DAY)).not.toContain('#   rule 2');
    });

    test('what people always approved', async () => {
      const reason = recordedReason({ answer: { is: 'waits' }, code: 'asks', policy: 'prod', rule: 0 });
      const asked = {
        serverName: 'pay',
        toolName: 'refund',
        decision: 'pending',
        ruleIndex: 0,
        reason,
      } as const;
      const times = Array.from({ length: 6 }, (_, at) => NOW - (at + 1) * HOUR);
      await write(...times.map(at => call(at, asked)));
      const approve = (at: number, more: object) =>
        store.db.transaction({}, async tx => {
          const id = idAt(at, serial++);
          const about = { id, keyId: 'key-1', serverName: 'pay', toolName: 'refund', createdAt: at };
          insertApproval(tx, approvalRecord({ ...about, ...more }), `token ${id}`);
        });
      // Somebody else asked: a limit that was used up, or a rule that is gone.
      for (const at of times) await approve(at, { status: 'approved', ruleDigest: 'of another rule' });
      expect(await since(30 * DAY)).not.toContain('always approved');
      const ruled = { ruleDigest: ruleDigest({ tool: 'pay__*', action: 'require_approval', show: 'all' }) };
      for (const at of times) await approve(at, { status: 'approved', ...ruled });
      await approve(NOW - 60 * DAY, { status: 'denied', ...ruled });
      const remark = '# Asked 6 times, always approved. To ask no more, change the rule that asks to:';
      expect(await since(30 * DAY)).toContain(remark);
      await approve(NOW - HOUR / 2, { status: 'timed_out', ...ruled });
      expect(await since(30 * DAY)).not.toContain('always approved');
    });

    test('is refused if the policy cannot be read, and for a key that there is not', async () => {
      await store.db.run("UPDATE policy_versions SET rules = '{' WHERE version = 2", []);
      expect(await refusal(since(DAY))).toMatchObject({ code: 'conflict' });
      expect(await refusal(suggestPolicy(deps, 'key-2', NOW))).toMatchObject({ code: 'not_found' });
    });

    test('says of how many calls nothing else is known', async () => {
      await write(...Array.from({ length: 2500 }, (_, at) => call(NOW - HOUR, { toolName: `t${at}` })));
      const text = await since(DAY);
      const kept = rules(text)?.length ?? 0;
      expect(kept).toBeGreaterThan(500);
      const further = (2500 - kept).toLocaleString('en-US');
      expect(text).toContain(
        `# ${further} further calls cannot be told apart any more, so rules for them may be missing.`,
      );
    });
  });
}
