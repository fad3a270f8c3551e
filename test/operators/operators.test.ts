// Operators on both engines: the first one, invitations, roles and their immediate effect, the last admin, and
// that every change is recorded.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { expectProblem } from '../http/problem.ts';
import { sql } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import {
  cookieOf,
  invite,
  join,
  newPerson,
  PASSWORD,
  type Person,
  send,
  signedIn,
  signIn,
} from './people.ts';

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/people/**')) {
  describe(engine, () => {
    let service: TestService;
    let ada: Person;
    beforeAll(async () => {
      service = await startService({ engine, env: { TOOLGATE_TRUSTED_PROXIES: '127.0.0.1/32' } });
    });
    afterAll(() => service.close());

    const me = (cookie: string) => send(service, 'GET', '/admin/v1/me', { cookie });
    const changes = async () => (await service.admin('GET', '/changes')).body.changes;

    test('the set-up link makes an admin who can sign in, whatever the case of the e-mail', async () => {
      const token = /setup\?token=(\S+)/.exec(service.output)?.[1] as string;
      const body = { token, email: 'Ada@Example.com', password: PASSWORD };
      const made = await service.json('POST', '/admin/v1/setup', null, body);
      expect(made.status).toBe(201);
      const reply = await signIn(service, 'aDA@example.COM');
      expect(reply.status).toBe(200);
      expect(reply.body).toEqual({
        email: 'ada@example.com',
        role: 'admin',
        groups: [],
        actor: 'operator:ada@example.com',
      });
      ada = { id: made.body.id, email: 'ada@example.com', cookie: cookieOf(reply) };
      expect((await me(ada.cookie)).body.email).toBe('ada@example.com');
    });

    test('an invitation lets one person in, once', async () => {
      const body = { email: 'Bob@example.com', role: 'approver' };
      const invited = await send(service, 'POST', '/admin/v1/operators', ada, body);
      expect(invited.status).toBe(201);
      expect(invited.headers.get('cache-control')).toBe('no-store');
      expect(invited.body).toMatchObject({ email: 'bob@example.com', role: 'approver', status: 'invited' });
      expect(invited.body.inviteUrl).toStartWith(`${service.url}/dashboard/join?token=`);
      const lifetime = Date.parse(invited.body.inviteExpiresAt) - Date.parse(invited.body.createdAt);
      expect(lifetime).toBe(7 * 86_400_000);
      expectProblem(await send(service, 'POST', '/admin/v1/operators', ada, body), 409, 'conflict');

      const token = new URL(invited.body.inviteUrl).searchParams.get('token');
      const accept = (password: string) => service.json('POST', '/admin/v1/join', null, { token, password });
      expectProblem(await accept('too short'), 400, 'invalid_input', ['/password']);
      expectProblem(await accept('bob@example.com'), 400, 'invalid_input', ['/password']);
      const replies = await Promise.all([accept(PASSWORD), accept(PASSWORD)]);
      expect(replies.map(each => each.status).sort()).toEqual([200, 410]);
      expectProblem(await accept(PASSWORD), 410, 'gone');
      const joined = replies.find(each => each.status === 200)!;
      expect(joined.body.status).toBe('active');
      expect(joined.headers.get('cache-control')).toBe('no-store');
      // Joining signs in, the one that joined only.
      expect((await me(cookieOf(joined))).body).toMatchObject({ email: 'bob@example.com', role: 'approver' });
      expect(replies.find(each => each.status === 410)?.headers.get('set-cookie')).toBeNull();
      expect((await me(await signedIn(service, 'bob@example.com'))).body.role).toBe('approver');
    });

    test('an invited person cannot sign in before joining, nor join after being deleted', async () => {
      const { id, token } = await invite(service, 'cy@example.com', 'viewer');
      expect((await signIn(service, 'cy@example.com', PASSWORD)).status).toBe(401);
      expect((await send(service, 'DELETE', `/admin/v1/operators/${id}`, ada)).status).toBe(204);
      const late = await service.json('POST', '/admin/v1/join', null, { token, password: PASSWORD });
      expectProblem(late, 410, 'gone');
    });

    test('operators are listed, page by page', async () => {
      const first = await send(service, 'GET', '/admin/v1/operators?limit=1', ada);
      const rest = await send(service, 'GET', `/admin/v1/operators?cursor=${first.body.nextCursor}`, ada);
      const all = [...first.body.operators, ...rest.body.operators];
      expect(all.map(each => each.email)).toEqual(['bob@example.com', 'ada@example.com']);
      expect(Object.keys(all[0]).sort()).toEqual(['createdAt', 'email', 'groups', 'id', 'role', 'status']);
    });

    test('a new role counts at once, and the actor is the operator', async () => {
      const dee = await newPerson(service, 'viewer');
      const policy = () =>
        send(service, 'POST', '/admin/v1/policies', dee, { name: crypto.randomUUID(), rules: [] });
      expectProblem(await policy(), 403, 'forbidden');
      const path = `/admin/v1/operators/${dee.id}`;
      const changed = await send(service, 'PATCH', path, ada, { role: 'admin' });
      expect(changed.body).toMatchObject({ id: dee.id, role: 'admin', status: 'active' });
      expect((await policy()).status).toBe(201);
      expect((await changes())[0]).toMatchObject({ action: 'policy.create', actor: `operator:${dee.email}` });
      expect((await send(service, 'PATCH', path, ada, { role: 'viewer' })).status).toBe(200);
      expectProblem(await policy(), 403, 'forbidden');
    });

    test('groups are set as a whole, each name once, and are seen by the person at once', async () => {
      const flo = await newPerson(service, 'approver');
      const put = (body: object) => send(service, 'PATCH', `/admin/v1/operators/${flo.id}`, ada, body);
      const changed = await put({ groups: ['finance', 'on call', 'finance'] });
      expect(changed.body).toMatchObject({ id: flo.id, role: 'approver', groups: ['finance', 'on call'] });
      expect((await me(flo.cookie)).body.groups).toEqual(['finance', 'on call']);
      expect((await changes())[0]).toMatchObject({
        actor: `operator:${ada.email}`,
        action: 'operator.groups',
        target: flo.id,
        detail: { email: flo.email, from: [], to: ['finance', 'on call'] },
      });
      // What is as it was is no change.
      await put({ groups: ['finance', 'on call'], role: 'approver' });
      expect((await changes())[0].detail.from).toEqual([]);
      const both = await put({ groups: [], role: 'viewer' });
      expect(both.body).toMatchObject({ role: 'viewer', groups: [] });
      const many = Array.from({ length: 201 }, (_, index) => `g${index}`);
      for (const wrong of [{}, { groups: null }, { groups: 'finance' }, { groups: many }])
        expectProblem(await put(wrong), 400, 'invalid_input');
      for (const name of ['', 'x'.repeat(129), 'a\nb', 1])
        expectProblem(await put({ groups: ['ok', name] }), 400, 'invalid_input', ['/groups/1']);
    });

    test('a deleted operator is out at once', async () => {
      const eve = await newPerson(service, 'approver');
      expect((await me(eve.cookie)).status).toBe(200);
      expect((await send(service, 'DELETE', `/admin/v1/operators/${eve.id}`, ada)).status).toBe(204);
      expectProblem(await me(eve.cookie), 401, 'unauthenticated');
      expect((await signIn(service, eve.email)).status).toBe(401);
      expectProblem(await send(service, 'DELETE', `/admin/v1/operators/${eve.id}`, ada), 404, 'not_found');
      const left = await sql(service.databaseUrl, `SELECT id FROM sign_ins WHERE operator_id = '${eve.id}'`);
      expect(left).toEqual([]);
    });

    test('the last admin can neither go nor become less; of two who go at once one stays', async () => {
      const path = `/admin/v1/operators/${ada.id}`;
      expectProblem(await send(service, 'DELETE', path, ada), 409, 'conflict');
      expectProblem(await send(service, 'PATCH', path, ada, { role: 'viewer' }), 409, 'conflict');
      // One who never joined is nobody to leave it to.
      const { id: invited } = await invite(service, 'fay@example.com', 'admin');
      expectProblem(await service.admin('DELETE', `/operators/${ada.id}`), 409, 'conflict');
      expect((await service.admin('DELETE', `/operators/${invited}`)).status).toBe(204);
      const gil = await newPerson(service, 'admin');
      const both = await Promise.all([
        service.admin('DELETE', `/operators/${gil.id}`),
        service.admin('PATCH', `/operators/${ada.id}`, { role: 'approver' }),
      ]);
      expect(both.filter(each => each.status === 409)).toHaveLength(1);
    });

    test('every change is recorded, with who made it', async () => {
      const { id, token } = await invite(service, 'hal@example.com', 'viewer');
      await join(service, token);
      await service.admin('PATCH', `/operators/${id}`, { role: 'approver' });
      await service.admin('DELETE', `/operators/${id}`);
      const recorded = (await changes()).filter((each: { target: string }) => each.target === id);
      const shown = recorded.map(({ actor, action, detail }: Record<string, unknown>) => [
        actor,
        action,
        detail,
      ]);
      expect(shown.reverse()).toEqual([
        ['admin', 'operator.invite', { email: 'hal@example.com', role: 'viewer' }],
        ['operator:hal@example.com', 'operator.join', {}],
        ['admin', 'operator.role', { email: 'hal@example.com', from: 'viewer', to: 'approver' }],
        ['admin', 'operator.delete', { email: 'hal@example.com', role: 'approver' }],
      ]);
    });

    test('input that is wrong is refused with its place', async () => {
      const post = (body: object) => service.admin('POST', '/operators', body);
      expectProblem(await post({ email: 'nobody', role: 'viewer' }), 400, 'invalid_input', ['/email']);
      expectProblem(await post({ email: 'a@example.com', role: 'root' }), 400, 'invalid_input', ['/role']);
      expectProblem(await service.admin('PATCH', '/operators/none', { role: 'admin' }), 404, 'not_found');
    });
  });
}
