// The log of changes: whatever is changed through the administration is in it once, with who did it and to what, and
// what changes nothing, or is refused, is not.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { resolveByLink, resolveByOperator, withdraw } from '../../src/guard/approvals/approvals.ts';
import { endKey } from '../../src/guard/approvals/end-key.ts';
import { endGrant } from '../../src/guard/approvals/grants.ts';
import { callableBy } from '../../src/guard/check/callable.ts';
import { createPolicy, deletePolicy, replacePolicy } from '../../src/guard/check/policies.ts';
import type { Deps } from '../../src/guard/deps.ts';
import { newId } from '../../src/guard/ids.ts';
import { changeKey, createKey } from '../../src/guard/keys.ts';
import { mintToken } from '../../src/guard/secrets.ts';
import { endAnySession, endSession, mintSession } from '../../src/guard/sessions.ts';
import { acceptDrift } from '../../src/guard/tool-servers/accept.ts';
import { connectTool, disconnectTool } from '../../src/guard/tool-servers/connected-tools.ts';
import { compareDefinitions } from '../../src/guard/tool-servers/definitions.ts';
import { type ApprovalRecord, insertApproval } from '../../src/store/approvals.ts';
import { listChanges } from '../../src/store/changes.ts';
import { insertOperator, type Role, updateOperatorRole } from '../../src/store/operators.ts';
import { listDefinitions } from '../../src/store/tool-definitions.ts';
import { approvalRecord, NOW, openStore, type TestStore } from '../store/stores.ts';
import { engines } from '../support/service.ts';
import { depsAt } from './deps.ts';

