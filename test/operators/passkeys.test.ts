// Passkeys over HTTP: the routes and their refusals, the form of the sign-in page, and two replicas that share a store.
// test/guard/people/passkeys.test.ts has every way in which an answer can be wrong.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { dump } from '../approvals/gate.ts';
import { expectProblem } from '../http/problem.ts';
import { Authenticator } from '../support/authenticator.ts';
import { newDataDir } from '../support/faults.ts';
import { freePort } from '../support/port.ts';
import { engines, type Reply, startService, type TestService } from '../support/service.ts';
import { cookieOf, type From, newPerson, OWN, type Person, send } from './people.ts';

const ORIGIN = 'https://gate.example';
const OPTIONS = '/admin/v1/passkey-sign-in/options';
const SIGN_IN = '/admin/v1/passkey-sign-in';

describe('passkeys', () => {
  let services: [TestService, TestService];
  const dataDirs: string[] = [];
  let person: Person;
  beforeAll(async () => {
    const [engine = 'sqlite'] = (await engines()).slice(-1);
    const env = async () => ({ TOOLGATE_PUBLIC_URL: ORIGIN, TOOLGATE_PORT: String(await freePort()) });
    const first = await startService({ engine, env: await env() });
    const dataDir = newDataDir();
    dataDirs.push(dataDir);
    const { databaseUrl } = first;
    const second =
      engine === 'sqlite' ? first : await startService({ databaseUrl, dataDir, env: await env() });
    services = [first, second];
    person = await newPerson(first, 'viewer');
  });
  afterAll(async () => {
    for (const service of new Set(services)) await service.close();
    for (const dataDir of dataDirs) rmSync(dataDir, { recursive: true, force: true });
  });

  const call = (method: string, path: string, from: From = {}, body?: unknown) =>
    send(services[0], method, path, from, body);
  const own = (method: string, path: string, body?: unknown, { cookie } = person) =>
    call(method, `/admin/v1/me/passkeys${path}`, { cookie }, body);

  async function added(name = 'Laptop', who = person): Promise<Authenticator> {
    const passkey = new Authenticator(ORIGIN);
    const { body: options } = await own('POST', '/options', undefined, who);
    const reply = await own('POST', '', { name, response: passkey.make(options) }, who);
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({
      id: passkey.id,
      name,
      fingerprint: expect.stringMatching(/^SHA256:[\w-]{43}$/),
      createdAt: expect.any(String),
      lastUsedAt: null,
    });
    return passkey;
  }

  /** Begins on the first replica and finishes on the second. */
  async function enter(passkey: Authenticator): Promise<Reply> {
    const { body: options } = await call('POST', OPTIONS);
    return send(services[1], 'POST', SIGN_IN, {}, { response: passkey.sign(options) });
  }

  test('one is added, signs in on another replica, is renamed and removed, and then refused', async () => {
    const ann = await newPerson(services[0], 'user');
    const passkey = await added('Laptop', ann);
    const entered = await enter(passkey);
    expect(entered.body).toMatchObject({ email: ann.email, role: 'user', actor: `operator:${ann.email}` });
    expect(entered.headers.get('set-cookie')).toMatch(
      /^__Host-toolgate=[\w-]{43}; .*HttpOnly; SameSite=Lax; Secure$/,
    );
    const cookie = cookieOf(entered);
    expect((await call('GET', '/admin/v1/me', { cookie })).body.email).toBe(ann.email);

    const renamed = await own('PATCH', `/${passkey.id}`, { name: 'Ключ 🔑' }, ann);
    expect(renamed.body).toMatchObject({ id: passkey.id, name: 'Ключ 🔑' });
    const listed = await own('GET', '', undefined, ann);
    expect(listed.body).toEqual({ passkeys: [renamed.body], origin: ORIGIN, signIn: true });
    expect(listed.body.passkeys[0].lastUsedAt).not.toBeNull();

    expect((await own('DELETE', `/${passkey.id}`, undefined, ann)).status).toBe(204);
    expectProblem(await own('DELETE', `/${passkey.id}`, undefined, ann), 404, 'not_found');
    expectProblem(await enter(passkey), 401, 'unauthenticated');
  });

  test('nobody touches another’s', async () => {
    const { id } = await added();
    const other = await newPerson(services[0], 'admin');
    expectProblem(await own('PATCH', `/${id}`, { name: 'Mine' }, other), 404, 'not_found');
    expectProblem(await own('DELETE', `/${id}`, undefined, other), 404, 'not_found');
    expect((await own('GET', '', undefined, other)).body.passkeys).toEqual([]);
    // The admin token is nobody.
    expectProblem(await services[0].admin('GET', '/me/passkeys'), 409, 'conflict');
  });

  test('one answer of a passkey signs in once, on whichever replica', async () => {
    const passkey = await added();
    const { body: options } = await call('POST', OPTIONS);
    const body = { response: passkey.sign(options) };
    const replies = await Promise.all(services.map(service => send(service, 'POST', SIGN_IN, {}, body)));
    expect(replies.map(reply => reply.status).sort()).toEqual([200, 410]);
  });

  test('pages of other sites get nothing', async () => {
    const headers = { 'Sec-Fetch-Site': 'cross-site' };
    expectProblem(await call('POST', OPTIONS, { headers }), 403, 'forbidden');
    const passkey = await added();
    const { body: options } = await call('POST', OPTIONS, { headers: {} });
    const body = { response: passkey.sign(options) };
    expectProblem(await call('POST', SIGN_IN, { headers }, body), 403, 'forbidden');
    expect((await call('POST', '/dashboard/sign-in/passkey', { headers }, body)).status).toBe(403);
    expect((await call('POST', SIGN_IN, { headers: {} }, body)).status).toBe(200);
  });

  test('the form of the sign-in page goes on to the page that the person came from', async () => {
    const passkey = await added();
    const { headers } = await call('GET', '/dashboard/account');
    const at = new URL(headers.get('location') ?? '', ORIGIN);
    const page = await call('GET', at.pathname + at.search);
    expect(page.text).toContain(`data-origin="${ORIGIN}" hidden`);
    expect(page.headers.get('content-security-policy')).toContain("connect-src 'self'");
    const submit = async (response: unknown) => {
      const form = { response: JSON.stringify(response), continue: at.searchParams.get('continue') ?? '' };
      return services[0].request('POST', '/dashboard/sign-in/passkey', {
        headers: OWN,
        body: new URLSearchParams(form),
      });
    };
    const refused = await submit(passkey.sign((await call('POST', OPTIONS)).body, { userVerified: false }));
    expect(refused.status).toBe(401);
    expect(refused.text).toContain('role="alert">This passkey is not known here');
    const reply = await submit(passkey.sign((await call('POST', OPTIONS)).body));
    expect([reply.status, reply.headers.get('location')]).toEqual([303, '/dashboard/account']);
    expect(reply.headers.get('set-cookie')).toStartWith('__Host-toolgate=');
    for (const nothing of ['x', {}, null]) expect((await submit(nothing)).status).toBe(400);
  });

  test('what is too long, unknown or no base64url is named', async () => {
    const passkey = new Authenticator(ORIGIN);
    const { body: options } = await own('POST', '/options');
    const response = passkey.make(options);
    const paths = async (body: object) => {
      const reply = await own('POST', '', body);
      return [reply.status, (reply.body.errors ?? []).map((each: { path: string }) => each.path)];
    };
    expect(await paths({ name: '', response })).toEqual([400, ['/name']]);
    expect(await paths({ name: 'x'.repeat(61), response })).toEqual([400, ['/name']]);
    expect(await paths({ name: 'x', response, more: 1 })).toEqual([400, ['/more']]);
    expect(await paths({ name: 'x', response: { ...response, id: 'a'.repeat(1365) } })).toEqual([
      400,
      ['/response/id'],
    ]);
    const spelt = { ...response, response: { ...response.response, attestationObject: 'a+b' } };
    expect(await paths({ name: 'x', response: spelt })).toEqual([
      400,
      ['/response/response/attestationObject'],
    ]);
    // Browsers send more than is needed, and that is no fault.
    const more = {
      ...response,
      authenticatorAttachment: 'platform',
      clientExtensionResults: { credProps: {} },
    };
    expect((await own('POST', '', { name: 'x', response: more })).status).toBe(201);
  });

  test('asking is limited by address, and leaves nothing', async () => {
    const challenges = async () => (await dump(services[0].databaseUrl))['passkey_challenges'];
    const before = await challenges();
    // The replicas count together where they share a store.
    const replies: Reply[] = [];
    for (let n = 0; n < 11; n++) {
      replies.push(...(await Promise.all(Array.from({ length: 20 }, () => call('POST', OPTIONS)))));
    }
    expect(new Set(replies.map(reply => reply.status))).toEqual(new Set([200, 429]));
    expect(await challenges()).toEqual(before);
    const given = replies.filter(reply => reply.status === 200).map(reply => reply.body.challenge);
    expect(new Set(given).size).toBe(given.length);
  });
});

test('at an address that browsers refuse, it says so plainly', async () => {
  const service = await startService({});
  try {
    const { cookie } = await newPerson(service, 'viewer');
    const listed = await send(service, 'GET', '/admin/v1/me/passkeys', { cookie });
    expect(listed.body).toEqual({ passkeys: [], origin: null, signIn: true });
    const refused = await send(service, 'POST', '/admin/v1/me/passkeys/options', { cookie });
    expectProblem(refused, 409, 'conflict');
    expect(refused.body.detail).toContain('https');
    expectProblem(await send(service, 'POST', OPTIONS), 409, 'conflict');
    const page = await send(service, 'GET', '/dashboard/sign-in');
    expect(page.text).not.toContain('passkey');
    expect(page.text).not.toContain('<script');
  } finally {
    await service.close();
  }
});
