// A rule that wants several people of a group to approve, over HTTP: by link and by the administration, with the state
// in every answer. test/guard/approvals/approvers.test.ts tests who may answer.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Rule } from '../../src/core/policy/policy.ts';
import {
  invite,
  join as joinOperators,
  newPerson,
  type Person,
  send,
  signedIn,
} from '../operators/people.ts';
import { until } from '../support/faults.ts';
import { Receiver } from '../support/receiver.ts';
import { engines } from '../support/service.ts';
import { type Gate, openGate } from './gate.ts';

const RULES: Rule[] = [
  { tool: 'refund', action: 'require_approval', approvers: { group: 'finance', count: 2 } },
  { tool: '*', action: 'require_approval', approvers: { group: 'finance' } },
];
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'text/html' };

for (const engine of await engines()) {
  describe(engine, () => {
    let gate: Gate;
    let events: Receiver;
    let key: string;
    const people = {} as Record<'ann' | 'ben' | 'cy' | 'outsider', Person>;
    beforeAll(async () => {
      [gate, events] = await Promise.all([openGate({ engine }), Receiver.start()]);
      await gate.service.admin('POST', '/webhooks', { url: events.url });
      key = await gate.key(RULES);
      for (const name of ['ann', 'ben', 'cy', 'outsider'] as const) {
        people[name] = await newPerson(gate.service, name === 'outsider' ? 'admin' : 'approver');
        const groups = name === 'outsider' ? [] : ['finance'];
        await gate.service.admin('PATCH', `/operators/${people[name].id}`, { groups });
      }
    });
    afterAll(async () => {
      await gate.close();
      await events.close();
    });

    const by = ({ email }: Person) => ({ by: `operator:${email}`, at: expect.any(String) });
    const answer = (token: string, who: Person, body: unknown = { action: 'approve' }, headers = {}) =>
      gate.answer(token, body, { Cookie: who.cookie, ...headers });
    const resolve = (referenceId: string, who: Person, body: unknown) =>
      send(gate.service, 'POST', `/admin/v1/approvals/${referenceId}/resolve`, who, body);
    const listed = async (referenceId: string) =>
      (await gate.service.admin('GET', `/approvals/${referenceId}`)).body;

    const reset = async (id: string) => {
      const { resetUrl } = (await gate.service.admin('POST', `/operators/${id}/reset`)).body;
      return new URL(resetUrl).searchParams.get('token') ?? '';
    };

    test('where a group has too few people, whoever saves the rule, asks, or looks is told so', async () => {
      const rules: Rule[] = [
        { tool: 'a', action: 'require_approval', approvers: { group: 'legal' } },
        { tool: '*', action: 'require_approval', approvers: { group: 'finance', count: 4 } },
      ];
      const { body: saved } = await gate.service.admin('POST', '/policies', { name: 'lacking', rules });
      expect(saved.warnings).toEqual([
        'At present nobody could answer: an operator of the group "legal" would have to approve, and there is none.',
        'At present nobody could answer: 4 operators of the group "finance" would have to approve, and there are only 3.',
      ]);
      const { body: made } = await gate.service.admin('POST', '/keys', { name: 'x', policyId: saved.id });
      const held = await gate.service.check(made.key, 'prod', 'a');
      const why = 'an operator of the group "legal" would have to approve, and there is none';
      expect(held.body.message).toContain(`At present nobody can approve it: ${why}.`);
      expect(Object.keys(held.body)).not.toContain('lacking');
      const { referenceId } = held.body;
      const lacking = { group: 'legal', needed: 1, able: 0 };
      expect(await listed(referenceId)).toMatchObject({ lacking });
      const { body: waiting } = await gate.service.admin('GET', '/waiting');
      expect(waiting).toEqual({ full: [], unanswerable: [{ ...lacking, open: 1, referenceId }] });
      const { body: health } = await gate.service.admin('GET', '/doctor');
      const found = health.checks.find(({ name }: { name: string }) => name === 'approvals');
      expect([found.state, found.message]).toEqual(['warning', expect.stringContaining(why)]);
      const { ann } = people;
      await gate.service.admin('PATCH', `/operators/${ann.id}`, { groups: ['finance', 'legal'] });
      expect((await gate.service.admin('GET', '/waiting')).body.unanswerable).toEqual([]);
      expect((await gate.service.check(made.key, 'prod', 'a')).body.message).not.toContain('nobody');
      await gate.service.admin('DELETE', `/keys/${made.id}`);
    });

    test('a link serves each of them once, until the question is resolved', async () => {
      const { ann, ben, cy } = people;
      const { token, referenceId } = await gate.ask(key, 'refund', { args: { amount: 700 } });
      expect((await gate.open(token)).status).toBe(303);
      const opened = (who: Person) => gate.open(token, '', { headers: { Cookie: who.cookie } });
      expect((await opened(ann)).text).toContain('0 of 2');
      const first = await answer(token, ann, { action: 'approve', note: 'checked' });
      const waiting = { status: 'pending', note: 'checked', votes: { needed: 2, approved: [by(ann)] } };
      expect([first.status, first.body]).toEqual([200, { referenceId, grantExpiresAt: null, ...waiting }]);
      expect(await listed(referenceId)).toMatchObject({ ...waiting, approverGroup: 'finance' });
      const twice = await answer(token, ann);
      expect([twice.status, twice.body.code]).toEqual([409, 'conflict']);
      const again = await opened(ann);
      expect(again.text).toContain('Your approval is counted');
      expect(again.text).not.toContain('<form');
      expect((await opened(ben)).text).toContain('1 of 2');
      const page = await answer(token, ben, 'action=approve', FORM);
      expect([page.status, page.text]).toEqual([200, expect.stringContaining('<h1>Approved</h1>')]);
      expect((await answer(token, cy)).status).toBe(410);
      const { approvals } = (await gate.service.admin('GET', '/approvals?limit=1')).body;
      const decided = { needed: 2, approved: [by(ann), by(ben)] };
      expect(approvals[0]).toMatchObject({
        referenceId,
        status: 'approved',
        votes: decided,
        note: 'checked',
      });
      const told = () =>
        events.arrivals.filter(
          each => each.json?.data.referenceId === referenceId && each.json.type !== 'approval.created',
        );
      await until('the news', () => told().length > 0);
      expect(told().map(each => [each.json.type, each.json.data])).toEqual([
        ['approval.resolved', expect.objectContaining({ votes: decided, note: 'checked' })],
      ]);
      const more = { args: { amount: 700 }, referenceId };
      expect((await gate.service.check(key, 'prod', 'refund', more)).body.decision).toBe('allow');
    });

    test('a vote that does not decide is a page too', async () => {
      const { token, referenceId } = await gate.ask(key, 'refund');
      const page = await answer(token, people.ann, 'action=approve', FORM);
      expect([page.status, page.text]).toEqual([200, expect.stringContaining('1 of 2')]);
      expect(await gate.statusOf(referenceId)).toBe('pending');
      const twice = await answer(token, people.ann, 'action=approve', FORM);
      expect([twice.status, twice.text]).toEqual([409, expect.stringContaining('approved this call before')]);
      const denied = await answer(token, people.ben, 'action=deny', FORM);
      expect(denied.text).toContain('<h1>Denied</h1>');
    });

    test('others are refused by name of the group, and a grant by votes with its place', async () => {
      const { token, referenceId } = await gate.ask(key, 'refund');
      for (const action of ['approve', 'deny']) {
        const admin = await gate.service.admin('POST', `/approvals/${referenceId}/resolve`, { action });
        const byName = await resolve(referenceId, people.outsider, { action });
        const byLink = await answer(token, people.outsider, { action });
        for (const reply of [admin, byName, byLink])
          expect([reply.status, reply.body.code]).toEqual([403, 'not_an_approver']);
        expect(byLink.body.detail).toContain('"finance"');
      }
      const page = await gate.open(token, '', { headers: { Cookie: people.outsider.cookie } });
      expect([page.status, page.text]).toEqual([
        403,
        expect.stringContaining('<h1>You may not answer this</h1>'),
      ]);
      expect(page.text).toContain('finance');
      const lasting = await resolve(referenceId, people.ann, { action: 'approve', duration: '1h' });
      expect([lasting.status, lasting.body.errors[0].path]).toEqual([400, '/duration']);
      expect((await listed(referenceId)).votes.approved).toEqual([]);
    });

    test('one person of a group may be enough, and may open a grant', async () => {
      const { referenceId } = await gate.ask(key, 'deploy');
      const reply = await resolve(referenceId, people.ann, { action: 'approve', duration: '1h' });
      expect(reply.body).toMatchObject({
        status: 'approved',
        votes: { needed: 1, approved: [by(people.ann)] },
      });
      expect((await gate.service.check(key, 'prod', 'deploy')).body.decision).toBe('allow');
    });

    test('who leaves the group can no longer answer, at once', async () => {
      const eve = await newPerson(gate.service, 'approver');
      const { referenceId } = await gate.ask(key, 'refund');
      const join = (groups: string[]) => gate.service.admin('PATCH', `/operators/${eve.id}`, { groups });
      const attempt = async () => (await resolve(referenceId, eve, { action: 'approve' })).status;
      expect(await attempt()).toBe(403);
      await join(['finance']);
      await join([]);
      expect(await attempt()).toBe(403);
      await join(['finance']);
      expect(await attempt()).toBe(200);
    });

    test('the vote of somebody who left the group, or was removed and invited again, does not count', async () => {
      const eve = await newPerson(gate.service, 'approver');
      const joins = (id: string, groups: string[]) =>
        gate.service.admin('PATCH', `/operators/${id}`, { groups });
      await joins(eve.id, ['finance']);
      const approve = { action: 'approve' };
      const left = await gate.ask(key, 'refund');
      await resolve(left.referenceId, eve, approve);
      await joins(eve.id, []);
      const after = (await resolve(left.referenceId, people.ann, approve)).body;
      expect([after.status, after.votes.approved]).toEqual(['pending', [by(people.ann)]]);
      expect((await resolve(left.referenceId, people.ben, approve)).body.status).toBe('approved');
      await joins(eve.id, ['finance']);
      const twice = await gate.ask(key, 'refund', { args: { amount: 2 } });
      await resolve(twice.referenceId, eve, approve);
      await gate.service.admin('DELETE', `/operators/${eve.id}`);
      const { id, token } = await invite(gate.service, eve.email, 'approver');
      await joinOperators(gate.service, token);
      await joins(id, ['finance']);
      const anew = { ...eve, id, cookie: await signedIn(gate.service, eve.email) };
      const again = (await resolve(twice.referenceId, anew, approve)).body;
      expect([again.status, again.votes.approved]).toEqual(['pending', [by(eve)]]);
    });

    test.each([
      ['was reset', async (id: string) => void (await reset(id))],
      ['was reset and has come back', async (id: string) => joinOperators(gate.service, await reset(id))],
      [
        'became a viewer',
        (id: string) => gate.service.admin('PATCH', `/operators/${id}`, { role: 'viewer' }),
      ],
    ])(
      'the vote of somebody who %s does not count, but what was approved before stays',
      async (_, change) => {
        const approve = { action: 'approve' };
        const eve = await newPerson(gate.service, 'approver');
        await gate.service.admin('PATCH', `/operators/${eve.id}`, { groups: ['finance'] });
        const decided = await gate.ask(key, 'refund', { args: { for: eve.id } });
        for (const who of [eve, people.cy]) await resolve(decided.referenceId, who, approve);
        const { referenceId } = await gate.ask(key, 'refund');
        expect((await resolve(referenceId, eve, approve)).body.votes.approved).toEqual([by(eve)]);
        await change(eve.id);
        const after = (await resolve(referenceId, people.ann, approve)).body;
        expect([after.status, after.votes.approved]).toEqual(['pending', [by(people.ann)]]);
        expect((await gate.service.check(key, 'prod', 'refund', { referenceId })).body.decision).toBe(
          'pending',
        );
        expect((await resolve(referenceId, people.ben, approve)).body.status).toBe('approved');
        const more = { args: { for: eve.id }, referenceId: decided.referenceId };
        expect((await gate.service.check(key, 'prod', 'refund', more)).body.decision).toBe('allow');
      },
    );

    test('a reset takes votes back at once, and whoever was reset may vote anew', async () => {
      const eve = await newPerson(gate.service, 'approver');
      await gate.service.admin('PATCH', `/operators/${eve.id}`, { groups: ['finance'] });
      const { referenceId } = await gate.ask(key, 'refund');
      await resolve(referenceId, eve, { action: 'approve' });
      const cookie = await joinOperators(gate.service, await reset(eve.id));
      expect((await listed(referenceId)).votes.approved).toEqual([]);
      const anew = await resolve(referenceId, { ...eve, cookie }, { action: 'approve' });
      expect(anew.body.votes.approved).toEqual([by(eve)]);
    });

    test('what was answered without a person of the group does not free a call', async () => {
      const answeredThere = (referenceId: string) =>
        gate.rows(
          `UPDATE approvals SET status = 'approved', resolved_by = 'link', resolved_at = ${Date.now()}
           WHERE id = '${referenceId}'`,
        );
      const { referenceId } = await gate.ask(key, 'refund', { args: { amount: 3 } });
      await answeredThere(referenceId);
      const more = { args: { amount: 3 }, referenceId };
      const { decision, reason } = (await gate.service.check(key, 'prod', 'refund', more)).body;
      expect([decision, reason]).toEqual([
        'pending',
        expect.stringContaining('not enough people of the group'),
      ]);
      const lasting = await gate.ask(key, 'restart');
      await resolve(lasting.referenceId, people.ann, { action: 'approve', duration: '1h' });
      const next = async () => (await gate.service.check(key, 'prod', 'restart')).body.decision;
      expect(await next()).toBe('allow');
      await gate.rows(`UPDATE grants SET opened_by = NULL WHERE reference_id = '${lasting.referenceId}'`);
      expect(await next()).toBe('pending');
    });

    test('an approval from before does not free a call for which the rule now wants a group, or more of it', async () => {
      const {
        key: agent,
        policyId,
        policyName,
      } = await gate.service.newKey([{ tool: '*', action: 'require_approval' }]);
      const becomes = async (approvers: Rule['approvers']) => {
        const rules = [{ tool: '*', action: 'require_approval', approvers }];
        const saved = await gate.service.admin('PUT', `/policies/${policyId}`, { name: policyName, rules });
        expect(saved.status).toBe(200);
      };
      const { token, referenceId } = await gate.ask(agent, 'refund');
      await gate.approve(token);
      const ask = async (named: string) =>
        (await gate.service.check(agent, 'prod', 'refund', { referenceId: named })).body;
      await becomes({ group: 'finance' });
      const held = await ask(referenceId);
      expect([held.decision, held.reason]).toEqual(['pending', expect.stringContaining('other people')]);
      await resolve(held.referenceId, people.ann, { action: 'approve' });
      await becomes({ group: 'finance', count: 2 });
      const more = await ask(held.referenceId);
      expect(more.decision).toBe('pending');
      for (const who of [people.ann, people.ben]) await resolve(more.referenceId, who, { action: 'approve' });
      expect((await ask(more.referenceId)).decision).toBe('allow');
    });
  });
}
