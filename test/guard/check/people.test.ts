// Sessions that act for a person: the person is read in the transaction of the check, so that a removal, another group
// or a key that is no longer open to them counts at once.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { GuardError } from '../../../src/core/errors.ts';
import type { Rule } from '../../../src/core/policy/policy.ts';
import { resolveByOperator } from '../../../src/guard/approvals/approvals.ts';
import { CheckWork } from '../../../src/guard/check/check.ts';
import { createPolicy } from '../../../src/guard/check/policies.ts';
import type { CheckRequest, Verdict } from '../../../src/guard/check/request.ts';
import { authenticate, type Principal, PrincipalMemory } from '../../../src/guard/credentials.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { newId } from '../../../src/guard/ids.ts';
import { changeKey, createKey } from '../../../src/guard/keys.ts';
import { changeOperator, deleteOperator, inviteOperator } from '../../../src/guard/people/operators.ts';
import { mintToken } from '../../../src/guard/secrets.ts';
import { findApproval } from '../../../src/store/approvals.ts';
import { searchAudit } from '../../../src/store/log/audit-search.ts';
import { insertSession } from '../../../src/store/sessions.ts';
import { NOW, openStore, sessionRecord, type TestStore } from '../../store/stores.ts';
import { refusal } from '../../support/refusal.ts';
import { engines } from '../../support/service.ts';
import { depsAt } from '../deps.ts';
import { decidedBy } from '../group.ts';

