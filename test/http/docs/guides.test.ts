// /llms.txt and the pages of the documentation: all of them, as they stand in the project without the remarks for tests,
// and as HTML whose links lead somewhere; and the search in them.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, startService, type TestService } from '../../support/service.ts';

const NAMES = readdirSync(join(ROOT, 'docs')).filter(each => each.endsWith('.md'));
const POLICY = /^default-src 'none'; style-src 'nonce-[^']+'; img-src data:; form-action 'self'; /;

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
  for (const name of NAMES) {
    const { status, text, headers } = await service.request('GET', `/docs/${name}`);
    expect([name, status]).toEqual([name, 200]);
    expect(headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(text).toStartWith('# ');
    // What stands as code is shown: the phrases of definitions have one of these.
    expect(text.replace(/`[^`\n]*`/g, '')).not.toContain('<!--');
  }
});

test.each(['nothing.md', 'constructor', '..%2fREADME.md', 'decisions', 'README'])(
  'there is no page %s',
  async name => {
    expect((await service.request('GET', `/docs/${name}`)).status).toBe(404);
  },
);

/** The pages as a browser gets them, by their address. */
async function pages(): Promise<Map<string, string>> {
  const addresses = [
    '/docs',
    ...NAMES.filter(name => name !== 'README.md').map(name => `/docs/${name.slice(0, -3)}`),
  ];
  const texts = addresses.map(async address => {
    const { status, text, headers } = await service.request('GET', address);
    expect([address, status, headers.get('content-type')]).toEqual([
      address,
      200,
      'text/html; charset=utf-8',
    ]);
    expect(headers.get('content-security-policy')).toMatch(POLICY);
    return [address, text] as const;
  });
  return new Map(await Promise.all(texts));
}

const all = (text: string, pattern: RegExp) => Array.from(text.matchAll(pattern), ([, found = '']) => found);

test('every page is HTML for browsers, in which nothing is left of its marks', async () => {
  for (const [address, text] of await pages()) {
    const shown = text.replace(/<(pre|code|style)\b.*?<\/\1>/gs, '');
    expect([address, all(text, /(<h1\b)/g).length]).toEqual([address, 1]);
    expect([address, all(shown, /(<script|&lt;|\*\*|\]\(|^\||^#|```|&amp;\w+;)/gm)]).toEqual([address, []]);
    const ids = all(text, / id="([^"]*)"/g);
    expect([address, ids.filter((id, index) => ids.indexOf(id) !== index)]).toEqual([address, []]);
  }
});

test('every link of every page leads to a heading that is there, or to another site', async () => {
  const shown = await pages();
  for (const [address, text] of shown)
    for (const link of all(text, /<a [^>]*href="([^"]*)"/g).filter(each => !each.startsWith('https://'))) {
      const [path = '', id] = link.split('#');
      const target = shown.get(path === '' ? address : path);
      if (target === undefined)
        expect([link, (await service.request('GET', path)).status]).toEqual([link, 200]);
      else if (id !== undefined)
        expect([address, link, target.includes(` id="${id}"`)]).toEqual([address, link, true]);
    }
});

test('a drawing stands in its page, and a file that is not served is named', async () => {
  const { text } = await service.request('GET', '/docs/bench');
  expect(text).toContain('alt="CPU time per recorded decision"');
  expect(all(text, /<img src="([^",]*)/g)).toContain('data:image/svg+xml');
  expect((await service.request('GET', '/docs/quick-start')).text).toContain(
    '<span class="elsewhere" title="deploy/toolgate.service, in the project">deploy/toolgate.service</span>',
  );
});

test('the first page has the path and the whole reference', async () => {
  const { text } = await service.request('GET', '/docs');
  expect(text).toContain('href="/docs/quick-start">Quick start</a>');
  expect(text).toContain('id="start"');
  expect(text).toContain('Toolgate API reference');
});

const found = async (query: string) =>
  (await service.request('GET', `/docs?q=${encodeURIComponent(query)}`)).text;

test('a search finds the sections that have all words, and marks them', async () => {
  const text = await found('  Pooling  PROXY ');
  expect(all(text, /<li>(<a href="[^"]*">[^<]*<\/a>)<p/g)[0]).toBe(
    '<a href="/docs/operating#a-pooling-proxy">Operating on PostgreSQL: A pooling proxy</a>',
  );
  expect(all(text, /<mark>([^<]*)<\/mark>/g).map(word => word.toLowerCase())).toContain('proxy');
  expect(await found('rators')).toContain('Nothing was found');
  const results = (text: string) => all(text, /(<li><a href="[^"]*">[^<]*<\/a><p)/g).length;
  expect(results(await found('the'))).toBe(20);
  expect(results(await found('the xyzzy'))).toBe(0);
  expect(await found('xyzzy')).toContain('Nothing was found');
  expect(await found(' ')).toContain('Toolgate API reference');
});

test('a search for a mistyped word leads to the word that was meant', async () => {
  expect(await found('poling PROXXY')).toContain(
    'Did you mean <a href="/docs?q=pooling%20proxy">pooling proxy</a>?',
  );
  expect(await found('aprovals xyzzy')).not.toContain('Did you mean');
});

test.each(['<script>alert(1)</script>', '"><img src=x>', '.*+?^{}()|[\\]', '&lt;', 'a '.repeat(100)])(
  'what is searched for is shown as text: %s',
  async query => {
    const text = await found(query);
    expect(all(text, /<(script|img)\b/g)).toEqual([]);
    expect(text).toContain('<h1>Search</h1>');
  },
);

test('a search for more than 200 characters is refused', async () => {
  expect((await service.request('GET', `/docs?q=${'a'.repeat(201)}`)).status).toBe(400);
});
