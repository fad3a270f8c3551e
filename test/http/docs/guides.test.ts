// /llms.txt and the pages behind it: all of them, as they stand in the project, without the remarks for tests.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, startService, type TestService } from '../../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

test('/llms.txt is the one in the project, and its links lead to text', async () => {
  const { status, text, headers } = await service.request('GET', '/llms.txt');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(text).toBe(readFileSync(join(ROOT, 'llms.txt'), 'utf8'));
  const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, path]) => `/${path}`);
  expect(links.length).toBeGreaterThan(8);
  for (const link of links) expect([link, (await service.request('GET', link)).status]).toEqual([link, 200]);
});

test('every page of the documentation is served, for readers', async () => {
  for (const name of readdirSync(join(ROOT, 'docs')).filter(each => each.endsWith('.md'))) {
    const { status, text, headers } = await service.request('GET', `/docs/${name}`);
    expect([name, status]).toEqual([name, 200]);
    expect(headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(text).toStartWith('# ');
    expect(text).not.toContain('<!--');
  }
});

test.each(['nothing.md', 'constructor', '..%2fREADME.md', 'decisions'])('there is no page %s', async name => {
  expect((await service.request('GET', `/docs/${name}`)).status).toBe(404);
});