const EVE = 'operator:eve@example.com' as const;
const eve = {
  signInId: 's',
  operatorId: 'eve',
  email: 'eve@example.com',
  role: 'approver' as Role,
  groups: [],
};
const RULES = [{ tool: '*', action: 'allow' as const }];
const KEY = { name: 'agent', requireSignInToApprove: false, expiresAt: null, notify: null, forward: [] };

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let now: number;
    let deps: Deps;
    let policyId: string;
    let keyId: string;
    let known: number;
    beforeEach(async () => {
      store = await openStore(engine);
      now = NOW;
      deps = depsAt(store.db, () => now);
      policyId = (await createPolicy(deps, EVE, { name: 'prod', description: '', rules: RULES })).id;
      keyId = (await createKey(deps, EVE, { ...KEY, policyId })).key.id;
      known = 0;
      const { operatorId: id, email, role } = eve;
      await insertOperator(store.db, { id, email, role, createdAt: NOW }, 'password');
    });
    afterEach(() => store.close());

    /** What was recorded since this was asked last. */
    async function recorded(): Promise<unknown[]> {
      const all = (await listChanges(store.db, 100, 'z')).reverse();
      const fresh = all
        .slice(known)
        .map(({ actor, action, target, detail }) => [actor, action, target, detail]);
      known = all.length;
      return fresh;
    }
    const codeOf = (work: Promise<unknown>) => work.then(() => 'done').catch(error => error.code);

    test('policies and keys', async () => {
      expect(await recorded()).toEqual([
        [EVE, 'policy.create', policyId, { name: 'prod', rules: 1 }],
        [EVE, 'key.create', keyId, { name: 'agent', policyId }],
      ]);
      await replacePolicy(deps, EVE, policyId, { rules: [], version: 1 });
      await changeKey(deps, EVE, keyId, { name: 'other', requireSignInToApprove: true });
      expect(await recorded()).toEqual([
        [EVE, 'policy.update', policyId, { name: 'prod', version: 2, rules: 0 }],
        [EVE, 'key.update', keyId, { changed: ['name', 'requireSignInToApprove'] }],
      ]);
      expect(await codeOf(replacePolicy(deps, EVE, policyId, { rules: [], version: 1 }))).toBe('conflict');
      expect(await codeOf(replacePolicy(deps, EVE, newId(), { rules: [] }))).toBe('not_found');
      expect(await codeOf(deletePolicy(deps, EVE, policyId))).toBe('conflict');
      expect(await codeOf(deletePolicy(deps, EVE, newId()))).toBe('not_found');
      expect(await codeOf(changeKey(deps, EVE, keyId, { policyId: newId() }))).toBe('invalid_input');
      expect(await codeOf(changeKey(deps, EVE, newId(), {}))).toBe('not_found');
      expect(await codeOf(endKey(deps, EVE, newId()))).toBe('not_found');
      expect(await recorded()).toEqual([]);
      await endKey(deps, EVE, keyId);
      await endKey(deps, EVE, keyId);
      await deletePolicy(deps, EVE, policyId);
      expect(await codeOf(changeKey(deps, EVE, keyId, {}))).toBe('conflict');
      expect(await recorded()).toEqual([
        [EVE, 'key.revoke', keyId, { name: 'other' }],
        [EVE, 'policy.delete', policyId, { name: 'prod' }],
      ]);
    });

    test('a key that is not there could call nothing, and one that is what its policy lets through', async () => {
      const principal = { kind: 'key' as const, keyId, sessionId: null, scope: null };
      expect((await callableBy(deps, principal))('prod', 'deploy')).toBe(true);
      expect((await callableBy(deps, { ...principal, keyId: newId() }))('prod', 'deploy')).toBe(false);
      await replacePolicy(deps, EVE, policyId, { rules: [{ tool: 'deploy', action: 'deny' }] });
      expect((await callableBy(deps, principal))('prod', 'deploy')).toBe(false);
    });

    test('sessions, which agents may end without a record', async () => {
      await recorded();
      const principal = { kind: 'key' as const, keyId, sessionId: null, scope: null };
      const mint = async (label: string) =>
        (await mintSession(deps, principal, { label, ttlMinutes: 5, scopeTools: null })).session.id;
      const [own, other] = [await mint('own'), await mint('other')];
      await endSession(deps, principal, own);
      expect(await codeOf(endSession(deps, { ...principal, keyId: newId() }, other))).toBe('not_found');
      expect(await codeOf(endSession(deps, principal, newId()))).toBe('not_found');
      expect(await recorded()).toEqual([]);
      await endAnySession(deps, EVE, other);
      await endAnySession(deps, EVE, other);
      await endAnySession(deps, EVE, own);
      expect(await codeOf(endAnySession(deps, EVE, newId()))).toBe('not_found');
      expect(await recorded()).toEqual([[EVE, 'session.revoke', other, { keyId, label: 'other' }]]);
    });

    test('a session lives as long as was wished, and never longer than its key', async () => {
      const principal = { kind: 'key' as const, keyId, sessionId: null, scope: null };
      const end = async (ttlMinutes: number) =>
        (await mintSession(deps, principal, { label: '', ttlMinutes, scopeTools: null })).session.expiresAt;
      expect(await end(5)).toBe(NOW + 300_000);
      await end(0.5);
      await changeKey(deps, EVE, keyId, { expiresAt: NOW + 60_000 });
      const rows = await store.db.all<{ until: number }>(
        'SELECT expires_at AS "until" FROM sessions ORDER BY 1',
      );
      expect(rows.map(row => row.until)).toEqual([NOW + 30_000, NOW + 60_000]);
      expect(await end(5)).toBe(NOW + 60_000);
      expect(await end(1)).toBe(NOW + 60_000);
      now = NOW + 60_000;
      expect(await codeOf(end(1))).toBe('unauthenticated');
    });

    test('Connected Tools', async () => {
      await recorded();
      const rules = { allowPrivate: true };
      const input = { name: 'up', transport: 'stdio' as const, target: 'x', headers: null };
      const tool = await connectTool(deps, EVE, rules, keyId, input);
      expect(await codeOf(connectTool(deps, EVE, rules, keyId, input))).toBe('conflict');
      expect(await codeOf(connectTool(deps, EVE, rules, newId(), input))).toBe('not_found');
      const bad = { ...input, name: 'bad', transport: 'http' as const, target: 'http://169.254.169.254/' };
      expect(await codeOf(connectTool(deps, EVE, rules, keyId, bad))).toBe('invalid_input');
      for (const description of ['one', 'two'])
        await compareDefinitions(deps, tool, [{ toolName: 'a', definition: { description } }]);
      const { id } = tool;
      const digest = (await listDefinitions(store.db, id))[0]?.changedDigest as string;
      const accept = (tool: string, seen: string) =>
        acceptDrift(deps, EVE, keyId, tool, { toolName: 'a', digest: seen });
      expect(await codeOf(accept(id, 'another'))).toBe('conflict');
      expect(await codeOf(accept(newId(), digest))).toBe('not_found');
      await accept(id, digest);
      expect(await codeOf(accept(id, digest))).toBe('conflict');
      expect(await codeOf(disconnectTool(deps, EVE, newId(), id))).toBe('not_found');
      await disconnectTool(deps, EVE, keyId, id);
      expect(await codeOf(disconnectTool(deps, EVE, keyId, id))).toBe('not_found');
      expect(await recorded()).toEqual([
        [EVE, 'connected-tool.create', id, { keyId, name: 'up' }],
        [EVE, 'connected-tool.accept', id, { toolName: 'a', digest }],
        [EVE, 'connected-tool.delete', id, { keyId, name: 'up' }],
      ]);
    });

    test('trouble of the store is not taken for a name that is taken', async () => {
      const input = { name: 'up', transport: 'stdio' as const, target: 'x', headers: null };
      await store.db.run('ALTER TABLE changes RENAME TO elsewhere');
      const policy = createPolicy(deps, EVE, { name: 'other', description: '', rules: [] });
      expect(await codeOf(policy)).not.toBe('conflict');
      expect(await codeOf(replacePolicy(deps, EVE, policyId, { rules: [] }))).not.toBe('conflict');
      expect(await codeOf(connectTool(deps, EVE, { allowPrivate: true }, keyId, input))).not.toBe('conflict');
      await store.db.run('ALTER TABLE elsewhere RENAME TO changes');
      await createPolicy(deps, EVE, { name: 'other', description: '', rules: [] });
      const taken = { name: 'prod', description: '', rules: [] };
      expect(await codeOf(createPolicy(deps, EVE, taken))).toBe('conflict');
    });

    /** A question, and the link to its answer. */
    async function asked(more: Partial<ApprovalRecord> = {}): Promise<{ id: string; token: string }> {
      const approval = approvalRecord({ keyId, ...more });
      const { token, hash } = mintToken('approval');
      await store.db.transaction({}, async tx => insertApproval(tx, approval, hash));
      return { id: approval.id, token };
    }
    const TOOL = 'prod__deploy';
    const APPROVE = { action: 'approve' as const, grantMs: null };

    test('answers by operators, of which one counts, and what takes them back', async () => {
      await recorded();
      const { id: one } = await asked();
      await resolveByOperator(deps, eve, one, APPROVE);
      expect(await codeOf(resolveByOperator(deps, 'admin', one, APPROVE))).toBe('conflict');
      await withdraw(deps, EVE, one);
      expect(await codeOf(withdraw(deps, EVE, one))).toBe('conflict');
      const { id: two } = await asked();
      expect(await codeOf(withdraw(deps, EVE, two))).toBe('conflict');
      await resolveByOperator(deps, eve, two, { action: 'approve', grantMs: 1000 });
      expect(await codeOf(withdraw(deps, EVE, two))).toBe('conflict');
      const { id: three } = await asked();
      await resolveByOperator(deps, eve, three, { action: 'deny', grantMs: null });
      expect(await codeOf(resolveByOperator(deps, eve, newId(), APPROVE))).toBe('not_found');
      expect(await codeOf(withdraw(deps, EVE, newId()))).toBe('not_found');
      expect(await recorded()).toEqual([
        [EVE, 'approval.approve', one, { tool: TOOL, grantExpiresAt: null }],
        [EVE, 'approval.withdraw', one, { tool: TOOL }],
        [EVE, 'approval.approve', two, { tool: TOOL, grantExpiresAt: new Date(NOW + 1000).toISOString() }],
        [EVE, 'approval.deny', three, { tool: TOOL, grantExpiresAt: null }],
      ]);
      const [grant] = await store.db.all<{ id: string }>('SELECT id FROM grants');
      await endGrant(deps, eve, grant?.id ?? '');
      expect(await recorded()).toEqual([
        [EVE, 'grant.revoke', grant?.id ?? '', { tool: TOOL, referenceId: two }],
      ]);
    });

    test('an answer by link is recorded as one of the link, and by name if the key wants a signed-in operator', async () => {
      await recorded();
      const open = await asked();
      await resolveByLink(deps, open.token, APPROVE);
      expect(await codeOf(resolveByLink(deps, open.token, APPROVE))).toBe('gone');
      expect(await codeOf(resolveByLink(deps, mintToken('approval').token, APPROVE))).toBe('not_found');
      expect(await codeOf(resolveByLink(deps, mintToken('key').token, APPROVE))).toBe('not_found');
      expect(await recorded()).toEqual([
        ['link', 'approval.approve', open.id, { tool: TOOL, grantExpiresAt: null }],
      ]);
      await changeKey(deps, EVE, keyId, { requireSignInToApprove: true });
      await recorded();
      const closed = await asked();
      expect(await codeOf(resolveByLink(deps, closed.token, APPROVE))).toBe('sign_in_required');
      const as = (more: Partial<typeof eve>) =>
        resolveByLink(deps, closed.token, APPROVE, { ...eve, ...more });
      expect(await codeOf(as({ role: 'viewer' }))).toBe('forbidden');
      // What the store says about them counts, and not what was true when the request came.
      expect(await codeOf(as({ operatorId: 'unknown' }))).toBe('unauthenticated');
      await updateOperatorRole(store.db, eve.operatorId, 'viewer');
      expect(await codeOf(as({}))).toBe('forbidden');
      await updateOperatorRole(store.db, eve.operatorId, 'approver');
      expect((await as({})).resolvedBy).toBe(EVE);
      expect(await recorded()).toEqual([
        [EVE, 'approval.approve', closed.id, { tool: TOOL, grantExpiresAt: null }],
      ]);
    });

    test('a link ends at its very time, whether or not anybody noticed', async () => {
      const [early, late] = [await asked({ expiresAt: NOW + 1000 }), await asked({ expiresAt: NOW + 1000 })];
      now = NOW + 999;
      expect((await resolveByLink(deps, early.token, APPROVE)).status).toBe('approved');
      now += 1;
      expect(await codeOf(resolveByLink(deps, late.token, APPROVE))).toBe('gone');
      expect(await codeOf(resolveByOperator(deps, eve, late.id, APPROVE))).toBe('conflict');
    });
  });
}
