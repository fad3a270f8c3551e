// Clients with a document on the web, served by a real HTTPS server: whose redirects are allowed, what a hostile document may
// do (nothing), and how often it is fetched.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClientDocuments, isDocumentUrl } from '../../src/guard/people/client-documents.ts';
import { documentRules, loadConfig } from '../../src/settings/config.ts';
import type { Person } from '../operators/people.ts';
import { need } from '../support/need.ts';
import { refusal } from '../support/refusal.ts';
import type { Reply, TestService } from '../support/service.ts';
import {
  allowed,
  asking,
  authorize,
  codeFor,
  connectable,
  consent,
  exchange,
  fieldsOf,
  sentBack,
  startOAuth,
} from './connect.ts';

test('an address is a client_id in one spelling only, over https and with a path', () => {
  expect(isDocumentUrl('https://example.com/client.json')).toBe(true);
  expect(isDocumentUrl('https://example.com:8443/a?b=c')).toBe(true);
  for (const other of [
    'http://example.com/client.json',
    'https://example.com',
    'https://example.com/',
    'https://example.com/a/../client.json',
    'https://example.com/client.json#x',
    'https://example.com/client.json#',
    'https://user@example.com/client.json',
    'https://EXAMPLE.com/client.json',
    'https://example.com:443/client.json',
    'https://example.com/a b',
    ' https://example.com/client.json',
    `https://example.com/${'a'.repeat(500)}`,
  ])
    expect([other, isDocumentUrl(other)]).toEqual([other, false]);
});

test('while strangers name slow addresses, well-known clients do not wait for them', async () => {
  // It accepts connections and says nothing.
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const documents = new ClientDocuments({ allowPrivate: true });
  const slow = Array.from({ length: 20 }, (_, n) =>
    refusal(documents.find(`https://127.0.0.1:${silent.port}/${n}.json`, `${n}`)),
  );
  const another = `https://127.0.0.1:${silent.port}/another.json`;
  expect(await refusal(documents.find(another, 'another'))).toMatchObject({ code: 'overloaded' });
  const known = 'https://claude.ai/oauth/claude-code-client-metadata';
  expect(await documents.find(known, 'another')).toMatchObject({ name: 'Claude Code' });
  silent.stop(true);
  await Promise.all(slow);
});

test('requests of one person for the same document at the same time count once', async () => {
  const documents = new ClientDocuments({ allowPrivate: false });
  const find = () => refusal(documents.find('https://127.0.0.1:1/a.json', 'ann'));
  for (const refused of await Promise.all(Array.from({ length: 30 }, find)))
    expect(refused).toMatchObject({ code: 'invalid_input' });
});

test('an address in our own network is not asked', async () => {
  const requests: string[] = [];
  await using server = Bun.serve({
    port: 0,
    fetch: ({ url }) => {
      requests.push(url);
      return new Response('{}');
    },
  });
  const documents = new ClientDocuments({ allowPrivate: false });
  for (const host of [
    '127.0.0.1',
    'localhost',
    '169.254.169.254',
    '10.0.0.1',
    '[::1]',
    'metadata.google.internal',
  ]) {
    const error = await refusal(documents.find(`https://${host}:${server.port}/client.json`, 'ann'));
    // The page must not say what is there.
    expect((error as Error).message).toBe('The document of this client cannot be read at its address.');
  }
  expect(requests).toEqual([]);
});

test('private addresses are allowed by the setting or a public URL of this machine, not by where we listen', () => {
  const rules = (env: Record<string, string>) =>
    documentRules(loadConfig({ TOOLGATE_HOST: '127.0.0.1', ...env }, tmpdir()).config).allowPrivate;
  expect(rules({})).toBe(false);
  expect(rules({ TOOLGATE_PUBLIC_URL: 'https://toolgate.example.com' })).toBe(false);
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    expect(rules({ TOOLGATE_PUBLIC_URL: `http://${host}:8787` })).toBe(true);
  for (const set of ['true', 'false'])
    for (const url of ['http://localhost:1', 'https://toolgate.example.com'])
      expect(rules({ TOOLGATE_ALLOW_PRIVATE_NETWORKS: set, TOOLGATE_PUBLIC_URL: url })).toBe(set === 'true');
});

test('a person can make the service fetch a few documents a minute', async () => {
  const documents = new ClientDocuments({ allowPrivate: false });
  const find = (n: number, who: string) => refusal(documents.find(`https://127.0.0.1/${n}.json`, who));
  for (let n = 0; n < 20; n++) expect(await find(n, 'ann')).toMatchObject({ code: 'invalid_input' });
  expect(await find(20, 'ann')).toMatchObject({ code: 'rate_limited' });
  expect(await find(20, 'bob')).toMatchObject({ code: 'invalid_input' });
});

const openssl = need(Bun.which('openssl') !== null, 'openssl on PATH, for a server of documents');

