// A path that no route has: people get a page that leads on, programs a problem body, and the API is for programs.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { routes } from '../../src/http/routes.ts';
import { startService, type TestService } from '../support/service.ts';
import { expectProblem } from './problem.ts';

/** What browsers send for a page that a person opens. */
const BROWSER = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const FOR_PEOPLE = ['', 'dashboard', 'docs'];

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

test.each(['/nowhere', '/no/where?x=1', '/dashboard/keys/1/2', '/docs/a/b', '/<script>', '/favicon.ico'])(
  'a browser that asks for %s gets a page',
  async path => {
    const reply = await service.request('GET', path, { headers: BROWSER });
    expect(reply.status).toBe(404);
    expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(reply.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(reply.text).toContain('href="/dashboard"');
    expect(reply.text).not.toContain('<script>');
  },
);

test.each([undefined, '*/*', 'application/json'])(
  'a program that accepts %s gets a problem',
  async accept => {
    const headers: Record<string, string> = accept === undefined ? {} : { Accept: accept };
    expectProblem(await service.request('GET', '/nowhere', { headers }), 404, 'not_found');
  },
);

test('below the paths of the API, even a browser gets a problem', async () => {
  const first = new Set(routes.map(({ path }) => path.split('/')[1] ?? ''));
  for (const name of ['v1', 'admin', 'mcp', 'oauth', 'ext-authz', 'access', '.well-known'])
    expect(first).toContain(name);
  for (const name of first) {
    if (FOR_PEOPLE.includes(name)) continue;
    const reply = await service.request('GET', `/${name}/no/such/thing`, { headers: BROWSER });
    if (name !== 'ext-authz') expectProblem(reply, 404, 'not_found');
    expect([name, reply.headers.get('content-type')]).not.toEqual([name, 'text/html; charset=utf-8']);
  }
  expectProblem(await service.request('POST', '/admin/v1/nothing', { headers: BROWSER }), 404, 'not_found');
});
