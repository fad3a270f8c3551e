// Who may answer an approval: approvers; of a group, if the rule names one; and nobody a call made in their own name. Each
// approval of a group is a vote, and the last one that is needed ends the question, as one denial does.

import { beforeEach, describe, expect, test } from 'bun:test';
import type { Event } from '../../../src/core/approvals/event.ts';
import { lapse, resolveByLink, resolveByOperator } from '../../../src/guard/approvals/approvals.ts';
import { type Answerer, mayAnswer } from '../../../src/guard/approvals/approvers.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { changeOperator, deleteOperator, resetOperator } from '../../../src/guard/people/operators.ts';
import type { SignedIn } from '../../../src/guard/people/sign-ins.ts';
import { mintToken } from '../../../src/guard/secrets.ts';
import { type ApprovalRecord, findApproval, insertApproval } from '../../../src/store/approvals.ts';
import { listChanges } from '../../../src/store/changes.ts';
import { insertIdentity, noteSignOn } from '../../../src/store/identities.ts';
import { insertKey } from '../../../src/store/keys.ts';
import { insertOperator, type Role, updateOperatorGroups } from '../../../src/store/operators.ts';
import { approvalRecord, keyRecord, NOW, onEachEngine } from '../../store/stores.ts';
import { depsAt } from '../deps.ts';

const person = (name: string, groups: string[] = [], role: Role = 'approver'): SignedIn => ({
  signInId: `sign-in of ${name}`,
  operatorId: name,
  email: `${name}@example.com`,
  role,
  groups,
});
const ann = person('ann', ['finance', 'board']);
const ben = person('ben', ['finance']);
const cy = person('cy', ['finance'], 'admin');
const outsider = person('outsider', ['Finance', 'financ'], 'admin');
const viewer = person('viewer', ['finance'], 'viewer');
const DAY = 24 * 3_600_000;
const APPROVE = { action: 'approve' as const, grantMs: null };
const DENY = { action: 'deny' as const, grantMs: null };

const TOOL = 'prod__deploy';

describe('who may answer', () => {
  const CASES: [string, Answerer, boolean, boolean][] = [
    ['an approver of the group', ann, true, true],
    ['an admin of the group', cy, true, true],
    ['an admin outside', outsider, true, false],
    ['a viewer of the group', viewer, false, false],
    ['the admin token', 'admin', true, false],
  ];
  for (const [who, answerer, open, grouped] of CASES) {
    test(who, () => {
      expect(mayAnswer({ approverGroup: null, personEmail: null }, answerer)).toBe(open);
      expect(mayAnswer({ approverGroup: 'finance', personEmail: null }, answerer)).toBe(grouped);
    });
  }

  test('nobody a call in their own name, in whatever case it is written', () => {
    for (const approverGroup of [null, 'finance']) {
      for (const personEmail of ['ann@example.com', 'Ann@Example.COM'])
        expect(mayAnswer({ approverGroup, personEmail }, ann)).toBe(false);
      expect(mayAnswer({ approverGroup, personEmail: 'ann@example.org' }, ann)).toBe(true);
    }
    expect(mayAnswer({ approverGroup: null, personEmail: 'ann@example.com' }, 'admin')).toBe(true);
  });
});