const MINUTE = 60_000;
const RULES: Rule[] = [
  { tool: 'look', action: 'allow' },
  { tool: 'ship', action: 'allow', when: "'release' in person.groups" },
  { tool: 'mail', action: 'allow', when: "person.email == 'ann@example.com'" },
  { tool: 'once', action: 'allow', limit: 'one' },
  { tool: 'ask', action: 'require_approval' },
];
const LIMITS = { one: { calls: 1, within: '1h', per: 'person' as const } };

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let now: number;
    let deps: Deps;
    let keyId: string;
    let ann: string;
    beforeEach(async () => {
      store = await openStore(engine);
      now = NOW;
      deps = depsAt(store.db, () => now);
      const policy = await createPolicy(deps, 'admin', {
        name: newId(),
        description: '',
        rules: RULES,
        limits: LIMITS,
      });
      const input = { name: 'key', policyId: policy.id, requireSignInToApprove: false, expiresAt: null };
      const openTo = ['group:dev', 'person:Bob@example.com'];
      keyId = (await createKey(deps, 'admin', { ...input, notify: null, forward: [], openTo })).key.id;
      ann = await person('ann@example.com', ['dev']);
    });
    afterEach(() => store.close());

    async function person(email: string, groups: string[] = []): Promise<string> {
      const { operator } = await inviteOperator(deps, 'admin', { email, role: 'user' });
      await changeOperator(deps, 'admin', operator.id, { groups });
      return operator.id;
    }

    /** A session with an access token. */
    async function connected(personId: string, personGroups: string[] | null = null): Promise<string> {
      const session = sessionRecord({ keyId, personId, personGroups, expiresAt: NOW + 1000 * MINUTE });
      await insertSession(store.db, session, `oauth ${session.id}`);
      const { token, hash } = mintToken('access');
      await store.db.run(
        'INSERT INTO oauth_tokens (hash, session_id, kind, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)',
        [hash, session.id, 'access', now, now + 15 * MINUTE],
      );
      return token;
    }

    async function judged(principal: Principal, toolName: string, more: Partial<CheckRequest> = {}) {
      const call = { serverName: 'prod', toolName };
      const request: CheckRequest = {
        principal,
        surface: 'mcp',
        call,
        args: {},
        referenceId: null,
        startedAt: performance.now(),
        ...more,
      };
      const [answer] = await decidedBy(store.db, new CheckWork(deps), [request]);
      return answer as Verdict | GuardError;
    }
    async function outcome(principal: Principal, toolName: string): Promise<string> {
      const answer = await judged(principal, toolName);
      return answer instanceof GuardError ? answer.code : answer.decision;
    }

    test('the entry has the person, and can be found by it', async () => {
      const principal = await authenticate(deps, await connected(ann));
      expect(principal).toMatchObject({ keyId, personId: ann, until: NOW + 15 * MINUTE });
      expect(await outcome(principal, 'look')).toBe('allow');
      const { entries } = await searchAudit(store.db, { personId: ann }, 10, 'z');
      expect(entries.map(each => [each.personId, each.sessionId])).toEqual([[ann, principal.sessionId]]);
      expect((await searchAudit(store.db, { personId: newId() }, 10, 'z')).entries).toEqual([]);
    });

    test('conditions and limits see the person', async () => {
      const principal = await authenticate(deps, await connected(ann));
      const other = await authenticate(deps, await connected(ann));
      expect(await outcome(principal, 'mail')).toBe('allow');
      expect(await outcome(principal, 'ship')).toBe('deny');
      await changeOperator(deps, 'admin', ann, { groups: ['dev', 'release'] });
      expect(await outcome(principal, 'ship')).toBe('allow');
      expect([await outcome(principal, 'once'), await outcome(other, 'once')]).toEqual(['allow', 'deny']);
    });

    test('a token’s own groups count instead of those of the operator', async () => {
      const principal = await authenticate(deps, await connected(ann, ['dev', 'release']));
      expect(await outcome(principal, 'ship')).toBe('allow');
      const elsewhere = await connected(ann, ['sales']);
      expect(await refusal(authenticate(deps, elsewhere))).toMatchObject({ code: 'unauthenticated' });
    });

    test('a removed person, another group, and a closed key count at once, and for good', async () => {
      const bob = await person('bob@example.com');
      const [anns, bobs] = [await connected(ann), await connected(bob)];
      const [first, second] = [await authenticate(deps, anns), await authenticate(deps, bobs)];
      expect([await outcome(first, 'look'), await outcome(second, 'look')]).toEqual(['allow', 'allow']);
      await changeOperator(deps, 'admin', ann, { groups: [] });
      expect(await outcome(first, 'look')).toBe('unauthenticated');
      expect(await refusal(authenticate(deps, anns))).toMatchObject({ code: 'unauthenticated' });
      await changeOperator(deps, 'admin', ann, { groups: ['dev'] });
      expect(await outcome(first, 'look')).toBe('unauthenticated');
      const again = await authenticate(deps, await connected(ann));
      expect(await outcome(again, 'look')).toBe('allow');
      await changeKey(deps, 'admin', keyId, { openTo: ['person:bob@example.com'] });
      expect([await outcome(again, 'look'), await outcome(second, 'look')]).toEqual([
        'unauthenticated',
        'allow',
      ]);
      await deleteOperator(deps, 'admin', bob);
      expect(await outcome(second, 'look')).toBe('unauthenticated');
      expect(await refusal(authenticate(deps, bobs))).toMatchObject({ code: 'unauthenticated' });
    });

    test('an access token ends although it is remembered', async () => {
      const token = await connected(ann);
      const memory = new PrincipalMemory(deps);
      const principal = await memory.learn(token);
      now += 15 * MINUTE - 1;
      expect(memory.recall(`Bearer ${token}`)).toBe(principal);
      expect(await outcome(principal, 'look')).toBe('allow');
      now += 1;
      expect(await outcome(principal, 'look')).toBe('unauthenticated');
      expect(memory.recall(`Bearer ${token}`)).toBeUndefined();
      expect(await refusal(memory.learn(token))).toMatchObject({ code: 'unauthenticated' });
      expect(memory.size).toBe(0);
    });

    test('an approval is the person’s in all their sessions, and nobody else’s', async () => {
      const [first, second] = [
        await authenticate(deps, await connected(ann)),
        await authenticate(deps, await connected(ann)),
      ];
      const others = await authenticate(deps, await connected(await person('eve@example.com', ['dev'])));
      const asked = (await judged(first, 'ask')) as Verdict;
      const approval = await findApproval(store.db, asked.referenceId ?? '');
      expect(approval).toMatchObject({ personId: ann, personEmail: 'ann@example.com' });
      expect(((await judged(second, 'ask')) as Verdict).referenceId).toBe(asked.referenceId as string);
      expect(((await judged(others, 'ask')) as Verdict).referenceId).not.toBe(asked.referenceId as string);
      await resolveByOperator(deps, 'admin', asked.referenceId ?? '', { action: 'approve', grantMs: null });
      expect(await outcome(others, 'ask')).toBe('pending');
      expect(await outcome(second, 'ask')).toBe('allow');
      expect(await outcome(first, 'ask')).toBe('pending');
    });
  });
}
