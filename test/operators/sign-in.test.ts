// Signing in and out on both engines: the cookie, wrong passwords and the throttle, other sign-ins, passwords
// changed, foreign pages refused, and that no secret is at rest.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { dump } from '../approvals/gate.ts';
import { expectProblem } from '../http/problem.ts';
import { newDataDir, sql, withMutant } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, whenChanged } from '../support/when-changed.ts';
import {
  cookieOf,
  type From,
  invite,
  join,
  newAddress,
  newPerson,
  OTHER_PASSWORD,
  OWN,
  PASSWORD,
  type Person,
  send,
  signedIn,
  signIn,
} from './people.ts';

const PROXY = { TOOLGATE_TRUSTED_PROXIES: '127.0.0.1/32' };

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/people/**')) {
  describe(engine, () => {
    let service: TestService;
    let ada: Person;
    beforeAll(async () => {
      service = await startService({ engine, env: PROXY });
      ada = await newPerson(service, 'admin');
    });
    afterAll(() => service.close());

    const me = (cookie: string) => send(service, 'GET', '/admin/v1/me', { cookie });

    test('the cookie is out of reach of scripts and other sites', async () => {
      const reply = await signIn(service, ada.email, PASSWORD, { ip: newAddress() });
      expect(reply.headers.get('set-cookie')).toMatch(
        /^toolgate_session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/,
      );
      expect(reply.headers.get('cache-control')).toBe('no-store');
    });

    test('the dashboard opens for who is signed in, and signs out by a form of its own', async () => {
      const stranger = await send(service, 'GET', '/dashboard', {});
      expect([stranger.status, stranger.headers.get('location')]).toEqual([303, '/dashboard/sign-in']);
      const reply = await signIn(service, ada.email, PASSWORD, { ip: newAddress() });
      const cookie = cookieOf(reply);
      const page = await send(service, 'GET', '/dashboard', { cookie });
      expect([page.status, page.text]).toEqual([200, expect.stringContaining('/dashboard/assets/')]);
      const foreign = { cookie, headers: { 'Sec-Fetch-Site': 'cross-site' } };
      expect((await send(service, 'POST', '/dashboard/sign-out', foreign)).status).toBe(403);
      expect((await me(cookie)).status).toBe(200);
      const out = await send(service, 'POST', '/dashboard/sign-out', { cookie });
      expect([out.status, out.headers.get('location')]).toEqual([303, '/dashboard/sign-in']);
      expect((await me(cookie)).status).toBe(401);
    });

    test('a value that somebody planted never becomes a sign-in, and each sign-in has its own', async () => {
      const planted = `toolgate_session=${'A'.repeat(43)}`;
      const first = await signIn(service, ada.email, PASSWORD, { ip: newAddress(), cookie: planted });
      expect(cookieOf(first)).not.toBe(planted);
      expectProblem(await me(planted), 401, 'unauthenticated');
      // Signing in again from the same browser ends what it had.
      const second = await signIn(service, ada.email, PASSWORD, {
        ip: newAddress(),
        cookie: cookieOf(first),
      });
      expect(cookieOf(second)).not.toBe(cookieOf(first));
      expectProblem(await me(cookieOf(first)), 401, 'unauthenticated');
      expect((await me(cookieOf(second))).status).toBe(200);
    });

    test('unknown accounts and wrong passwords look the same', async () => {
      const ip = newAddress();
      const wrong = await signIn(service, ada.email, OTHER_PASSWORD, { ip });
      const unknown = await signIn(service, 'nobody@example.com', PASSWORD, { ip });
      const noEmail = await signIn(service, "' OR 1=1 --", PASSWORD, { ip });
      for (const reply of [wrong, unknown, noEmail]) {
        expectProblem(reply, 401, 'unauthenticated');
        expect(reply.body.detail).toBe(wrong.body.detail);
        expect(reply.headers.get('set-cookie')).toBeNull();
      }
    });

    test('after five failures an account is closed to that address, and to no other', async () => {
      const ip = newAddress();
      const replies = await Promise.all(
        Array.from({ length: 6 }, (_, n) => signIn(service, ada.email, `wrong password ${n}`, { ip })),
      );
      expect(replies.map(each => each.status).sort()).toEqual([401, 401, 401, 401, 401, 429]);
      const right = await signIn(service, ada.email.toUpperCase(), PASSWORD, { ip });
      expectProblem(right, 429, 'rate_limited');
      expect(Number(right.headers.get('retry-after'))).toBeLessThanOrEqual(300);
      expect((await signIn(service, ada.email, PASSWORD, { ip: newAddress() })).status).toBe(200);
      expect((await signIn(service, 'nobody@example.com', PASSWORD, { ip })).status).toBe(401);
    });

    test.if(engine === 'postgres')(
      'replicas count failures together and know each other’s sign-ins',
      async () => {
        const dataDir = newDataDir();
        const second = await startService({ databaseUrl: service.databaseUrl, dataDir, env: PROXY });
        try {
          const ip = newAddress();
          const attempts = [service, second, service, second, service, second];
          const statuses: number[] = [];
          for (const each of attempts) statuses.push((await signIn(each, ada.email, 'wrong', { ip })).status);
          expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
          const cookie = await signedIn(second, ada.email);
          expect((await me(cookie)).status).toBe(200);
          expect((await send(service, 'POST', '/admin/v1/sign-out', { cookie })).status).toBe(204);
          expect((await send(second, 'GET', '/admin/v1/me', { cookie })).status).toBe(401);
        } finally {
          await second.close();
          rmSync(dataDir, { recursive: true, force: true });
        }
      },
    );

    test('success takes the failures of its account back', async () => {
      const ip = newAddress();
      for (const round of [1, 2]) {
        for (let n = 0; n < 3; n++) {
          const { status } = await signIn(service, ada.email, `wrong ${round}`, { ip });
          expect(status).toBe(401);
        }
        expect((await signIn(service, ada.email, PASSWORD, { ip })).status).toBe(200);
      }
    });

    test('an address cannot go through one account after another', async () => {
      const ip = newAddress();
      // All but the last few of fifty are put there as if they had been made: each costs a password hash.
      const row = (n: number) => `('${crypto.randomUUID()}', 'account ${n}', '${ip}', ${Date.now()})`;
      const made = Array.from({ length: 47 }, (_, n) => row(n));
      await sql(service.databaseUrl, `INSERT INTO sign_in_failures (id, account, ip, at) VALUES ${made}`);
      const replies = await Promise.all(
        Array.from({ length: 5 }, (_, n) => signIn(service, `guess-${n}@example.com`, PASSWORD, { ip })),
      );
      expect(replies.map(each => each.status).sort()).toEqual([401, 401, 401, 429, 429]);
      expectProblem(await signIn(service, ada.email, PASSWORD, { ip }), 429, 'rate_limited');
    });

    test('signing out ends this sign-in and no other', async () => {
      const [here, there] = [await signedIn(service, ada.email), await signedIn(service, ada.email)];
      const out = await send(service, 'POST', '/admin/v1/sign-out', { cookie: here });
      expect(out.status).toBe(204);
      expect(out.headers.get('set-cookie')).toMatch(/^toolgate_session=; Path=\/; Max-Age=0;/);
      expectProblem(await me(here), 401, 'unauthenticated');
      expect((await me(there)).status).toBe(200);
      expect((await send(service, 'POST', '/admin/v1/sign-out')).status).toBe(204);
    });

    test('own sign-ins are listed, and all end together', async () => {
      const bob = await newPerson(service, 'viewer');
      const second = await signIn(service, bob.email, PASSWORD, {
        ip: '10.1.2.3',
        headers: { ...OWN, 'User-Agent': `Browser ${'x'.repeat(500)}` },
      });
      const listed = await send(service, 'GET', '/admin/v1/me/sign-ins', { cookie: cookieOf(second) });
      expect(listed.body.signIns).toHaveLength(2);
      expect(listed.body.signIns[0]).toMatchObject({ current: true, ip: '10.1.2.3' });
      expect(listed.body.signIns[0].userAgent).toHaveLength(200);
      expect(listed.body.signIns[1].current).toBe(false);
      const path = '/admin/v1/me/sign-ins';
      expect((await send(service, 'DELETE', path, { cookie: bob.cookie })).status).toBe(204);
      for (const cookie of [bob.cookie, cookieOf(second)]) expect((await me(cookie)).status).toBe(401);
      expect((await me(ada.cookie)).status).toBe(200);
    });

    test('a new password ends the other sign-ins and the old password', async () => {
      const cy = await newPerson(service, 'viewer');
      const other = await signedIn(service, cy.email);
      const ip = newAddress();
      const change = (current: string, password: string) =>
        send(service, 'POST', '/admin/v1/me/password', { cookie: cy.cookie, ip }, { current, password });
      expectProblem(await change(OTHER_PASSWORD, OTHER_PASSWORD), 400, 'invalid_input', ['/current']);
      expectProblem(await change(PASSWORD, 'short'), 400, 'invalid_input', ['/password']);
      expect((await me(other)).status).toBe(200);
      expect((await change(PASSWORD, OTHER_PASSWORD)).status).toBe(204);
      expect((await me(cy.cookie)).status).toBe(200);
      expect((await me(other)).status).toBe(401);
      expect((await signIn(service, cy.email, PASSWORD, { ip })).status).toBe(401);
      expect((await signIn(service, cy.email, OTHER_PASSWORD, { ip })).status).toBe(200);
      const [change1] = (await service.admin('GET', '/changes?limit=1')).body.changes;
      expect(change1).toMatchObject({ actor: `operator:${cy.email}`, action: 'operator.password' });
    });

    test('guessing the current password is throttled as signing in is', async () => {
      const ip = newAddress();
      const cookie = await signedIn(service, ada.email);
      const guess = () =>
        send(service, 'POST', '/admin/v1/me/password', { cookie, ip }, { current: 'x', password: PASSWORD });
      for (let n = 0; n < 5; n++) expect((await guess()).status).toBe(400);
      expectProblem(await guess(), 429, 'rate_limited');
    });

    test('the admin token is no operator', async () => {
      expect((await service.admin('GET', '/me')).body).toEqual({
        email: null,
        role: 'admin',
        groups: [],
        actor: 'admin',
      });
      for (const [method, path, body] of [
        ['GET', '/me/sign-ins'],
        ['DELETE', '/me/sign-ins'],
        ['POST', '/me/password', { current: 'x', password: PASSWORD }],
      ] as const)
        expectProblem(await service.admin(method, path, body), 409, 'conflict');
    });

    test('with a cookie, changes are taken from our own pages only', async () => {
      for (const [headers, allowed] of pages(service)) {
        const from: From = { cookie: ada.cookie, headers };
        const body = { name: crypto.randomUUID(), rules: [] };
        const { status } = await send(service, 'POST', '/admin/v1/policies', from, body);
        expect([headers, status]).toEqual([headers, allowed ? 201 : 403]);
        // Looking is no change, and other origins cannot read the answer.
        expect((await send(service, 'GET', '/admin/v1/me', from)).status).toBe(200);
      }
      const foreign = { cookie: ada.cookie, headers: { Origin: 'https://evil.example' } };
      expectProblem(await send(service, 'POST', '/admin/v1/sign-out', foreign), 403, 'forbidden');
      expect((await me(ada.cookie)).status).toBe(200);
    });

    test('no page of another site can sign a person in', async () => {
      for (const [headers, allowed] of pages(service)) {
        if (Object.keys(headers).length === 0) continue;
        const from = { headers, ip: newAddress() };
        const { status } = await signIn(service, ada.email, PASSWORD, from);
        expect([headers, status]).toEqual([headers, allowed ? 200 : 403]);
      }
      // A program says nothing of the kind.
      const plain = await signIn(service, ada.email, PASSWORD, { headers: {}, ip: newAddress() });
      expect(plain.status).toBe(200);
    });

    test('a bearer credential counts alone, whatever cookie is sent with it', async () => {
      const { key } = await service.newKey([]);
      for (const [token, status] of [
        ['wrong', 401],
        [key, 403],
      ] as const) {
        const headers = { Cookie: ada.cookie, Authorization: `Bearer ${token}`, ...OWN };
        expect((await service.request('GET', '/admin/v1/me', { headers })).status).toBe(status);
      }
    });

    test('no password, cookie or invitation is at rest', async () => {
      expect(await atRest(service)).toEqual([]);
    });
  });
}

/** What a request may say about the page it comes from, and whether that page is ours. */
const pages = (service: TestService): [Record<string, string>, boolean][] => [
  [{ 'Sec-Fetch-Site': 'same-origin' }, true],
  [{ 'Sec-Fetch-Site': 'same-origin', Origin: 'null' }, true],
  [{ Origin: service.url }, true],
  [{}, false],
  [{ Origin: 'null' }, false],
  [{ Origin: 'https://evil.example' }, false],
  [{ Origin: `${service.url}.evil.example` }, false],
  [{ 'Sec-Fetch-Site': 'same-site' }, false],
  [{ 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' }, false],
  [{ 'Sec-Fetch-Site': 'none' }, false],
];

/** Secrets found in the store or the log. */
async function atRest(service: TestService): Promise<string[]> {
  const email = `rest-${crypto.randomUUID().slice(0, 8)}@example.com`;
  const { token } = await invite(service, email, 'viewer');
  const waiting = await invite(service, `waiting-${email}`, 'viewer');
  await join(service, token);
  const cookie = (await signedIn(service, email)).split('=')[1] as string;
  await signIn(service, OTHER_PASSWORD, OTHER_PASSWORD, { ip: newAddress() });
  const secrets = { token, waiting: waiting.token, cookie, PASSWORD, OTHER_PASSWORD };
  const stored = JSON.stringify(await dump(service.databaseUrl)) + service.output;
  return Object.entries(secrets).flatMap(([name, secret]) => (stored.includes(secret) ? [name] : []));
}

const UNHASHED = {
  file: 'src/guard/people/sign-ins.ts',
  find: 'await insertSignIn(tx, record, hashToken(secret));',
  replace: 'await insertSignIn(tx, record, secret);',
};

whenChanged(UNHASHED)('a mutant that stores the cookie as it is is found out', async () => {
  await withMutant([UNHASHED], async root => {
    const service = await startService({ root, env: PROXY });
    expect(await atRest(service)).toEqual(['cookie']);
    await service.close();
  });
});