describe.skipIf(!openssl)('documents', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-documents-'));
  const requests: string[] = [];
  let server: Bun.Server<undefined>;
  let service: TestService;
  let person: Person;
  let at: (path: string) => string;

  beforeAll(async () => {
    const [key, crt] = [join(folder, 'x.key'), join(folder, 'x.crt')];
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    const name = ['-subj', '/CN=test', '-addext', 'subjectAltName=DNS:localhost'];
    Bun.spawnSync(['openssl', 'req', '-x509', ...kind, '-keyout', key, '-out', crt, ...name]);
    const tls = { key: readFileSync(key, 'utf8'), cert: readFileSync(crt, 'utf8') };
    server = Bun.serve({ port: 0, hostname: '127.0.0.1', tls, idleTimeout: 30, fetch: serveDocument });
    at = path => `https://localhost:${server.port}${path}`;
    service = await startOAuth({ env: { NODE_EXTRA_CA_CERTS: crt } });
    ({ person } = await connectable(service));
  });
  afterAll(async () => {
    await server.stop(true);
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const REDIRECTS = ['http://localhost/callback', 'https://elsewhere.example/back'];

  function serveDocument(request: Request): Response {
    const { pathname } = new URL(request.url);
    requests.push(pathname);
    const document = (more: object = {}) => ({
      client_id: at(pathname),
      client_name: 'Documented',
      redirect_uris: [...REDIRECTS, at('/back')],
      token_endpoint_auth_method: 'none',
      ...more,
    });
    switch (pathname) {
      case '/good.json':
      case '/again.json':
        return Response.json(document(), { headers: { 'Cache-Control': 'no-store' } });
      case '/mismatch.json':
        return Response.json(document({ client_id: at('/good.json') }));
      case '/javascript.json':
        return Response.json(document({ redirect_uris: ['javascript:alert(1)'] }));
      case '/data.json':
        return Response.json(document({ redirect_uris: ['http://localhost/', 'data:text/html,x'] }));
      case '/secret.json':
        return Response.json(document({ client_secret: 'shared' }));
      case '/none.json':
        return Response.json(document({ redirect_uris: [] }));
      case '/list.json':
        return Response.json([]);
      case '/twice.json':
        return new Response('{"client_id":"x","client_id":"y"}');
      case '/redirect.json':
        return new Response(null, { status: 302, headers: { Location: at('/good.json') } });
      case '/missing.json':
        return new Response('no', { status: 404 });
      case '/large.json':
        return Response.json(document({ more: 'x'.repeat(64 * 1024) }));
      case '/endless.json':
        return new Response(
          new ReadableStream({ pull: controller => controller.enqueue(new Uint8Array(10_000).fill(32)) }),
        );
      case '/silent.json':
        return new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
      default:
        return new Response('?', { status: 500 });
    }
  }

  const ask = (path: string, redirect = 'http://localhost:5000/callback'): Promise<Reply> =>
    authorize(service, asking(at(path), { redirect_uri: redirect }), person.cookie);

  test('a good one is named by its host, and connects', async () => {
    const page = await ask('/good.json');
    expect(page.text).toContain(`<bdi>localhost:${server.port}</bdi>`);
    expect(page.text).not.toContain('Unverified');
    const redirect = 'http://localhost:5000/callback';
    const code = await codeFor(service, person, at('/good.json'), { redirect_uri: redirect });
    const { body } = await exchange(service, at('/good.json'), code, { redirect_uri: redirect });
    expect(await allowed(service, body.access_token)).toBe(true);
    // Even one that must not be cached is kept for a minute, from the page to its form.
    expect(requests.filter(path => path === '/good.json').length).toBe(1);
  });

  test('it may send people to its own host, not elsewhere; errors wait for the sign-in', async () => {
    const page = await ask('/good.json', at('/back'));
    const answer = await consent(service, person.cookie, { ...fieldsOf(page), answer: 'deny' });
    expect(sentBack(answer, at('/back'))['error']).toBe('access_denied');
    for (const redirect of ['https://elsewhere.example/back', at('/other'), 'http://localhost:5000/other'])
      expect((await ask('/good.json', redirect)).status).toBe(400);
    const faulty = asking(at('/good.json'), { redirect_uri: at('/back'), code_challenge: undefined });
    const stranger = await authorize(service, faulty);
    expect(stranger.headers.get('location')).toStartWith('/dashboard/sign-in?continue=');
    expect(sentBack(await authorize(service, faulty, person.cookie), at('/back'))['error']).toBe(
      'invalid_request',
    );
  });

  test('nothing is fetched for somebody who is not signed in', async () => {
    for (const path of ['/anonymous.json', '/good.json']) {
      const { status, headers } = await authorize(service, asking(at(path), { redirect_uri: at('/back') }));
      expect([status, headers.get('location')]).toEqual([
        303,
        expect.stringMatching(/^\/dashboard\/sign-in\?continue=/),
      ]);
    }
    expect(requests).not.toContain('/anonymous.json');
    const wrong = await authorize(service, asking(at('/anonymous.json'), { redirect_uri: 'javascript:x' }));
    expect(wrong.status).toBe(400);
  });

  test('a hostile one connects nothing and redirects nowhere', async () => {
    const hostile = [
      'mismatch',
      'javascript',
      'data',
      'secret',
      'none',
      'list',
      'twice',
      'redirect',
      'missing',
      'large',
    ];
    for (const name of [...hostile, 'endless', 'silent']) {
      const { status, headers, text } = await ask(`/${name}.json`);
      expect([name, status, headers.get('location')]).toEqual([name, 400, null]);
      expect(text).toContain('Nothing was connected.');
    }
  }, 60_000);

  test('requests for the same one at the same time share a fetch', async () => {
    const pages = await Promise.all(Array.from({ length: 8 }, () => ask('/again.json')));
    expect(pages.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(requests.filter(path => path === '/again.json').length).toBe(1);
  });
});
