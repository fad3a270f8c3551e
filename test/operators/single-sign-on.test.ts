// Single sign-on against a real provider: who can sign in and with which role, what a sign-on is bound to, and what
// happens when the provider misbehaves. The tests run on both engines, on PostgreSQL with two replicas.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import type { Rule } from '../../src/core/policy/policy.ts';
import { dump } from '../approvals/gate.ts';
import { sql, until } from '../support/faults.ts';
import { Visitor } from '../support/identity-provider.ts';
import { startService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { invite, join, newAddress, PASSWORD, send, signIn } from './people.ts';
import { BEGIN, openSignOns, type SignOns } from './sign-on.ts';

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/people/**')) {
  describe(engine, () => {
    let door: SignOns;
    beforeAll(async () => {
      door = await openSignOns({ engine, replicas: engine === 'postgres' ? 2 : 1 });
    });
    afterAll(() => door.close());

    const changesOf = async (id: string) =>
      (await door.service.admin('GET', '/changes?limit=200')).body.changes.filter(
        (each: { target: string }) => each.target === id,
      );
    const operatorOf = async (email: string) =>
      (await door.service.admin('GET', '/operators?limit=200')).body.operators.find(
        (each: { email: string }) => each.email === email,
      );

    test('somebody whose group has a role becomes an operator and is signed in', async () => {
      const { login, email } = door.person({ groups: ['books', 'on-call', 'staff'] });
      const landed = await door.signOn(login);
      expect([landed.status, landed.location]).toEqual([303, '/dashboard']);
      const [cookie] = landed.setCookies;
      expect(cookie).toMatch(/^toolgate_session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/);
      expect(landed.visitor.cookie('toolgate_sign_on')).toBeUndefined();
      expect(await door.me(landed.visitor)).toMatchObject({ email, role: 'approver' });
      const operator = await operatorOf(email);
      expect(operator).toMatchObject({ role: 'approver', status: 'active' });
      const [change] = await changesOf(operator.id);
      expect(change).toMatchObject({ actor: 'system', action: 'operator.provision' });
      expect(change.detail).toMatchObject({ email, role: 'approver', subject: login });
      const own = await landed.visitor.go(`${door.service.url}/admin/v1/me/sign-ins`);
      const { signIns } = (await own.json()) as { signIns: Record<string, unknown>[] };
      expect(signIns).toHaveLength(1);
      expect(signIns[0]).toMatchObject({ userAgent: 'Visitor/1.0', current: true });
    });

    test('somebody whose group makes them a user sees what is their own, and nothing else', async () => {
      const { login, email } = door.person({ groups: ['everyone'], teams: ['dev'] });
      const { visitor } = await door.signOn(login);
      expect(await door.me(visitor)).toMatchObject({ email, role: 'user', groups: ['dev'] });
      const status = async (path: string) => (await visitor.go(door.service.url + path)).status;
      expect(await status('/admin/v1/me/connections')).toBe(200);
      expect(await status('/admin/v1/keys')).toBe(403);
      expect(await (await visitor.go(`${door.service.url}/dashboard`)).text()).toContain(
        '&quot;role&quot;:&quot;user&quot;',
      );
    });

    test('the same person is the same operator the next time, with what their groups give then', async () => {
      const { login, email } = door.person({ groups: ['staff'] });
      await door.signOn(login);
      const { id } = await operatorOf(email);
      Object.assign(door.provider.people[login] ?? {}, { groups: ['platform'] });
      const { visitor } = await door.signOn(login);
      expect(await door.me(visitor)).toMatchObject({ email, role: 'admin' });
      expect((await operatorOf(email)).id).toBe(id);
      expect((await changesOf(id))[0].detail).toEqual({ email, from: 'viewer', to: 'admin' });
      Object.assign(door.provider.people[login] ?? {}, { groups: [] });
      const refused = await door.signOn(login);
      expect(refused.status).toBe(403);
      expect(refused.text).toContain('You have no role here.');
    });

    test('a role that an admin sets stays', async () => {
      const { login, email } = door.person({ groups: ['staff'] });
      await door.signOn(login);
      const { id } = await operatorOf(email);
      await door.service.admin('PATCH', `/operators/${id}`, { role: 'approver' });
      const { visitor } = await door.signOn(login);
      expect(await door.me(visitor)).toMatchObject({ role: 'approver' });
    });

    test('groups follow the claim that is named for them, at every sign-on', async () => {
      const { login, email } = door.person({ groups: ['staff'], teams: ['finance', 'books', 'finance'] });
      const { visitor } = await door.signOn(login);
      expect(await door.me(visitor)).toMatchObject({ groups: ['finance', 'books'] });
      const { id, groups } = await operatorOf(email);
      expect(groups).toEqual(['finance', 'books']);
      expect((await changesOf(id))[0]).toMatchObject({
        actor: 'system',
        action: 'operator.groups',
        detail: { email, from: [], to: ['finance', 'books'] },
      });
      await door.service.admin('PATCH', `/operators/${id}`, { groups: ['finance', 'board'] });
      await door.signOn(login);
      expect((await operatorOf(email)).groups).toEqual(['finance', 'books']);
      Object.assign(door.provider.people[login] ?? {}, { teams: undefined });
      await door.signOn(login);
      expect((await operatorOf(email)).groups).toEqual([]);
    });

    test('an invited person comes in their role, and the link is used up', async () => {
      const { login, email } = door.person({});
      const { id, token } = await invite(door.service, email.toUpperCase(), 'admin');
      const { visitor } = await door.signOn(login);
      expect(await door.me(visitor)).toMatchObject({ email, role: 'admin' });
      expect(await operatorOf(email)).toMatchObject({ id, status: 'active' });
      expect((await changesOf(id))[0]).toMatchObject({
        actor: `operator:${email}`,
        action: 'operator.link',
      });
      const late = await door.service.json('POST', '/admin/v1/join', null, { token, password: PASSWORD });
      expect(late.status).toBe(410);
    });

    test('an operator with a password may come both ways', async () => {
      const { login, email } = door.person({});
      const { token } = await invite(door.service, email, 'viewer');
      await join(door.service, token);
      const { visitor } = await door.signOn(login);
      expect(await door.me(visitor)).toMatchObject({ email, role: 'viewer' });
      expect((await signIn(door.service, email, PASSWORD, { ip: newAddress() })).status).toBe(200);
    });

    test('another account with an operator’s e-mail does not get in', async () => {
      const { login, email } = door.person({});
      await invite(door.service, email, 'admin');
      await door.signOn(login);
      const other = door.person({ email });
      const refused = await door.signOn(other.login);
      expect(refused.status).toBe(403);
      expect(refused.text).toContain('another account');
      expect(await door.me(refused.visitor)).toBeNull();
    });

    test('who is refused, and why', async () => {
      const known = door.person({});
      await invite(door.service, known.email, 'admin');
      const cases: [Record<string, unknown>, string][] = [
        [{ email_verified: false, groups: ['platform'] }, 'Your e-mail is not verified'],
        [{ email_verified: undefined }, 'does not say that your e-mail is verified'],
        [{ email_verified: undefined, email: known.email, groups: ['staff'] }, 'There is an operator'],
        [{ email: undefined, groups: ['platform'] }, 'did not tell your e-mail'],
        [{ email: 'eve@example.com@evil.example', groups: ['platform'] }, 'did not tell your e-mail'],
        [{ email: 'eve@evil.example', groups: ['platform'] }, 'domain cannot sign in here'],
        [{ groups: ['books', { platform: true }] }, 'You have no role here'],
        [{ groups: 'platforms' }, 'You have no role here'],
        [{}, 'You have no role here'],
      ];
      for (const [claims, sentence] of cases) {
        const landed = await door.signOn(door.person(claims).login);
        expect([landed.status, landed.text.includes(sentence), sentence]).toEqual([403, true, sentence]);
        expect(await door.me(landed.visitor)).toBeNull();
      }
    });

    test('an e-mail that only looks like an operator’s leads to nobody else’s rights', async () => {
      const mike = `mike-${crypto.randomUUID().slice(0, 8)}@example.com`;
      await invite(door.service, mike, 'admin');
      // The Kelvin sign, which Unicode's own folding makes a k.
      const kelvin = mike.replace('k', '\u212A');
      const refused = await door.signOn(door.person({ email: kelvin }).login);
      expect([refused.status, refused.text.includes('You have no role here')]).toEqual([403, true]);
      const { visitor } = await door.signOn(door.person({ email: kelvin, groups: ['staff'] }).login);
      expect(await door.me(visitor)).toMatchObject({ email: kelvin, role: 'viewer' });
      expect(await operatorOf(mike)).toMatchObject({ status: 'invited' });
      for (const unseen of ['\u200B', '\u00AD', '\u202E', '\u0007']) {
        const hidden = door.person({ email: mike.replace('@', `${unseen}@`), groups: ['platform'] });
        const landed = await door.signOn(hidden.login);
        expect([landed.status, landed.text.includes('characters that nobody can see')]).toEqual([403, true]);
      }
    });

    test('an e-mail outside ASCII is linked to nobody', async () => {
      const email = `müller-${crypto.randomUUID().slice(0, 8)}@example.com`;
      const { login } = door.person({ email, groups: ['staff'] });
      expect((await door.signOn(login)).status).toBe(303);
      const { id } = await operatorOf(email);
      expect((await door.signOn(login)).status).toBe(303);
      await door.service.admin('POST', `/operators/${id}/reset`);
      const refused = await door.signOn(login);
      expect([refused.status, refused.text.includes('can be mistaken for others')]).toEqual([403, true]);
    });

    test('a group is as good as a verified e-mail, for somebody new', async () => {
      const { login, email } = door.person({ email_verified: undefined, groups: ['staff'] });
      const { visitor } = await door.signOn(login);
      expect(await door.me(visitor)).toMatchObject({ email, role: 'viewer' });
      // But a key that is open to the e-mail is not open to them, until the provider says that it is theirs.
      const { keyId } = await door.service.newKey([], { openTo: [`person:${email}`] });
      const tool = { name: 'up', transport: 'http', url: 'http://127.0.0.1:1/mcp', auth: 'oauth' };
      await door.service.admin('POST', `/keys/${keyId}/connected-tools`, {
        ...tool,
        oauth: { as: 'person' },
      });
      const servers = async (who: typeof visitor) =>
        ((await (await who.go(`${door.service.url}/admin/v1/me/servers`)).json()) as { servers: unknown[] })
          .servers.length;
      expect(await servers(visitor)).toBe(0);
      Object.assign(door.provider.people[login] as object, { email_verified: true });
      expect(await servers((await door.signOn(login)).visitor)).toBe(1);
    });

    test('who was removed stays out until invited again', async () => {
      const { login, email } = door.person({ groups: ['platform'] });
      const first = await door.signOn(login);
      const { id } = await operatorOf(email);
      expect((await door.service.admin('DELETE', `/operators/${id}`)).status).toBe(204);
      expect(await door.me(first.visitor)).toBeNull();
      const sameEmail = door.person({ email, groups: ['platform'] });
      const sameAccount = `new-${email}`;
      for (const each of [login, sameEmail.login]) {
        const refused = await door.signOn(each);
        expect([refused.status, refused.text.includes('You were removed')]).toEqual([403, true]);
      }
      Object.assign(door.provider.people[login] ?? {}, { email: sameAccount });
      expect((await door.signOn(login)).status).toBe(403);
      expect(await operatorOf(email)).toBeUndefined();
      Object.assign(door.provider.people[login] ?? {}, { email });
      await invite(door.service, email, 'viewer');
      const { visitor } = await door.signOn(login);
      expect(await door.me(visitor)).toMatchObject({ email, role: 'viewer' });
    });

    test('a sign-on ends once, in the browser that began it', async () => {
      const { login } = door.person({ groups: ['staff'] });
      const begun = await door.begin();
      const url = await door.atProvider(begun, login);
      const other = new Visitor(newAddress());
      expect((await door.back(other, url)).status).toBe(410);
      expect((await door.back((await door.begin()).visitor, url)).status).toBe(410);
      const wrong = url.replace(/state=[^&]*/, `state=${'A'.repeat(43)}`);
      expect((await door.back(begun.visitor, wrong)).status).toBe(410);
      expect((await door.back(begun.visitor, url.replace(/state=[^&]*&?/, ''))).status).toBe(410);
      // As the browser sends it twice, before the first answer is there.
      const both = await Promise.all([door.back(begun.visitor, url), door.back(begun.visitor, url)]);
      expect(both.map(each => each.status).sort()).toEqual([303, 410]);
    });

    test('a code is good for its own sign-on only', async () => {
      const { login } = door.person({ groups: ['staff'] });
      const first = await door.begin();
      const code = new URL(await door.atProvider(first, login)).searchParams.get('code') ?? '';
      const second = await door.begin();
      const url = await door.atProvider(second, login);
      const swapped = await door.back(second.visitor, url.replace(/code=[^&]*/, `code=${code}`));
      expect([swapped.status, swapped.text.includes('did not sign you in')]).toEqual([401, true]);
      expect(await door.me(second.visitor)).toBeNull();
    });

    test('a token with another nonce is not taken', async () => {
      const { login } = door.person({ groups: ['staff'] });
      const begun = await door.begin();
      const authorize = begun.authorize.replace(/nonce=[^&]*/, 'nonce=another');
      const url = await door.atProvider({ ...begun, authorize }, login);
      expect((await door.back(begun.visitor, url)).status).toBe(401);
      expect(await door.me(begun.visitor)).toBeNull();
    });

    test('a refusal by the provider is said', async () => {
      const { visitor, authorize } = await door.begin();
      const state = new URL(authorize).searchParams.get('state');
      const query = new URLSearchParams({
        error: 'access_denied',
        state: state ?? '',
        iss: door.provider.url,
      });
      const landed = await door.back(visitor, `${door.service.url}${BEGIN}/callback?${query}`);
      expect([landed.status, landed.text.includes('(access_denied)')]).toEqual([401, true]);
    });

    test('nothing of a sign-on under way can be read in the store', async () => {
      const { visitor, authorize } = await door.begin();
      const stored = JSON.stringify(await dump(door.service.databaseUrl));
      const { searchParams } = new URL(authorize);
      const secrets = ['state', 'nonce', 'code_challenge'].map(name => searchParams.get(name) ?? '');
      for (const each of [...secrets, visitor.cookie('toolgate_sign_on') ?? '']) {
        expect(each.length).toBe(43);
        expect(stored).not.toContain(each);
      }
    });

    test('a sign-on that nobody came back from is removed from the store, and none that is under way', async () => {
      const { databaseUrl } = door.service;
      const kept = async () =>
        (await sql<{ hash: string }>(databaseUrl, 'SELECT hash FROM sign_ons')).map(({ hash }) => hash);
      await sql(databaseUrl, 'DELETE FROM sign_ons');
      await door.begin();
      const [lapsed] = await kept();
      await sql(databaseUrl, 'UPDATE sign_ons SET expires_at = 1000');
      const { login } = door.person({ groups: ['staff'] });
      const begun = await door.begin();
      await door.begin();
      expect(await kept()).toHaveLength(2);
      expect(await kept()).not.toContain(lapsed);
      const landed = await door.back(begun.visitor, await door.atProvider(begun, login));
      expect(landed.status).toBe(303);
    });

    test('an approval’s link goes on where it led', async () => {
      const { login, email } = door.person({ groups: ['on-call'] });
      const { key } = await door.service.newKey([{ tool: '*', action: 'require_approval' }], {
        requireSignInToApprove: true,
      });
      await door.service.check(key, 'prod', 'deploy');
      const path = `/v1/approve/${await linkShown(door)}?action=approve`;
      const away = await new Visitor(newAddress()).go(door.service.url + path);
      const name = new URL(away.headers.get('location') ?? '', door.service.url).searchParams.get('continue');
      const landed = await door.signOn(login, `?continue=${name}`);
      expect([landed.status, landed.location]).toEqual([303, path]);
      expect((await door.me(landed.visitor))?.email).toBe(email);
      const again = await door.signOn(login, `?continue=${name}`);
      expect(again.location).toBe('/dashboard');
    });

    test('answers need a sign-on that is not too old, also of somebody who came in with a password', async () => {
      const email = `both-${crypto.randomUUID().slice(0, 8)}@example.com`;
      const { id, token } = await invite(door.service, email, 'approver');
      const cookie = await join(door.service, token);
      const { login } = door.person({ email, teams: ['finance'] });
      await door.signOn(login);
      const rule: Rule = { tool: '*', action: 'require_approval', approvers: { group: 'finance' } };
      const { key } = await door.service.newKey([rule]);
      const answered = async () => {
        const { referenceId } = (await door.service.check(key, 'prod', 'deploy', {})).body;
        const path = `/admin/v1/approvals/${referenceId}/resolve`;
        return (await send(door.service, 'POST', path, { cookie }, { action: 'approve' })).status;
      };
      expect(await answered()).toBe(200);
      const weekAgo = Date.now() - 8 * 24 * 3_600_000;
      const older = `UPDATE identities SET signed_on_at = ${weekAgo} WHERE operator_id = '${id}'`;
      await sql(door.service.databaseUrl, older);
      expect(await answered()).toBe(403);
      await door.signOn(login);
      expect(await answered()).toBe(200);
    });

    test('many attempts that lead nowhere are slowed down, and one that succeeds does not count', async () => {
      const ip = newAddress();
      const { login } = door.person({ groups: ['staff'] });
      const visitor = new Visitor(ip);
      const begin = () => visitor.go(door.service.url + BEGIN);
      const authorize = (await begin()).headers.get('location') ?? '';
      expect((await door.back(visitor, await door.atProvider({ visitor, authorize }, login))).status).toBe(
        303,
      );
      const all = [];
      for (let count = 0; count < 50; count++) all.push((await begin()).status);
      expect(all.filter(status => status === 303)).toHaveLength(50);
      const late = await begin();
      expect([late.status, Number(late.headers.get('retry-after')) > 0]).toEqual([429, true]);
      expect((await new Visitor(newAddress()).go(door.service.url + BEGIN)).status).toBe(303);
    });

    test('while the provider is down the page says so, and the password works on it', async () => {
      const { login, email } = door.person({});
      const { token } = await invite(door.service, email, 'viewer');
      await join(door.service, token);
      const begun = await door.begin();
      const url = await door.atProvider(begun, login);
      door.provider.down = true;
      try {
        const landed = await door.back(begun.visitor, url);
        expect([landed.status, landed.text.includes('cannot be used')]).toEqual([503, true]);
        expect(landed.text).toContain('name="password"');
        expect((await signIn(door.service, email, PASSWORD, { ip: newAddress() })).status).toBe(200);
      } finally {
        door.provider.down = false;
      }
      expect((await door.signOn(login)).status).toBe(303);
    });

    if (engine === 'postgres') {
      test('any replica finishes what another began, once', async () => {
        const { login, email } = door.person({ groups: ['staff'] });
        const begun = await door.begin();
        const url = await door.atProvider(begun, login);
        const elsewhere = url.replace(door.service.url, door.services[1]?.url ?? '');
        const landed = await door.back(begun.visitor, elsewhere);
        expect([landed.status, landed.location]).toEqual([303, '/dashboard']);
        expect((await door.me(begun.visitor))?.email).toBe(email);
        expect((await door.back(begun.visitor, url)).status).toBe(410);
      });
    }
  });
}

