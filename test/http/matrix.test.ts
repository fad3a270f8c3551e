// Every route and every kind of credential: nobody enters beyond the route's access, and refusals are
// exactly those decided. The routes come from the server's own list, so a new one is judged too.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mintToken } from '../../src/guard/secrets.ts';
import type { Access, Route } from '../../src/http/route.ts';
import { routes } from '../../src/http/server.ts';
import { ADMIN_TOKEN, startService, type TestService } from '../support/service.ts';

const CREDENTIALS = ['none', 'garbage', 'unknown key', 'approval token', 'session', 'key', 'admin'] as const;
type Credential = (typeof CREDENTIALS)[number];

const nobody: Record<Credential, 'in' | 401 | 403> = {
  none: 401,
  garbage: 401,
  'unknown key': 401,
  'approval token': 401,
  session: 401,
  key: 401,
  admin: 401,
};
const operators = { ...nobody, session: 403, key: 403, admin: 'in' } as const;

const EXPECTED: Record<Access, Record<Credential, 'in' | 401 | 403>> = {
  public: Object.fromEntries(CREDENTIALS.map(each => [each, 'in'])) as Record<Credential, 'in'>,
  agent: { ...nobody, session: 'in', key: 'in' },
  key: { ...nobody, session: 403, key: 'in' },
  view: operators,
  resolve: operators,
  admin: operators,
};

let service: TestService;
const tokens = {} as Record<Credential, string | null>;
beforeAll(async () => {
  service = await startService();
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const session = (await service.json('POST', '/v1/sessions', key)).body.token;
  Object.assign(tokens, {
    none: null,
    garbage: 'garbage',
    'unknown key': mintToken('key').token,
    'approval token': mintToken('approval').token,
    session,
    key,
    admin: ADMIN_TOKEN,
  });
});
afterAll(() => service.close());

/** Only the status: some answers never end. */
async function status({ method, path }: Route, credential: Credential): Promise<number> {
  const token = tokens[credential];
  const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };
  if (method !== 'GET') headers['Content-Type'] = 'application/json';
  const url = service.url + path.replace(/:\w+/g, () => Bun.randomUUIDv7());
  const response = await fetch(url, { method, headers, redirect: 'manual' });
  await response.body?.cancel();
  return response.status;
}

describe('route by credential', () => {
  for (const route of routes) {
    test(`${route.method} ${route.path} (${route.access})`, async () => {
      for (const credential of CREDENTIALS) {
        const got = await status(route, credential);
        const want = EXPECTED[route.access][credential];
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
  const doors = ['/admin/v1/setup', '/admin/v1/join', '/admin/v1/sign-in', '/admin/v1/sign-out'];
  for (const each of admin) expect(doors).toContain(each.split(' ')[1] as string);
});

test('no two routes share a method and path', () => {
  const all = routes.map(route => `${route.method} ${route.path.replace(/:\w+/g, ':')}`);
  expect(new Set(all).size).toBe(all.length);
});