await onEachEngine(store => {
  let deps: Deps;
  let keyId: string;
  beforeEach(async () => {
    deps = depsAt(store.db);
    for (const table of ['operators', 'identities', 'events', 'changes'])
      await store.db.run(`DELETE FROM ${table}`);
    for (const { operatorId: id, email, role, groups } of [ann, ben, cy, outsider, viewer]) {
      await insertOperator(store.db, { id, email, role, createdAt: NOW }, 'password');
      await updateOperatorGroups(store.db, id, groups);
    }
    const key = keyRecord();
    keyId = key.id;
    await store.db.transaction({}, tx => insertKey(tx, key, `hash of ${key.id}`));
  });

  async function asked(more: Partial<ApprovalRecord> = {}): Promise<{ id: string; token: string }> {
    const approval = approvalRecord({ keyId, approverGroup: 'finance', votesNeeded: 2, ...more });
    const { token, hash } = mintToken('approval');
    await store.db.transaction({}, async tx => insertApproval(tx, approval, hash));
    return { id: approval.id, token };
  }
  const codeOf = (work: Promise<unknown>) => work.then(() => 'done').catch(error => error.code);
  const status = async (id: string) => (await findApproval(store.db, id))?.status;
  const events = async () => {
    const rows = await store.db.all<{ body: string }>('SELECT body FROM events ORDER BY id');
    return rows.map(({ body }) => JSON.parse(body) as Event);
  };
  const recorded = async () =>
    (await listChanges(store.db, 100, 'z'))
      .reverse()
      .map(({ actor, action, detail }) => [actor, action, detail]);

  test('two different people of the group decide, and the news goes out once', async () => {
    const { id, token } = await asked();
    const first = await resolveByOperator(deps, ann, id, { ...APPROVE, note: 'fine by me' });
    expect([first.status, first.resolvedAt]).toEqual(['pending', null]);
    expect(await codeOf(resolveByOperator(deps, ann, id, APPROVE))).toBe('conflict');
    expect(await codeOf(resolveByLink(deps, token, APPROVE, ann))).toBe('conflict');
    expect(await status(id)).toBe('pending');
    const second = await resolveByLink(deps, token, APPROVE, ben);
    expect(second).toMatchObject({
      status: 'approved',
      resolvedBy: 'operator:ben@example.com',
      note: 'fine by me',
    });
    expect(await findApproval(store.db, id)).toEqual(second);
    expect(await codeOf(resolveByLink(deps, token, APPROVE, cy))).toBe('gone');
    expect(await codeOf(resolveByOperator(deps, ann, id, APPROVE))).toBe('conflict');
    const by = (who: SignedIn) => ({ by: `operator:${who.email}`, at: new Date(NOW).toISOString() });
    const told = await events();
    expect(told.map(each => [each.type, each.data.status, each.data.votes])).toEqual([
      ['approval.voted', 'pending', { needed: 2, approved: [by(ann)] }],
      ['approval.resolved', 'approved', { needed: 2, approved: [by(ann), by(ben)] }],
    ]);
    expect(told[1]?.data).toMatchObject({ note: 'fine by me', approverGroup: 'finance' });
    expect(await recorded()).toEqual([
      ['operator:ann@example.com', 'approval.vote', { tool: TOOL, approved: 1, needed: 2 }],
      ['operator:ben@example.com', 'approval.vote', { tool: TOOL, approved: 2, needed: 2 }],
      ['operator:ben@example.com', 'approval.approve', { tool: TOOL, grantExpiresAt: null }],
    ]);
  });

  test('one denial ends it, without what was noted in favour', async () => {
    const { id } = await asked({ votesNeeded: 3 });
    await resolveByOperator(deps, ann, id, { ...APPROVE, note: 'go' });
    expect((await resolveByOperator(deps, ben, id, DENY)).note).toBeNull();
    expect(await status(id)).toBe('denied');
    expect(await codeOf(resolveByOperator(deps, cy, id, APPROVE))).toBe('conflict');
    expect((await events()).at(-1)?.data.votes.approved).toHaveLength(1);
  });

  test('a denial at the same time leaves no vote behind it', async () => {
    const { id } = await asked({ votesNeeded: 3 });
    const both = [resolveByOperator(deps, ben, id, DENY), resolveByOperator(deps, ann, id, APPROVE)];
    const [denial, vote] = await Promise.all(both.map(codeOf));
    expect(denial).toBe('done');
    const cast = await store.db.all('SELECT at FROM approval_votes WHERE approval_id = $1', [id]);
    expect([vote, cast.length]).toEqual(vote === 'done' ? ['done', 1] : ['conflict', 0]);
    expect((await events()).at(-1)?.type).toBe('approval.resolved');
  });

  test('whoever may not answer changes nothing, neither by yes nor by no', async () => {
    const { id, token } = await asked();
    for (const resolve of [APPROVE, DENY]) {
      expect(await codeOf(resolveByOperator(deps, 'admin', id, resolve))).toBe('not_an_approver');
      expect(await codeOf(resolveByOperator(deps, outsider, id, resolve))).toBe('not_an_approver');
      expect(await codeOf(resolveByOperator(deps, viewer, id, resolve))).toBe('forbidden');
      expect(await codeOf(resolveByLink(deps, token, resolve, outsider))).toBe('not_an_approver');
      expect(await codeOf(resolveByLink(deps, token, resolve, viewer))).toBe('forbidden');
      // The key asks for no sign-in, but the rule wants a group.
      expect(await codeOf(resolveByLink(deps, token, resolve))).toBe('sign_in_required');
    }
    const probe = { ...APPROVE, grantMs: 1000, same: ['amount'] };
    const alone = await asked({ votesNeeded: 1 });
    expect(await codeOf(resolveByOperator(deps, outsider, alone.id, probe))).toBe('not_an_approver');
    const own = await asked({ personEmail: 'ANN@example.com' });
    expect(await codeOf(resolveByOperator(deps, ann, own.id, APPROVE))).toBe('own_call');
    expect(await codeOf(resolveByLink(deps, own.token, DENY, ann))).toBe('own_call');
    const ungrouped = await asked({ approverGroup: null, votesNeeded: 1, personEmail: ann.email });
    expect(await codeOf(resolveByLink(deps, ungrouped.token, APPROVE, ann))).toBe('own_call');
    // A link is enough for whoever has it, but not for a call in the name of somebody who is signed in.
    const seen = await asked({ approverGroup: null, votesNeeded: 1, personEmail: viewer.email });
    expect(await codeOf(resolveByLink(deps, seen.token, APPROVE, viewer))).toBe('own_call');
    for (const each of [id, alone.id, own.id, ungrouped.id, seen.id])
      expect(await status(each)).toBe('pending');
    expect(await events()).toEqual([]);
    expect(await recorded()).toEqual([]);
  });

  test('the groups that count are those of the moment of the answer', async () => {
    const { id } = await asked({ votesNeeded: 1 });
    await updateOperatorGroups(store.db, ann.operatorId, ['board']);
    expect(await codeOf(resolveByOperator(deps, ann, id, APPROVE))).toBe('not_an_approver');
    await updateOperatorGroups(store.db, outsider.operatorId, ['finance']);
    const joined = { ...outsider, groups: [] };
    expect((await resolveByOperator(deps, joined, id, APPROVE)).status).toBe('approved');
  });

  test('whoever was reset, removed or made a viewer since they asked to answer is refused, also in Slack', async () => {
    const changes: [string, () => Promise<unknown>][] = [
      ['forbidden', () => changeOperator(deps, 'admin', 'ann', { role: 'viewer' })],
      ['unauthenticated', () => resetOperator(deps, 'admin', 'ben')],
      ['unauthenticated', () => deleteOperator(deps, 'admin', 'cy')],
    ];
    await insertOperator(
      store.db,
      { ...person('root'), id: 'root', role: 'admin', createdAt: NOW },
      'password',
    );
    for (const [index, who] of [ann, ben, cy].entries()) {
      const [code, change] = changes[index] as (typeof changes)[number];
      const { id } = await asked({ votesNeeded: 1 });
      await change();
      for (const answer of [APPROVE, DENY])
        expect(await codeOf(resolveByOperator(deps, who, id, { ...answer, via: 'slack' }))).toBe(code);
      expect(await status(id)).toBe('pending');
    }
  });

  test('a vote counts while the claims that it relies on are not too old', async () => {
    let clock = NOW;
    const of = { oidcIssuer: 'https://idp.example', oidcGroupsClaim: 'teams' };
    const base = depsAt(store.db, () => clock);
    deps = { ...base, settings: { ...base.settings, ...of } };
    const account = { issuer: 'https://idp.example', subject: 'ann' };
    await insertIdentity(store.db, { ...account, operatorId: 'ann', decidesRole: false }, NOW);
    const { id } = await asked({ expiresAt: NOW + 8 * DAY });
    await resolveByOperator(deps, ann, id, APPROVE);
    clock += 7 * DAY;
    expect((await resolveByOperator(deps, ben, id, APPROVE)).status).toBe('pending');
    expect(await codeOf(resolveByOperator(deps, ann, id, APPROVE))).toBe('forbidden');
    await noteSignOn(store.db, account, clock);
    expect((await resolveByOperator(deps, ann, id, APPROVE)).status).toBe('approved');
  });

  test('several votes free one call only', async () => {
    const { id } = await asked();
    expect(await codeOf(resolveByOperator(deps, ann, id, { ...APPROVE, grantMs: 1000 }))).toBe(
      'invalid_input',
    );
    const alone = await asked({ votesNeeded: 1 });
    const given = await resolveByOperator(deps, ann, alone.id, { ...APPROVE, grantMs: 1000 });
    expect(given.grantExpiresAt).toBe(NOW + 1000);
  });

  test('too late is too late, and what lapses still says who had approved', async () => {
    const { id, token } = await asked({ expiresAt: NOW + 10 });
    await resolveByOperator(deps, ann, id, APPROVE);
    deps = depsAt(store.db, () => NOW + 10);
    expect(await codeOf(resolveByOperator(deps, ben, id, APPROVE))).toBe('conflict');
    expect(await codeOf(resolveByLink(deps, token, APPROVE, ben))).toBe('gone');
    expect(await store.db.all('SELECT at FROM approval_votes WHERE approval_id = $1', [id])).toHaveLength(1);
    await lapse(deps, 100);
    expect((await events()).at(-1)?.data).toMatchObject({ status: 'timed_out', votes: { needed: 2 } });
    expect((await events()).at(-1)?.data.votes.approved).toHaveLength(1);
  });

  test('on a link that anybody may use, an approver who is signed in is named, and nobody else', async () => {
    const plain = { approverGroup: null, votesNeeded: 1 };
    const by = async (who: SignedIn | null) =>
      (await resolveByLink(deps, (await asked(plain)).token, APPROVE, who)).resolvedBy;
    expect(await by(null)).toBe('link');
    expect(await by(viewer)).toBe('link');
    expect(await by(outsider)).toBe('operator:outsider@example.com');
  });
});
