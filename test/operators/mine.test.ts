// What is a person's own, and nothing else: connections, calls and approvals in their name. To whom keys are open, and
// that what a person has connected ends at once: by them, by an admin, and with their account.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Rule } from '../../src/core/policy/policy.ts';
import { exchange, startOAuth } from '../oauth/connect.ts';
import type { TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { codeFor, connected } from './connected.ts';
import { join, newPerson, type Person, send } from './people.ts';

const RULES: Rule[] = [
  { tool: 'look', action: 'allow' },
  { tool: 'ship', action: 'require_approval', show: ['to'] },
];

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/people/**')) {
  describe(engine, () => {
    let service: TestService;
    let keyId: string;
    let ann: Person;
    let bob: Person;
    beforeAll(async () => {
      service = await startOAuth({ engine });
      [ann, bob] = await Promise.all([newPerson(service, 'user'), newPerson(service, 'approver')]);
      await regroup(ann, ['dev', 'ops']);
      ({ keyId } = await service.newKey(RULES, { name: 'shared', openTo: ['group:dev', 'group:approvers'] }));
      await regroup(bob, ['approvers']);
    });
    afterAll(() => service?.close());

    const regroup = (person: Person, groups: string[]) =>
      service.admin('PATCH', `/operators/${person.id}`, { groups });
    const mine = (person: Person, path: string, method = 'GET') =>
      send(service, method, `/admin/v1/me${path}`, person);
    const refused = async (token: string) => (await service.check(token, 'prod', 'look')).status === 401;

    test('connections: listed to whose they are, and ended by nobody else, at once and on record', async () => {
      const one = await connected(service, ann, keyId, 'Client One');
      const two = await connected(service, ann, keyId, 'Client Two');
      const other = await connected(service, bob, keyId);
      const { body } = await mine(ann, '/connections');
      expect(body.connections.map((each: { id: string }) => each.id)).toEqual([two.id, one.id]);
      expect(body.connections[1]).toEqual({
        id: one.id,
        clientId: one.clientId,
        clientName: 'Client One',
        keyId,
        keyName: 'shared',
        createdAt: expect.any(String),
        lastUsedAt: expect.any(String),
        expiresAt: expect.any(String),
      });
      expect((await mine(ann, `/connections/${other.id}`, 'DELETE')).status).toBe(404);
      expect((await mine(ann, '/connections/unknown', 'DELETE')).status).toBe(404);
      expect(await refused(other.token)).toBe(false);
      expect(await refused(one.token)).toBe(false);
      expect((await mine(ann, `/connections/${one.id}`, 'DELETE')).status).toBe(204);
      expect(await refused(one.token)).toBe(true);
      expect((await mine(ann, `/connections/${one.id}`, 'DELETE')).status).toBe(204);
      expect((await mine(ann, '/connections')).body.connections).toHaveLength(1);
      const { changes } = (await service.admin('GET', '/changes?limit=1')).body;
      expect(changes).toMatchObject([
        {
          actor: `operator:${ann.email}`,
          action: 'session.revoke',
          target: one.id,
          detail: { keyId, label: 'Client One', personId: ann.id },
        },
      ]);
    });

    test('a key that ends somebody’s connection does so on record', async () => {
      const { key, keyId: team } = await service.newKey(RULES, { openTo: [`person:${ann.email}`] });
      const { id, token } = await connected(service, ann, team);
      expect((await service.json('DELETE', `/v1/sessions/${id}`, key)).status).toBe(204);
      expect(await refused(token)).toBe(true);
      const { changes } = (await service.admin('GET', '/changes?limit=1')).body;
      const because = 'Somebody with the key itself ended it.';
      const detail = { keyId: team, label: 'Some Client', personId: ann.id, because };
      expect(changes).toMatchObject([{ actor: 'system', action: 'session.revoke', target: id, detail }]);
      const { sessions } = (await service.admin('GET', `/sessions?keyId=${team}`)).body;
      expect(sessions[0]).toMatchObject({ id, revokedBecause: because });
    });

    test('calls: those in one’s own name, by every filter; for admins the log can be filtered by person', async () => {
      const own = await connected(service, ann, keyId);
      const other = await connected(service, bob, keyId);
      const { body: looked } = await service.check(own.token, 'prod', 'look');
      await service.check(own.token, 'prod', 'unknown');
      await service.check(other.token, 'prod', 'look');
      const { key } = await service.newKey(RULES);
      await service.check(key, 'prod', 'look');
      const calls = async (query: string) =>
        (await mine(ann, `/calls?sessionId=${own.id}${query}`)).body.entries;
      expect(await calls('')).toHaveLength(2);
      expect(await calls('&decision=allow')).toEqual([
        expect.objectContaining({
          id: looked.toolCallId,
          toolName: 'look',
          personId: ann.id,
          keyName: 'shared',
        }),
      ]);
      const all = (await mine(ann, '/calls?limit=1000')).body.entries;
      expect(new Set(all.map((each: { personId: string }) => each.personId))).toEqual(new Set([ann.id]));
      expect((await mine(ann, `/calls?personId=${bob.id}`)).status).toBe(400);
      expect((await mine(bob, `/calls?sessionId=${own.id}`)).body.entries).toEqual([]);

      const { entries } = (await service.admin('GET', `/audit?personId=${ann.id}&sessionId=${own.id}`)).body;
      expect(entries).toHaveLength(2);
      expect(entries[0].personId).toBe(ann.id);
      const exported = await service.admin('GET', `/audit/export?personId=${bob.id}&sessionId=${other.id}`);
      expect(
        exported.text
          .trim()
          .split('\n')
          .map(line => JSON.parse(line).personId),
      ).toEqual([bob.id]);
      const csv = await service.admin('GET', `/audit/export?format=csv&sessionId=${other.id}`);
      expect(csv.text).toContain(bob.id);
    });

    test('approvals: one’s own with their state, without details, and nobody answers their own call', async () => {
      const own = await connected(service, bob, keyId);
      const asked = (await service.check(own.token, 'prod', 'ship', { args: { to: 'the moon' } })).body;
      const { referenceId } = asked;
      const pending = await mine(bob, '/approvals?status=pending');
      expect(pending.body.approvals).toEqual([
        {
          referenceId,
          toolCallId: asked.toolCallId,
          keyId,
          keyName: 'shared',
          sessionId: own.id,
          serverName: 'prod',
          toolName: 'ship',
          status: 'pending',
          reason: expect.any(String),
          createdAt: expect.any(String),
          expiresAt: expect.any(String),
          resolvedAt: null,
          note: null,
        },
      ]);
      expect(pending.text).not.toContain('moon');
      expect((await mine(ann, '/approvals')).body.approvals).toEqual([]);
      const listed = (await send(service, 'GET', '/admin/v1/approvals?status=pending', bob)).body.approvals;
      expect(listed).toMatchObject([{ referenceId, personId: bob.id, personEmail: bob.email }]);

      const answer = (person: Person) =>
        send(service, 'POST', `/admin/v1/approvals/${referenceId}/resolve`, person, {
          action: 'approve',
          note: 'go',
        });
      const refusal = await answer(bob);
      expect([refusal.status, refusal.body.code]).toEqual([403, 'own_call']);
      const whole = await send(service, 'GET', `/admin/v1/approvals/${referenceId}`, bob);
      expect(whole.body).toMatchObject({ detailsHidden: true, personEmail: bob.email });
      expect((await answer(ann)).status).toBe(403);
      expect((await answer(await newPerson(service, 'approver'))).status).toBe(200);
      const [answered] = (await mine(bob, '/approvals')).body.approvals;
      expect(answered).toMatchObject({ referenceId, status: 'approved', note: 'go' });
      expect(answered.resolvedAt).not.toBeNull();
    });

    test('an approval frees calls in the name of who asked, and no grant those of who opened it', async () => {
      const rules: Rule[] = [{ tool: 'ship', action: 'require_approval' }];
      const both = [`person:${ann.email}`, `person:${bob.email}`];
      const { key, keyId: team } = await service.newKey(rules, { openTo: both });
      const [anns, again, bobs] = [
        await connected(service, ann, team),
        await connected(service, ann, team),
        await connected(service, bob, team),
      ];
      const ship = async (token: string, to: string, referenceId?: string) =>
        (await service.check(token, 'prod', 'ship', { args: { to }, ...(referenceId && { referenceId }) }))
          .body;
      const approve = (referenceId: string, more = {}) =>
        send(service, 'POST', `/admin/v1/approvals/${referenceId}/resolve`, bob, {
          action: 'approve',
          ...more,
        });

      const { referenceId } = await ship(anns.token, 'a');
      expect((await approve(referenceId)).status).toBe(200);
      for (const token of [bobs.token, key]) {
        const refusal = await ship(token, 'a', referenceId);
        expect([refusal.decision, refusal.reason]).toEqual([
          'pending',
          expect.stringContaining('there is none with this id'),
        ]);
      }
      expect((await ship(again.token, 'a', referenceId)).decision).toBe('allow');

      const agents = (await ship(key, 'b')).referenceId;
      await approve(agents);
      expect((await ship(bobs.token, 'b', agents)).decision).toBe('pending');
      expect((await ship(key, 'b', agents)).decision).toBe('allow');

      const denied = (await ship(anns.token, 'c')).referenceId;
      await approve(denied, { action: 'deny', note: 'for Ann alone' });
      expect((await ship(bobs.token, 'c', denied)).message).not.toContain('for Ann alone');
      expect((await ship(anns.token, 'c', denied)).message).toContain('for Ann alone');

      await approve((await ship(anns.token, 'd')).referenceId, { duration: '1h' });
      expect((await ship(anns.token, 'e')).decision).toBe('allow');
      expect((await ship(key, 'e')).decision).toBe('allow');
      expect((await ship(bobs.token, 'e')).decision).toBe('pending');
    });

    test('the admin token is no person, and has nothing of its own', async () => {
      for (const path of ['/me/connections', '/me/calls', '/me/approvals']) {
        const reply = await service.admin('GET', path);
        expect([path, reply.status, reply.body.code]).toEqual([path, 409, 'conflict']);
      }
    });

    test('a key is open to groups and people: kept in one form, bounded, shown, on record, and closed at once', async () => {
      const patch = (openTo: unknown) => service.admin('PATCH', `/keys/${keyId}`, { openTo });
      const given = ['group:Dev Team', 'person:Zoe@Example.com', 'person:zoe@example.com', 'group:Dev Team'];
      const kept = ['group:Dev Team', 'person:zoe@example.com'];
      const made = (await service.newKey(RULES, { openTo: given })).keyId;
      const keys = (await service.admin('GET', '/keys?limit=1000')).body.keys;
      expect(keys.find((key: { id: string }) => key.id === made).openTo).toEqual(kept);
      const faults: [unknown, string, RegExp][] = [
        ['group:dev', '/openTo', /must be a list/],
        [['dev'], '/openTo/0', /must be group:<name> or person:<e-mail>/],
        [['group:dev', 'group:'], '/openTo/1', /names a group that must have 1 to 128 characters/],
        [['person:ann'], '/openTo/0', /such as group:dev or person:ann@example\.com/],
        [['person: ann@example.com'], '/openTo/0', /must be/],
        [['person:an\u0007n@example.com'], '/openTo/0', /must be/],
        [[`person:${'a'.repeat(320)}@example.com`], '/openTo/0', /must be/],
        [Array.from({ length: 101 }, (_, n) => `group:${n}`), '/openTo', /100/],
      ];
      for (const [openTo, path, message] of faults) {
        const { status, body } = await patch(openTo);
        expect([openTo, status, body.errors?.[0]?.path]).toEqual([openTo, 400, path]);
        expect(body.errors[0].message).toMatch(message);
      }

      const { token } = await connected(service, ann, keyId);
      expect(await refused(token)).toBe(false);
      const closed = await patch(['group:approvers']);
      expect(closed.body.openTo).toEqual(['group:approvers']);
      expect(await refused(token)).toBe(true);
      const { changes } = (await service.admin('GET', '/changes?limit=1')).body;
      expect(changes).toMatchObject([
        { action: 'key.update', target: keyId, detail: { changed: ['openTo'], openTo: ['group:approvers'] } },
      ]);
      // What has ended stays ended.
      await patch(['group:dev', 'group:approvers', `person:${ann.email}`]);
      expect(await refused(token)).toBe(true);
      expect(await refused((await connected(service, ann, keyId)).token)).toBe(false);
    });

    test('an admin sees whose a session is, and ends it; with the person all they have connected ends', async () => {
      const leaver = await newPerson(service, 'user');
      await regroup(leaver, ['dev']);
      const other = (await service.newKey(RULES, { openTo: ['group:dev'] })).keyId;
      const sessions = async (id = keyId) =>
        (await service.admin('GET', `/sessions?keyId=${id}`)).body.sessions;
      const first = await connected(service, leaver, keyId, 'Client One');
      expect((await sessions())[0]).toMatchObject({
        id: first.id,
        label: 'Client One',
        personId: leaver.id,
        personEmail: leaver.email,
        clientId: first.clientId,
        clientName: 'Client One',
        lastUsedAt: expect.any(String),
        revokedAt: null,
        revokedBecause: null,
      });
      expect((await service.admin('DELETE', `/sessions/${first.id}`)).status).toBe(204);
      expect(await refused(first.token)).toBe(true);

      const code = await codeFor(service, leaver, keyId);
      const two = [await connected(service, leaver, keyId), await connected(service, leaver, other)];
      expect((await service.admin('POST', `/operators/${leaver.id}/reset`)).status).toBe(200);
      for (const { token } of two) expect(await refused(token)).toBe(true);
      expect((await sessions(other))[0]).toMatchObject({ revokedBecause: 'The person was reset.' });
      // A code that was given out before leads to nothing.
      expect((await exchange(service, code.clientId, code.code)).body.error).toBe('invalid_grant');

      const again = (await service.admin('POST', `/operators/${leaver.id}/reset`)).body.resetUrl;
      leaver.cookie = await join(service, new URL(again).searchParams.get('token') ?? '');
      const last = await connected(service, leaver, keyId);
      const kept = await connected(service, ann, keyId);
      expect(await refused(last.token)).toBe(false);
      expect((await service.admin('DELETE', `/operators/${leaver.id}`)).status).toBe(204);
      expect(await refused(last.token)).toBe(true);
      expect(await refused(kept.token)).toBe(false);
      expect((await sessions()).find((each: { id: string }) => each.id === last.id)).toMatchObject({
        personId: leaver.id,
        personEmail: null,
        revokedBecause: 'The person was removed.',
      });
    });
  });
}
