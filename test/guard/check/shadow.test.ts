// What a shadow says is recorded beside each verdict, from the same facts and arguments; p28-shadow.test.ts shows that it
// changes nothing. Calls are decided inside one transaction on either engine.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Limits, Rule } from '../../../src/core/policy/policy.ts';
import { resolveByOperator } from '../../../src/guard/approvals/approvals.ts';
import { createPolicy, replacePolicy } from '../../../src/guard/check/policies.ts';
import type { CheckRequest, Verdict } from '../../../src/guard/check/request.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { changeKey, createKey } from '../../../src/guard/keys.ts';
import { connectTool } from '../../../src/guard/tool-servers/connected-tools.ts';
import { compareDefinitions } from '../../../src/guard/tool-servers/definitions.ts';
import { findAudit } from '../../../src/store/log/audit.ts';
import type { Shadow } from '../../../src/store/log/audit-entry.ts';
import { openStore, type TestStore } from '../../store/stores.ts';
import { engines } from '../../support/service.ts';
import { depsAt } from '../deps.ts';
import { decidedBy } from '../group.ts';
import { untimed } from './untimed.ts';

const HOUR = 3_600_000;
const ALLOW_ALL: Rule[] = [{ tool: '*', action: 'allow' }];
const ASK_ALL: Rule[] = [{ tool: '*', action: 'require_approval' }];

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let now: number;
    let deps: Deps;
    let policyId: string;
    let shadowId: string;
    let keyId: string;
    beforeEach(async () => {
      store = await openStore(engine);
      now = Math.ceil(Date.now() / HOUR) * HOUR;
      deps = depsAt(store.db, () => now);
    });
    afterEach(() => store.close());

    const newPolicy = async (name: string, rules: readonly Rule[], limits: Limits = {}) =>
      (await createPolicy(deps, 'admin', { name, description: '', rules, limits })).id;

    async function newKey(more: object): Promise<string> {
      const input = { name: 'k', policyId, requireSignInToApprove: false, expiresAt: null, notify: null };
      return (await createKey(deps, 'admin', { ...input, forward: [], ...more })).key.id;
    }

    async function setUp(
      rules: readonly Rule[],
      shadow: readonly Rule[],
      limits: Limits = {},
    ): Promise<void> {
      policyId = await newPolicy('real', rules);
      shadowId = await newPolicy('shadow', shadow, limits);
      keyId = await newKey({ shadowPolicyId: shadowId });
    }

    const request = (toolName: string, more: Partial<CheckRequest> = {}): CheckRequest => ({
      principal: { kind: 'key', keyId, sessionId: null, scope: null },
      surface: 'check',
      call: { serverName: 'prod', toolName },
      args: {},
      referenceId: null,
      startedAt: performance.now(),
      ...more,
    });

    /** The verdicts of one group, and what was recorded of the shadow beside each. */
    async function judged(...requests: CheckRequest[]) {
      const work = untimed(deps);
      const verdicts = (await decidedBy(store.db, work, requests)) as Verdict[];
      const shadows: (Shadow | null | undefined)[] = [];
      for (const { toolCallId } of verdicts) shadows.push((await findAudit(store.db, toolCallId))?.shadow);
      return { verdicts, shadows };
    }

    /** `real shadow`, for each. */
    async function decisions(...requests: CheckRequest[]): Promise<string[]> {
      const { verdicts, shadows } = await judged(...requests);
      return verdicts.map(({ decision }, at) => `${decision} ${shadows[at]?.decision ?? 'none'}`);
    }

    test('each call is judged by both policies, arguments included', async () => {
      await setUp(ALLOW_ALL, [
        { tool: 'pay', action: 'allow', when: 'args.amount < 10' },
        { tool: 'pay', action: 'require_approval' },
        { tool: 'look', action: 'allow' },
      ]);
      const calls = [
        request('look'),
        request('pay', { args: { amount: 5 } }),
        request('pay'),
        request('drop'),
      ];
      const { verdicts, shadows } = await judged(...calls);
      expect(verdicts.map(each => each.decision)).toEqual(['allow', 'allow', 'allow', 'allow']);
      const by = { policyId: shadowId, policyVersion: 1 };
      expect(shadows).toEqual([
        { ...by, decision: 'allow', ruleIndex: 2 },
        { ...by, decision: 'allow', ruleIndex: 0 },
        { ...by, decision: 'pending', ruleIndex: 1 },
        { ...by, decision: 'deny', ruleIndex: null },
      ]);
      expect(JSON.stringify(verdicts)).not.toContain('shadow');
    });

    test('a new version, another shadow and none count for the next call', async () => {
      await setUp(ALLOW_ALL, ALLOW_ALL);
      expect(await decisions(request('x'))).toEqual(['allow allow']);
      await replacePolicy(deps, 'admin', shadowId, { rules: ASK_ALL });
      expect((await judged(request('x'))).shadows).toMatchObject([{ policyVersion: 2, decision: 'pending' }]);
      await changeKey(deps, 'admin', keyId, { shadowPolicyId: await newPolicy('other', []) });
      expect(await decisions(request('x'))).toEqual(['allow deny']);
      await changeKey(deps, 'admin', keyId, { shadowPolicyId: null });
      expect(await decisions(request('x'))).toEqual(['allow none']);
    });

    test('keys of one group have shadows of their own', async () => {
      await setUp(ALLOW_ALL, []);
      const [bare, turned] = [
        await newKey({}),
        await newKey({ policyId: shadowId, shadowPolicyId: policyId }),
      ];
      const of = (key: string) => request('x', { principal: { ...request('x').principal, keyId: key } });
      expect(await decisions(request('x'), of(bare), of(turned))).toEqual([
        'allow deny',
        'allow none',
        'deny allow',
      ]);
    });

    test('a limit is judged by what the policy has really counted, and not counted', async () => {
      const rules: Rule[] = [{ tool: '*', action: 'allow', limit: 'few' }];
      await setUp(ALLOW_ALL, rules, { few: { calls: 2, within: '1h', per: 'policy' } });
      const calls = [request('x'), request('x'), request('x')];
      expect(await decisions(...calls)).toEqual(['allow allow', 'allow allow', 'allow allow']);
      expect(await store.db.all('SELECT * FROM limit_counts')).toEqual([]);
      const real = await newKey({ policyId: shadowId });
      const counted = request('x', { principal: { ...request('x').principal, keyId: real } });
      expect(await decisions(counted, counted)).toEqual(['allow none', 'allow none']);
      expect(await decisions(request('x'))).toEqual(['allow deny']);
      now += 2 * HOUR;
      expect(await decisions(request('x'))).toEqual(['allow allow']);
    });

    test('an approval and a grant of the same rule count for the shadow too, and only the real one uses them', async () => {
      await setUp(ASK_ALL, ASK_ALL);
      const { verdicts } = await judged(request('x'));
      const referenceId = verdicts[0]?.referenceId ?? '';
      await resolveByOperator(deps, 'admin', referenceId, { action: 'approve', grantMs: null });
      expect(await decisions(request('x', { referenceId }))).toEqual(['allow allow']);
      expect(await decisions(request('x', { referenceId }))).toEqual(['pending pending']);
      const again = (await judged(request('y'))).verdicts[0]?.referenceId ?? '';
      await resolveByOperator(deps, 'admin', again, { action: 'approve', grantMs: HOUR });
      expect(await decisions(request('y'), request('y'))).toEqual(['allow allow', 'allow allow']);
      expect(await store.db.all('SELECT used FROM grants')).toEqual([{ used: 2 }]);
      // A rule with other people to ask is not satisfied by it.
      const approvers = { group: 'dev', count: 2 };
      await replacePolicy(deps, 'admin', shadowId, {
        rules: [{ tool: '*', action: 'require_approval', approvers }],
      });
      expect(await decisions(request('y'))).toEqual(['allow pending']);
    });

    test('a shadow that asks where the policy does not says pending, and opens nothing', async () => {
      await setUp(ALLOW_ALL, ASK_ALL);
      expect(await decisions(request('x'), request('x'))).toEqual(['allow pending', 'allow pending']);
      for (const table of ['approvals', 'events', 'notifications'])
        expect(await store.db.all(`SELECT * FROM ${table}`)).toEqual([]);
    });

    test('drift, scope and annotations are the same for both', async () => {
      deps = { ...deps, settings: { ...deps.settings, toolDrift: 'deny' } };
      await setUp(ALLOW_ALL, [
        { tool: '*', action: 'allow', when: 'tool.annotations.readOnlyHint == true' },
        { tool: '*', action: 'require_approval' },
      ]);
      const input = { name: 'prod', transport: 'stdio', target: 'x', headers: null } as const;
      const tool = await connectTool(deps, 'admin', { allowPrivate: true }, keyId, input);
      const show = (readOnlyHint: boolean) =>
        compareDefinitions(deps, tool, [{ toolName: 'read', definition: { annotations: { readOnlyHint } } }]);
      await show(true);
      const call = request('read', { connectedTool: tool, surface: 'mcp' });
      expect(await decisions(call, request('read'))).toEqual(['allow allow', 'allow pending']);
      const outside = { ...call, principal: { ...call.principal, scope: new Set(['prod__other']) } };
      expect(await decisions(outside)).toEqual(['deny deny']);
      await show(false);
      expect((await judged(call)).shadows).toMatchObject([{ decision: 'deny', ruleIndex: 0 }]);
    });

    const FETCHED: Rule[] = [{ tool: 'fetch', action: 'allow', marks: 'untrusted' }];
    const sends = (when: string): Rule => ({ tool: 'send', action: 'allow', when });

    test.each([
      ['of the policy', [...FETCHED, ...ALLOW_ALL]],
      ['of the shadow alone', ALLOW_ALL],
    ])('marks %s are seen by the shadow in the same group', async (_, rules) => {
      await setUp(rules, [...FETCHED, sends('!("untrusted" in marks)')]);
      const named = (run: string, tool: string) => request(tool, { run });
      const calls = [named('one', 'send'), named('one', 'fetch'), named('one', 'send'), named('two', 'send')];
      expect(await decisions(...calls)).toEqual(['allow allow', 'allow allow', 'allow deny', 'allow allow']);
      expect(await decisions(named('one', 'send'))).toEqual(['allow deny']);
    });

    test('where marks of the same group lead the shadow to what was not read, it judges nothing', async () => {
      const shadow: Rule[] = [
        ...FETCHED,
        sends('!("untrusted" in marks)'),
        { tool: 'send', action: 'allow', when: 'args.counts', limit: 'few' },
        sends('known(args.to)'),
      ];
      await setUp(ALLOW_ALL, shadow, { few: { calls: 5, within: '1h' } });
      const sent = (counts: boolean) => request('send', { args: { counts, to: 'ann' } });
      const calls = [request('fetch'), sent(false), sent(true)];
      expect(await decisions(...calls)).toEqual(['allow allow', 'allow none', 'allow none']);
      expect(await decisions(sent(false), sent(true))).toEqual(['allow deny', 'allow allow']);
    });

    test('shadows that take long are given up for the rest of the group, and put no call off', async () => {
      const when = 'args.list.all(x, args.list.all(y, x == y))';
      await setUp(ALLOW_ALL, [{ tool: '*', action: 'allow', when }]);
      const bare = await newKey({});
      const busy = Array.from({ length: 20 }, () => request('x', { args: { list: new Array(60).fill(1) } }));
      const other = request('x', { principal: { ...request('x').principal, keyId: bare } });
      const found = await decisions(...busy, other);
      expect(found.every(each => each.startsWith('allow'))).toBe(true);
      const left = found.filter(each => each === 'allow none').length;
      expect(found[0]).toBe('allow allow');
      expect(left).toBeGreaterThan(5);
      expect(left).toBeLessThan(found.length);
    });

    test('a shadow that cannot be read judges nothing, and the verdict is as without it', async () => {
      await setUp(ALLOW_ALL, ASK_ALL);
      await store.db.run('UPDATE policy_versions SET rules = $2 WHERE policy_id = $1', [shadowId, '{']);
      expect(await decisions(request('x'))).toEqual(['allow none']);
    });
  });
}
