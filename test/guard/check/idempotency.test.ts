// Calls with an idempotency key: which of them are the same one, what a repeat gets, and that it leaves nothing behind. Equal
// calls that come at once, also to two replicas, are one.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { GuardError } from '../../../src/core/errors.ts';
import { isObject } from '../../../src/core/wire/json.ts';
import { resolveByOperator } from '../../../src/guard/approvals/approvals.ts';
import { endKey } from '../../../src/guard/approvals/end-key.ts';
import { CheckWork } from '../../../src/guard/check/check.ts';
import { carryKey, forgetKeys, KNOWN_FOR_MS } from '../../../src/guard/check/idempotency.ts';
import { createPolicy, replacePolicy } from '../../../src/guard/check/policies.ts';
import { type CheckRequest, REPEATED, type Verdict } from '../../../src/guard/check/request.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { createKey } from '../../../src/guard/keys.ts';
import { endCall } from '../../../src/guard/tasks/end-call.ts';
import { openStore, type TestStore } from '../../store/stores.ts';
import { engines } from '../../support/service.ts';
import { depsAt } from '../deps.ts';
import { checksOf, decidedBy } from '../group.ts';

const DAY = 24 * 3_600_000;
const RULES = [
  { tool: 'ask', action: 'require_approval' as const },
  { tool: 'pay', action: 'allow' as const, limit: 'paid' },
  { tool: 'look', action: 'allow' as const },
];
const CONTENT = { rules: RULES, limits: { paid: { calls: 1, within: '1h' } } };

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let now: number;
    let deps: Deps;
    let policyId: string;
    let keyId: string;
    let checks: ReturnType<typeof checksOf>;
    beforeEach(async () => {
      store = await openStore(engine);
      now = Date.now() + DAY;
      deps = depsAt(store.db, () => now);
      policyId = (await createPolicy(deps, 'admin', { name: 'p', description: '', ...CONTENT })).id;
      keyId = await newKey('a');
      checks = checksOf(deps);
    });
    afterEach(() => store.close());

    async function newKey(name: string): Promise<string> {
      const input = { name, policyId, requireSignInToApprove: false, expiresAt: null, notify: null };
      return (await createKey(deps, 'admin', { ...input, forward: [] })).key.id;
    }

    function call(toolName: string, key: string | null, more: Partial<CheckRequest> = {}): CheckRequest {
      const request: CheckRequest = {
        principal: { kind: 'key', keyId, sessionId: null, scope: null },
        surface: 'check',
        call: { serverName: 's', toolName },
        args: { to: 'berlin' },
        referenceId: null,
        startedAt: performance.now(),
        ...more,
      };
      if (key !== null) carryKey(deps, request, key);
      return request;
    }

    const given = (...asked: Parameters<typeof call>): Promise<Verdict> => checks.submit(call(...asked));
    const code = async (...asked: Parameters<typeof call>): Promise<string> => {
      const [answer] = await checks.submitAll([call(...asked)]);
      return answer instanceof GuardError ? answer.code : (answer?.decision ?? '');
    };
    const count = async (from: string): Promise<number> =>
      (await store.db.all<{ count: number }>(`SELECT CAST(count(*) AS bigint) AS count FROM ${from}`))[0]
        ?.count ?? 0;
    const approve = (referenceId: string | undefined) =>
      resolveByOperator(deps, 'admin', referenceId ?? '', { action: 'approve', grantMs: null });

    test('the same call gets the same verdict, which is not counted, recorded or asked again', async () => {
      const first = await given('pay', 'k1');
      expect(first).toMatchObject({ decision: 'allow' });
      expect(first[REPEATED]).toBeUndefined();
      const again = await given('pay', 'k1');
      expect(again).toEqual({ ...first, [REPEATED]: true });
      const asked = await given('ask', 'k2');
      expect(await given('ask', 'k2')).toEqual({ ...asked, [REPEATED]: true });
      expect([await count('audit'), await count('approvals'), await count('limit_counts')]).toEqual([
        2, 1, 1,
      ]);
      // Without a key, or with another one, it is another call.
      expect(await given('pay', null)).toMatchObject({ decision: 'deny' });
      const denied = await given('pay', 'k3');
      expect(denied).toMatchObject({ decision: 'deny' });
      expect(await given('pay', 'k3')).toEqual({ ...denied, [REPEATED]: true });
      expect(await count('audit')).toBe(4);
    });

    test('nothing of the key or the call is stored', async () => {
      await given('ask', 'my-canary-key', { args: { secret: 'canary-argument' } });
      const rows = await store.db.all('SELECT * FROM idempotent_calls');
      expect(rows.length).toBe(1);
      expect(JSON.stringify(rows)).not.toContain('canary');
    });

    test('other arguments or another tool are refused, and leave nothing', async () => {
      await given('look', 'k');
      expect(await code('look', 'k', { args: { to: 'paris' } })).toBe('idempotency_conflict');
      expect(await code('look', 'k', { continuation: { more: 1 } })).toBe('idempotency_conflict');
      expect(await code('pay', 'k')).toBe('idempotency_conflict');
      expect(await code('look', 'k', { call: { serverName: 'other', toolName: 'look' } })).toBe(
        'idempotency_conflict',
      );
      expect(await count('audit')).toBe(1);
    });

    test('a key belongs to its credential and surface', async () => {
      const other = await newKey('b');
      const of = (more: Partial<CheckRequest['principal']>) => ({
        principal: { kind: 'key' as const, keyId, sessionId: null, scope: null, ...more },
      });
      const first = await given('look', 'k');
      const others = [
        await given('look', 'k', of({ keyId: other })),
        await given('look', 'k', { surface: 'mcp' }),
      ];
      for (const each of others) expect(each.toolCallId).not.toBe(first.toolCallId);
      expect((await given('look', 'k')).toolCallId).toBe(first.toolCallId);
      // Sessions are held apart, and a person is the same with all tokens of their company.
      const digest = (more: Partial<CheckRequest['principal']>) => call('look', 'k', of(more)).once?.digest;
      expect(digest({ sessionId: 's1' })).not.toBe(digest({ sessionId: 's2' }));
      expect(digest({ sessionId: 's1' })).not.toBe(digest({}));
      expect(digest({ sessionId: 's1', personId: 'p1' })).not.toBe(
        digest({ sessionId: 's2', personId: 'p1' }),
      );
      const company = (sessionId: string, personId: string) =>
        digest({ sessionId, personId, companys: true });
      expect(company('s1', 'p1')).toBe(company('s2', 'p1') ?? '');
      expect(company('s1', 'p1')).not.toBe(company('s1', 'p2'));
      expect(company('s1', 's2')).not.toBe(digest({ sessionId: 's2' }));
    });

    test('a waiting call is repeated until it is answered, and is then judged as the same call again', async () => {
      const asked = await given('ask', 'k');
      expect(await given('ask', 'k')).toMatchObject({ referenceId: asked.referenceId, [REPEATED]: true });
      await approve(asked.referenceId);
      const freed = await given('ask', 'k');
      expect(freed).toMatchObject({ decision: 'allow' });
      expect(freed.toolCallId).not.toBe(asked.toolCallId);
      expect(await given('ask', 'k')).toEqual({ ...freed, [REPEATED]: true });
      expect(await count('audit')).toBe(2);
      expect(await count(`audit WHERE reference_id = '${asked.referenceId}'`)).toBe(2);
      // The approval is spent: it frees no other call.
      expect(await given('ask', null, { referenceId: asked.referenceId ?? '' })).toMatchObject({
        decision: 'pending',
      });
    });

    test('a policy that changes meanwhile decides what is judged, and not what is repeated', async () => {
      const [looked, asked] = [await given('look', 'k1'), await given('ask', 'k2')];
      await approve(asked.referenceId);
      await replacePolicy(deps, 'admin', policyId, { rules: [{ tool: '*', action: 'deny' as const }] });
      expect(await given('look', 'k1')).toEqual({ ...looked, [REPEATED]: true });
      expect(await given('ask', 'k2')).toMatchObject({ decision: 'deny' });
    });

    test('a revoked key gets nothing, also no repeat', async () => {
      await given('look', 'k');
      await endKey(deps, 'admin', keyId);
      expect(await code('look', 'k')).toBe('unauthenticated');
      expect(await code('look', 'k', { args: {} })).toBe('unauthenticated');
    });

    test('it is known for 24 hours, and forgotten then', async () => {
      const first = await given('look', 'k');
      now += KNOWN_FOR_MS - 1;
      expect(await given('look', 'k')).toEqual({ ...first, [REPEATED]: true });
      await forgetKeys()(deps);
      expect(await count('idempotent_calls')).toBe(1);
      now += 1;
      const second = await given('look', 'k', { args: {} });
      expect(second.toolCallId).not.toBe(first.toolCallId);
      expect(await count('idempotent_calls')).toBe(1);
      now += KNOWN_FOR_MS + DAY;
      await forgetKeys()(deps);
      expect(await count('idempotent_calls')).toBe(0);
    });

    test('a call that may be made again is not known: its server had no place, or somebody has to sign in', async () => {
      const of = { serverName: 's', toolName: 'look' };
      const noPlace = { of: 'key' as const, atMost: 1 };
      expect(await given('look', 'k', { call: { ...of, noPlace } })).toMatchObject({
        decision: 'deny',
        unplaced: true,
      });
      expect(await given('look', 'k', { call: { ...of, unsent: true } })).toMatchObject({
        decision: 'allow',
      });
      expect(await count('idempotent_calls')).toBe(0);
      expect((await given('look', 'k'))[REPEATED]).toBeUndefined();
    });

    test('a call that was allowed and not sent is made with the same key', async () => {
      const first = await given('look', 'k', { surface: 'mcp', tracked: true });
      const end = { toolCallId: first.toolCallId, durationMs: 0, result: null };
      await endCall(deps, { ...end, outcome: 'sign_in_needed' });
      const second = await given('look', 'k', { surface: 'mcp', tracked: true });
      expect(second[REPEATED]).toBeUndefined();
      await endCall(deps, { ...end, toolCallId: second.toolCallId, outcome: 'cancelled', unmade: true });
      const third = await given('look', 'k', { surface: 'mcp', tracked: true });
      expect(third[REPEATED]).toBeUndefined();
      await endCall(deps, { ...end, toolCallId: third.toolCallId, outcome: 'upstream_failure' });
      expect(await given('look', 'k', { surface: 'mcp', tracked: true })).toMatchObject({
        toolCallId: third.toolCallId,
        [REPEATED]: true,
      });
    });

    test('equal calls in one group are one, with small and with large arguments', async () => {
      const large = { list: Array.from({ length: 600 }, (_, n) => n) };
      for (const args of [{ n: 1 }, large]) {
        const key = isObject(args) && 'n' in args ? 'small' : 'large';
        const asked = () => [call('ask', key, { args }), call('ask', key, { args }), call('look', null)];
        const [one, two] = (await checks.submitAll([...asked(), ...asked()])) as Verdict[];
        expect(two?.toolCallId).toBe(one?.toolCallId ?? '');
      }
      expect([await count('audit'), await count('approvals')]).toEqual([6, 2]);
    });

    test('many repeats of one call are answered in one group', async () => {
      const { toolCallId } = await given('ask', 'k');
      const repeats = Array.from({ length: 50 }, () => call('ask', 'k'));
      const work = new CheckWork(deps);
      const { results } = await store.db.transaction({}, tx => work.decideGroup(tx, repeats));
      expect(results.map(each => typeof each === 'object' && (each as Verdict).toolCallId)).toEqual(
        repeats.map(() => toolCallId),
      );
    });

    test('a group without keys has no further statement and no further lock', async () => {
      const statements = async (request: CheckRequest): Promise<number> => {
        let made = 0;
        const work = new CheckWork(deps);
        expect(work.takes([request]).length).toBe(request.once === undefined ? 0 : 1);
        await store.db.transaction({}, tx => {
          const counting = new Proxy(tx, {
            get: (target, name) => {
              if (name === 'all' || name === 'run' || name === 'defer') made++;
              const value = Reflect.get(target, name, target);
              return typeof value === 'function' ? value.bind(target) : value;
            },
          });
          return work.decideGroup(counting, [request]);
        });
        return made;
      };
      const plain = await statements(call('look', null));
      // One that looks for it, and one that keeps it.
      expect(await statements(call('look', 'k'))).toBe(plain + 2);
    });

    test('equal calls that come to two replicas at once are one', async () => {
      const others = engine === 'postgres' ? await store.again() : store.db;
      const replicas = [checks, checksOf({ ...deps, db: others })];
      for (let round = 0; round < 20; round++) {
        const answers = await Promise.all(
          replicas.map(each => each.submit(call('ask', `k${round}`, { args: round }))),
        );
        expect(new Set(answers.map(each => each.toolCallId)).size).toBe(1);
        expect(answers.filter(each => each[REPEATED]).length).toBe(1);
      }
      expect([await count('audit'), await count('approvals')]).toEqual([20, 20]);
      if (others !== store.db) await others.close();
    });

    test('a held call that goes on is decided, whatever its key says', async () => {
      const asked = await given('ask', 'k');
      await approve(asked.referenceId);
      await given('ask', 'k');
      const work = new CheckWork(deps);
      const resumed = call('ask', 'k', { referenceId: asked.referenceId ?? '' });
      resumed.resumes = asked.referenceId ?? '';
      const [outcome] = await decidedBy(store.db, work, [resumed]);
      expect((outcome as Verdict)[REPEATED]).toBeUndefined();
    });
  });
}
