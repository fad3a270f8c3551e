// Every route with every kind of credential: nobody gets more than the route's access allows, and each refusal has the
// right status. The routes come from the server's own list, so a new one is tested too.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { ErrorCode } from '../../src/core/errors.ts';
import { mintToken } from '../../src/guard/secrets.ts';
import { routes } from '../../src/http/routes.ts';
import { STATUS } from '../../src/http/serving/errors.ts';
import type { Access, Route } from '../../src/http/serving/route.ts';
import { ROLES } from '../../src/store/operators.ts';
import { connectable, connected, startOAuth } from '../oauth/connect.ts';
import { newPerson, OWN, type Person, signedIn } from '../operators/people.ts';
import { ADMIN_TOKEN, type TestService } from '../support/service.ts';

const TOKENS = [
  'none',
  'garbage',
  'unknown key',
  'approval token',
  'session',
  'access token',
  'refresh token',
  'key',
  'admin',
] as const;
/** Cookies: of a sign-in that never was, and of an operator of each role. */
const COOKIES = [
  'ended sign-in',
  'user signed in',
  'viewer signed in',
  'approver signed in',
  'admin signed in',
] as const;
/** The key where Bearer cannot be set: only the doors for agents and gateways look there. */
const ELSEWHERE = ['key as x-api-key', 'key by Basic'] as const;
const CREDENTIALS = [...TOKENS, ...COOKIES, ...ELSEWHERE];
type Credential = (typeof CREDENTIALS)[number];

const nobody: Record<Credential, 'in' | 401 | 403> = {
  none: 401,
  garbage: 401,
  'unknown key': 401,
  'approval token': 401,
  session: 401,
  'access token': 401,
  'refresh token': 401,
  key: 401,
  admin: 401,
  'ended sign-in': 401,
  'user signed in': 401,
  'viewer signed in': 401,
  'approver signed in': 401,
  'admin signed in': 401,
  'key as x-api-key': 401,
  'key by Basic': 401,
};
const admin = {
  ...nobody,
  session: 403,
  'access token': 403,
  key: 403,
  admin: 'in',
  'user signed in': 403,
  'viewer signed in': 403,
  'approver signed in': 403,
  'admin signed in': 'in',
} as const;
const resolve = { ...admin, 'approver signed in': 'in' } as const;

const EXPECTED: Record<Access, Record<Credential, 'in' | 401 | 403>> = {
  public: Object.fromEntries(CREDENTIALS.map(each => [each, 'in'])) as Record<Credential, 'in'>,
  agent: { ...nobody, session: 'in', 'access token': 'in', key: 'in' },
  door: { ...nobody, session: 'in', 'access token': 403, key: 'in' },
  key: { ...nobody, session: 403, 'access token': 403, key: 'in' },
  own: { ...resolve, 'viewer signed in': 'in', 'user signed in': 'in' },
  view: { ...resolve, 'viewer signed in': 'in' },
  resolve,
  admin,
};

/** What a credential gets on a route. */
function expected({ access, anyKeyHeader }: Route, credential: Credential): 'in' | 401 | 403 {
  const carried = (ELSEWHERE as readonly string[]).includes(credential);
  return EXPECTED[access][anyKeyHeader && carried ? 'key' : credential];
}

const ADMINISTRATION = { own: true, view: true, resolve: true, admin: true };

let service: TestService;
const headersOf = {} as Record<Credential, Record<string, string>>;
const people: Partial<Record<Credential, Person>> = {};
beforeAll(async () => {
  service = await startOAuth();
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const session = (await service.json('POST', '/v1/sessions', key)).body.token;
  const client = await connected(service, (await connectable(service)).person);
  const tokens: Record<(typeof TOKENS)[number], string | null> = {
    none: null,
    garbage: 'garbage',
    'unknown key': mintToken('key').token,
    'approval token': mintToken('approval').token,
    session,
    'access token': client.access_token,
    'refresh token': client.refresh_token,
    key,
    admin: ADMIN_TOKEN,
  };
  for (const each of TOKENS)
    headersOf[each] = tokens[each] === null ? {} : { Authorization: `Bearer ${tokens[each]}` };
  headersOf['key as x-api-key'] = { 'x-api-key': key };
  headersOf['key by Basic'] = { Authorization: `Basic ${btoa(`toolgate:${key}`)}` };
  headersOf['ended sign-in'] = withCookie(`toolgate_session=${'A'.repeat(43)}`);
  for (const role of ROLES) {
    const person = await newPerson(service, role);
    people[`${role} signed in`] = person;
    headersOf[`${role} signed in`] = withCookie(person.cookie);
  }
});
afterAll(() => service.close());

const withCookie = (cookie: string) => ({ Cookie: cookie, ...OWN });

/** Some routes end the sign-in that they are called with. */
async function signInAgain(credential: Credential, { path, method }: Route): Promise<void> {
  const ends = path.endsWith('/sign-out') || `${method} ${path}` === 'DELETE /admin/v1/me/sign-ins';
  const person = people[credential];
  if (ends && person !== undefined) headersOf[credential] = withCookie(await signedIn(service, person.email));
}

/** Only the status: some answers never end. */
async function status({ method, path }: Route, credential: Credential): Promise<number> {
  const headers = { ...headersOf[credential] };
  if (method !== 'GET') headers['Content-Type'] = 'application/json';

  const url = service.url + path.replace(/:\w+|\*/g, () => Bun.randomUUIDv7());
  const response = await fetch(url, {
    method: method === 'ANY' ? 'POST' : method,
    headers,
    redirect: 'manual',
  });
  await response.body?.cancel();
  // A door refuses in a language of its own, with a status that says nothing.
  const code = response.headers.get('X-Toolgate-Error') as ErrorCode | null;
  return code === null ? response.status : STATUS[code];
}

describe('route by credential', () => {
  for (const route of routes) {
    test(`${route.method} ${route.path} (${route.access})`, async () => {
      for (const credential of CREDENTIALS) {
        const got = await status(route, credential);
        await signInAgain(credential, route);
        const want = expected(route, credential);
        const entered = got !== 401 && got !== 403;
        expect([credential, entered ? 'in' : got]).toEqual([credential, want]);
        if (entered) expect(got).toBeLessThan(500);
      }
    });
  }
});

test('nothing that changes or shows the administration is public', () => {
  const open = routes
    .filter(route => route.access === 'public')
    .map(route => `${route.method} ${route.path}`);
  const admin = open.filter(each => each.includes('/admin/'));
  const doors = ['setup', 'join', 'sign-in', 'sign-out', 'passkey-sign-in', 'passkey-sign-in/options'];
  for (const each of admin) expect(doors).toContain(each.replace(/^[A-Z]+ \/admin\/v1\//, ''));
});

test('no two routes share a method and path', () => {
  const all = routes.map(route => `${route.method} ${route.path.replace(/:\w+/g, ':')}`);
  expect(new Set(all).size).toBe(all.length);
});

test('with a cookie, no route of the administration takes a change from another site’s page', async () => {
  const changing = routes.filter(each => each.access in ADMINISTRATION && each.method !== 'GET');
  expect(changing.length).toBeGreaterThan(20);
  for (const { method, path } of changing) {
    const url = path.replace(/:\w+/g, () => Bun.randomUUIDv7());
    const headers = { ...headersOf['admin signed in'], 'Content-Type': 'application/json' };
    for (const foreign of [{ 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': '' }]) {
      const reply = await service.request(method, url, { headers: { ...headers, ...foreign } });
      expect([method, path, reply.status]).toEqual([method, path, 403]);
    }
  }
});