/** The link of the only approval that was asked for, from what the terminal was shown. */
async function linkShown({ services }: SignOns): Promise<string> {
  const found = () => /\/v1\/approve\/(tg_apr_\w+)\?/.exec(services.map(each => each.output).join(''))?.[1];
  await until('the link is shown', () => found() !== undefined);
  return found() ?? '';
}

describe('a provider that cannot be used', () => {
  const env = { TOOLGATE_OIDC_CLIENT_ID: 'toolgate' };
  const beginAt = async (more: Record<string, string>) => {
    const service = await startService({ env: { ...env, ...more } });
    const reply = await service.request('GET', BEGIN).finally(() => service.close());
    // All of it is there once the service has ended.
    return { ...reply, output: service.output };
  };

  test('one that never answers is given up on', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    const { port } = silent.address() as { port: number };
    const reply = await beginAt({ TOOLGATE_OIDC_ISSUER: `http://127.0.0.1:${port}` });
    silent.close();
    expect([reply.status, reply.text.includes('cannot be used')]).toEqual([503, true]);
  });

  test('one that says it is another is not believed', async () => {
    const issuer = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () =>
        Response.json({ issuer: 'https://evil.example', authorization_endpoint: 'https://evil.example' }),
    });
    const reply = await beginAt({ TOOLGATE_OIDC_ISSUER: issuer.url.origin });
    await issuer.stop(true);
    expect([reply.status, reply.headers.get('location')]).toEqual([503, null]);
  });

  test('a private address is for services on loopback, as for any target', async () => {
    let asked = 0;
    const issuer = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(String(++asked)) });
    const reply = await beginAt({ TOOLGATE_OIDC_ISSUER: issuer.url.origin, TOOLGATE_HOST: '0.0.0.0' });
    await issuer.stop(true);
    expect([reply.status, asked]).toEqual([503, 0]);
    expect(reply.output).toContain('TOOLGATE_ALLOW_PRIVATE_NETWORKS');
  });

  test('a page cannot begin a sign-on by a picture or a frame', async () => {
    const service = await startService({ env: { ...env, TOOLGATE_OIDC_ISSUER: 'http://127.0.0.1:9' } });
    try {
      for (const dest of ['image', 'iframe', 'empty']) {
        const headers = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Dest': dest };
        expect((await service.request('GET', BEGIN, { headers })).status).toBe(403);
      }
      const link = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Dest': 'document' };
      expect((await service.request('GET', BEGIN, { headers: link })).status).toBe(503);
    } finally {
      await service.close();
    }
  });

  test('without settings there is no single sign-on', async () => {
    const service = await startService();
    try {
      expect((await service.request('GET', '/dashboard/sign-in')).text).not.toContain('oidc');
      expect((await service.request('GET', BEGIN)).status).toBe(404);
      expect((await service.request('GET', `${BEGIN}/callback?state=x&code=y`)).status).toBe(404);
    } finally {
      await service.close();
    }
  });
});
