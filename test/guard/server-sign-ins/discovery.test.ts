// How a sign-in to a server begins and ends, against a server of which every answer can be wrong: what it may say about
// itself, which client we are there, which scopes we ask for, and what of its answers is believed.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Deps } from '../../../src/guard/deps.ts';
import { readChallenge } from '../../../src/guard/server-sign-ins/challenge.ts';
import { covers } from '../../../src/guard/server-sign-ins/discovery.ts';
import { isSameHost } from '../../../src/guard/server-sign-ins/endpoints.ts';
import { ServerSignIns } from '../../../src/guard/server-sign-ins/server-sign-ins.ts';
import { editTool } from '../../../src/guard/tool-servers/edit-tool.ts';
import type { OAuthSettings } from '../../../src/guard/tool-servers/source-secrets.ts';
import { type ConnectedTool, findTool } from '../../../src/store/connected-tools.ts';
import { countServerClients } from '../../../src/store/server-sign-ins.ts';
import { NOW, openStore, type TestStore } from '../../store/stores.ts';
import { refusal } from '../../support/refusal.ts';
import { depsAt } from '../deps.ts';
import { ANYBODY, begin, HERE, newOperator, newTool, RULES } from './signing-in.ts';
import { StubServer } from './stub-server.ts';

let store: TestStore;
let deps: Deps;
let now = NOW;
let signIns: ServerSignIns;
const stub = new StubServer();
beforeAll(async () => {
  store = await openStore('sqlite');
  deps = depsAt(store.db, () => now);
  signIns = new ServerSignIns(deps, RULES);
});
beforeEach(() => {
  stub.reset();
  signIns.servedAt(HERE);
});
afterAll(async () => {
  await store.close();
  await stub.close();
});

const tool = (oauth?: OAuthSettings) => newTool(deps, stub.url, oauth);

async function begun(at: ConnectedTool): Promise<{ query: URLSearchParams; page: string; browser: string }> {
  const { url, browser } = await begin(signIns, at);
  const { origin, pathname, searchParams: query } = new URL(url);
  return { query, page: origin + pathname, browser };
}

/** Begins, and comes back with a code. */
async function signIn(at: ConnectedTool, more: Record<string, string> = {}): Promise<URLSearchParams> {
  const { query, browser } = await begun(at);
  const answer = new URLSearchParams({ code: 'c', state: query.get('state') ?? '', ...more });
  await signIns.finish({ toolId: at.id, answer, browser }, ANYBODY);
  return query;
}

async function faultOf(work: Promise<unknown>): Promise<string> {
  const error = (await refusal(work)) as { code: string; message: string };
  return `${error.code}: ${error.message.replace('It is not possible to sign in to this server. ', '')}`;
}

const faultFor = async (oauth?: OAuthSettings) => faultOf(begin(signIns, await tool(oauth)));

const redirect = () => Response.redirect('http://127.0.0.1:1/', 302);
const endless = () => {
  const chunk = new Uint8Array(64 * 1024).fill(32);
  return new Response(new ReadableStream({ pull: controller => controller.enqueue(chunk) }));
};

describe('a server that leads to the sign-in of another service', () => {
  const honest = new StubServer();
  afterAll(() => honest.close());

  test.each([
    ['authorization_endpoint', 'an authorization page', '/authorize'],
    ['token_endpoint', 'a token endpoint', '/token'],
    ['registration_endpoint', 'a registration endpoint', '/register'],
    ['revocation_endpoint', 'a revocation endpoint', '/revoke'],
  ])('%s on another host than the issuer’s, unless an admin trusts that host', async (name, what, path) => {
    stub.metadata = { [name]: honest.origin + path };
    const { host } = new URL(honest.origin);
    expect(await faultFor()).toStartWith(
      `conflict: Its authorization server ${new URL(stub.origin).host} names ${what} on another host, ${host}.`,
    );
    expect(honest.asked).toEqual([]);
    const { page } = await begun(await tool({ as: 'key', trustedHosts: [host] }));
    expect(page).toBe(`${name === 'authorization_endpoint' ? honest.origin : stub.origin}/authorize`);
    honest.reset();
  });

  test('hosts belong together if one is below the other, with the same scheme and port', () => {
    const same = (a: string, b: string) => isSameHost(new URL(a), new URL(b));
    expect(same('https://a.example/x', 'https://a.example/y')).toBe(true);
    expect(same('https://cf.mcp.a.example', 'https://mcp.a.example')).toBe(true);
    expect(same('https://a.example', 'https://login.a.example')).toBe(true);
    for (const [a, b] of [
      ['https://a.example', 'https://b.example'],
      ['https://a.example', 'https://evil-a.example'],
      ['https://one.a.example', 'https://two.a.example'],
      ['https://a.example', 'http://a.example'],
      ['https://a.example', 'https://a.example:8443'],
      ['http://127.0.0.1:1', 'http://127.0.0.1:2'],
      ['https://evil.internal', 'https://internal'],
    ] as const)
      expect([a, b, same(a, b)]).toEqual([a, b, false]);
  });

  test('a code is taken only at the callback of its own tool', async () => {
    const [mine, other] = [await tool(), await tool()];
    for (const toolId of [other.id, null]) {
      const { query, browser } = await begun(mine);
      const answer = new URLSearchParams({ code: 'c', state: query.get('state') ?? '' });
      expect(query.get('redirect_uri')).toBe(`${HERE}/oauth/callback/${mine.id}`);
      expect(await faultOf(signIns.finish({ toolId, answer, browser }, ANYBODY))).toMatch(/^forbidden: /);
      // It works once, also if it came to the wrong place.
      expect(await faultOf(signIns.finish({ toolId: mine.id, answer, browser }, ANYBODY))).toMatch(/^gone: /);
    }
    expect(stub.tokenRequests).toEqual([]);
  });

  test('another authorization server than that of the first sign-in, until an admin enters the sign-in again', async () => {
    const at = await tool({ as: 'person' });
    const ann = await newOperator(deps);
    const now = async () => (await findTool(store.db, at.id)) as ConnectedTool;
    const leave = async () => {
      const { url, browser } = await begin(signIns, await now(), ann);
      const state = new URL(url).searchParams.get('state') ?? '';
      const answer = new URLSearchParams({ code: 'c', state });
      return () => signIns.finish({ toolId: at.id, answer, browser }, ANYBODY);
    };
    // Until somebody has signed in, none is known.
    const late = await leave();
    stub.issuerPath = '/second';
    await (await leave())();
    expect(JSON.parse((await now()).authorizationServer ?? '')).toEqual({
      issuer: `${stub.origin}/second`,
      authorization_endpoint: `${stub.origin}/authorize`,
      token_endpoint: `${stub.origin}/token`,
    });
    await (await leave())();
    expect(await faultOf(late())).toMatch(/^conflict: It now names another authorization server/);
    stub.metadata = { authorization_endpoint: `${stub.origin}/elsewhere` };
    expect(await faultOf(leave())).toMatch(/^conflict: It now names other endpoints/);
    stub.reset();
    const sentence = `another authorization server, ${stub.origin}, than at the first sign-in, ${stub.origin}/second`;
    expect(await faultOf(leave())).toContain(sentence);
    await editTool(deps, 'admin', RULES, at.keyId, at.id, { name: 'renamed' });
    expect(await faultOf(leave())).toContain(sentence);
    await editTool(deps, 'admin', RULES, at.keyId, at.id, { oauth: { as: 'person' } });
    await (await leave())();
    expect((await now()).authorizationServer).toContain(`"${stub.origin}"`);
  });

  test('an admin who signs in for a key accepts the other one that the page names, and no further one', async () => {
    const at = await tool();
    const now = async () => (await findTool(store.db, at.id)) as ConnectedTool;
    await signIn(at);
    const before = await begun(await now());
    stub.issuerPath = '/second';
    const { change } = await signIns.look(await now(), null);
    expect(change).toBe(
      `It now names another authorization server, ${stub.origin}/second, than at the first sign-in, ${stub.origin}.`,
    );
    const [first, second] = [await begun(await now()), await begun(await now())];
    const back = ({ query, browser }: typeof first) => {
      const answer = new URLSearchParams({ code: 'c', state: query.get('state') ?? '' });
      return signIns.finish({ toolId: at.id, answer, browser }, ANYBODY);
    };
    await back(first);
    expect((await now()).authorizationServer).toContain('/second');
    await back(second);
    // Whoever began before was shown that nothing has changed.
    expect(await faultOf(back(before))).toMatch(/^conflict: It now names another/);
    expect((await now()).authorizationServer).toContain('/second');
  });

  test('whoever was shown something else does not leave', async () => {
    const at = await tool();
    const { shown, page } = await signIns.look(at, null);
    expect(page).toBe(`${stub.origin}/authorize`);
    const by = { actor: 'admin' as const, browser: null, shown };
    for (const changed of [{ issuerPath: '/second' }, { challenge: 'Bearer scope="more"' }]) {
      Object.assign(stub, changed);
      expect(await signIns.begin(at, null, by)).toBeNull();
      stub.reset();
    }
    expect(stub.registrations).toEqual([]);
    expect(await signIns.begin(at, null, by)).not.toBeNull();
  });
});

describe('what a server may not say', () => {
  const PRM = '/.well-known/oauth-protected-resource/mcp';
  const AS = '/.well-known/oauth-authorization-server';
  const host = () => new URL(stub.url).host;
  const servers = (...authorization_servers: unknown[]) => {
    stub.resourceMetadata = { authorization_servers };
  };
  test.each<[string, () => void, RegExp]>([
    [
      'metadata that redirects',
      () => (stub.instead[PRM] = redirect),
      /^not_ready: .* redirect, which is not/,
    ],
    [
      'metadata without end',
      () => (stub.instead[PRM] = endless),
      /^not_ready: The answer of .* is too large/,
    ],
    [
      'metadata that fails',
      () => (stub.instead[PRM] = () => new Response(null, { status: 500 })),
      /^conflict: .* answered 500/,
    ],
    [
      'metadata at an address that is never allowed',
      () => (stub.challenge = 'Bearer resource_metadata="http://169.254.169.254/latest"'),
      /^invalid_input: 169\.254\.169\.254 is a link-local address/,
    ],
    [
      'metadata that is no address',
      () => (stub.challenge = 'Bearer resource_metadata="file:///etc/passwd"'),
      /^conflict: It names an address of its metadata that must be an http/,
    ],
    [
      'metadata that is not there',
      () => (stub.challenge = `Bearer resource_metadata="${stub.origin}/nowhere"`),
      /^conflict: Its metadata is not where it says/,
    ],
    ...[
      'https://evil.example/mcp',
      'http://127.0.0.1:1/mcp',
      () => `${stub.origin}/mcp2`,
      () => `${stub.url}#x`,
      7,
    ].map((resource): [string, () => void, RegExp] => [
      `a resource that is another: ${resource}`,
      () => {
        stub.resourceMetadata = { resource: typeof resource === 'function' ? resource() : resource };
      },
      /^conflict: Its metadata is about another address/,
    ]),
    ['no authorization server', () => servers(), /^conflict: It does not name an authorization server/],
    ['one that is no text', () => servers({}), /^conflict: It does not name an authorization server/],
    ['one that is a script', () => servers('javascript:alert(1)'), /^conflict: .* must be an http/],
    [
      'one that never is allowed',
      () => servers('https://metadata.google.internal'),
      /^not_ready: .* metadata/,
    ],
    [
      'one that is public and without https',
      () => servers('http://93.184.216.34'),
      /^conflict: It names an authorization server without https/,
    ],
    ['one with a query', () => servers(`${stub.origin}/?a=b`), /^conflict: .* with a query/],
    ['one without metadata', () => servers(`${stub.origin}/other`), /^conflict: .* has no metadata/],
    [
      'the metadata of another issuer',
      () => (stub.metadata = { issuer: 'https://honest.example' }),
      /^conflict: .* about another issuer/,
    ],
    ['no issuer', () => (stub.metadata = { issuer: 7 }), /^conflict: .* about another issuer/],
    ['metadata of the issuer that redirects', () => (stub.instead[AS] = redirect), /^not_ready: .* redirect/],
    ['metadata of the issuer without end', () => (stub.instead[AS] = endless), /^not_ready: .* too large/],
    ...[undefined, [], ['plain'], 'S256'].map((methods): [string, () => void, RegExp] => [
      `PKCE with ${JSON.stringify(methods)}`,
      () => (stub.metadata = { code_challenge_methods_supported: methods }),
      /^conflict: .* does not support PKCE with S256/,
    ]),
    ...['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint'].flatMap(
      (name): [string, () => void, RegExp][] => [
        [
          `${name}: a script`,
          () => (stub.metadata = { [name]: 'javascript:alert(document.domain)' }),
          /^conflict: It names .* that must be an http/,
        ],
        [`${name}: no text`, () => (stub.metadata = { [name]: [] }), /^conflict: It does not name/],
        [
          `${name}: public and without https`,
          () => (stub.metadata = { [name]: 'http://93.184.216.34/x' }),
          /^conflict: It names .* without https/,
        ],
      ],
    ),
    [
      'a registration that redirects',
      () => (stub.instead['/register'] = redirect),
      /^not_ready: .* redirect, which is not followed/,
    ],
    [
      'a registration that fails',
      () => (stub.instead['/register'] = () => new Response(null, { status: 503 })),
      /^not_ready: .* cannot register us now/,
    ],
    ...[
      () => (stub.metadata = { registration_endpoint: undefined }),
      () => (stub.registered = { client_id: '' }),
      () => (stub.instead['/register'] = () => Response.json({ error: 'access_denied' }, { status: 403 })),
    ].map((change): [string, () => void, RegExp] => [
      'no client',
      change,
      /^conflict: This server registers no clients: enter the id of an own app\.$/,
    ]),
    [
      'nothing about a sign-in',
      () => {
        stub.instead['/mcp'] = () => Response.json({});
        for (const path of [PRM, AS]) stub.instead[path] = () => new Response(null, { status: 404 });
      },
      /^conflict: It does not ask for a sign-in/,
    ],
  ])('%s', async (_, change, fault) => {
    change();
    expect(await faultFor()).toMatch(fault);
    expect(stub.tokenRequests).toEqual([]);
    expect(stub.asked.filter(each => each.endsWith('/authorize'))).toEqual([]);
  });

  test('a private address, where private addresses are not allowed', async () => {
    const careful = new ServerSignIns(deps, { allowPrivate: false });
    careful.servedAt(HERE);
    expect(await faultOf(begin(careful, await tool()))).toMatch(/^conflict: .* without https/);
    expect(stub.asked).toEqual([]);
    expect(host()).toStartWith('127.0.0.1:');
  });
});

describe('where a server says how to sign in', () => {
  test('its challenge comes first, then the well-known paths with and without the path', async () => {
    stub.challenge = `Bearer resource_metadata="${stub.origin}/here.json"`;
    stub.instead['/here.json'] = () =>
      Response.json({ resource: stub.origin, authorization_servers: [stub.issuer] });
    const { query, page } = await begun(await tool());
    expect([query.get('resource'), page]).toEqual([stub.origin, `${stub.origin}/authorize`]);
    expect(stub.asked.slice(0, 3)).toEqual([
      'POST /mcp',
      'GET /here.json',
      'GET /.well-known/oauth-authorization-server',
    ]);
    stub.reset();
    stub.instead['/.well-known/oauth-protected-resource/mcp'] = () => new Response(null, { status: 404 });
    stub.instead['/.well-known/oauth-protected-resource'] = () =>
      Response.json({ resource: `${stub.origin}/`, authorization_servers: [stub.issuer] });
    expect((await begun(await tool())).query.get('resource')).toBe(`${stub.origin}/`);
    expect(stub.asked.slice(1, 3)).toEqual([
      'GET /.well-known/oauth-protected-resource/mcp',
      'GET /.well-known/oauth-protected-resource',
    ]);
  });

  test('the metadata of an issuer with a path is at three places', async () => {
    stub.issuerPath = '/tenant';
    const missing = () => new Response(null, { status: 404 });
    stub.instead['/.well-known/oauth-authorization-server/tenant'] = missing;
    stub.instead['/tenant/.well-known/openid-configuration'] = () => Response.json(stub.described());
    await begun(await tool());
    expect(stub.asked.slice(2, 5)).toEqual([
      'GET /.well-known/oauth-authorization-server/tenant',
      'GET /.well-known/openid-configuration/tenant',
      'GET /tenant/.well-known/openid-configuration',
    ]);
  });

  test('a server of 2025-03-26 is its own authorization server, also without any metadata', async () => {
    const missing = () => new Response(null, { status: 404 });
    stub.instead['/.well-known/oauth-protected-resource/mcp'] = missing;
    const { query } = await begun(await tool());
    expect(query.get('resource')).toBe(stub.url);
    stub.instead['/.well-known/oauth-authorization-server'] = missing;
    const at = await tool();
    expect((await begun(at)).page).toBe(`${stub.origin}/authorize`);
    await signIn(at);
    expect(await signIns.authorization(at, null)).toStartWith('Bearer access-');
  });
});

describe('which client we are', () => {
  test('the registered one, kept for the tool and its issuer until its secret ends', async () => {
    const at = await tool();
    stub.registered = { client_secret: 's', client_secret_expires_at: Math.floor(now / 1000) + 60 };
    expect((await begun(at)).query.get('client_id')).toBe('client-1');
    expect((await begun(at)).query.get('client_id')).toBe('client-1');
    expect(stub.registrations).toEqual([
      {
        client_name: 'Toolgate',
        client_uri: HERE,
        redirect_uris: [`${HERE}/oauth/callback/${at.id}`],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        application_type: 'native',
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ]);
    now += 61_000;
    expect((await begun(at)).query.get('client_id')).toBe('client-2');
    expect((await begun(await tool())).query.get('client_id')).toBe('client-3');
    stub.issuerPath = '/moved';
    expect((await begun(at)).query.get('client_id')).toBe('client-4');
    signIns.servedAt('https://toolgate.example');
    expect((await begun(at)).query.get('client_id')).toBe('client-5');
    expect(stub.registrations[4]).toMatchObject({ application_type: 'web' });
  });

  test('a client that the server has forgotten is registered anew at the next sign-in', async () => {
    stub.grant = { expires_in: 3600, refresh_token: 'r' };
    const at = await tool();
    await signIn(at);
    const first = await signIns.authorization(at, null);
    now += 3600_000 - 60_001;
    expect(await signIns.authorization(at, null)).toBe(first);
    now += 1;
    expect(await signIns.authorization(at, null)).not.toBe(first);
    stub.instead['/token'] = () => Response.json({ error: 'invalid_client' }, { status: 401 });
    now += 3600_000;
    expect(await refusal(signIns.authorization(at, null))).toMatchObject({ name: 'SignInNeeded' });
    expect((await begun(at)).query.get('client_id')).toBe('client-2');
    expect(stub.tokenRequests.map(each => each.body.get('refresh_token'))).toEqual([null, 'r']);
  });

  test('a server that names another issuer each time gets no more than some clients kept', async () => {
    const at = await tool();
    for (let n = 1; n <= 25; n++) {
      stub.issuerPath = `/issuer-${n}`;
      await begun(at);
    }
    expect(await countServerClients(store.db, at.id)).toBe(5);
  });

  test('our metadata document, where we have https and the server takes one', async () => {
    stub.metadata = { client_id_metadata_document_supported: true };
    const at = await tool();
    expect((await begun(at)).query.get('client_id')).toBe('client-1');
    signIns.servedAt('https://toolgate.example');
    const { query } = await begun(at);
    const document = `https://toolgate.example/oauth/clients/${at.id}.json`;
    expect(query.get('client_id')).toBe(document);
    expect(signIns.documentFor(at.id)).toMatchObject({
      client_id: document,
      redirect_uris: [query.get('redirect_uri')],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    });
  });

  test('the entered one, whose secret goes to no other authorization server', async () => {
    stub.metadata = { registration_endpoint: undefined };
    const at = await tool({ as: 'key', clientId: 'my app', clientSecret: 'my:secret' });
    const query = await signIn(at);
    expect(query.get('client_id')).toBe('my app');
    expect(stub.tokenRequests[0]?.headers.get('authorization')).toBe(`Basic ${btoa('my%20app:my%3Asecret')}`);
    stub.issuerPath = '/moved';
    expect(await faultOf(begin(signIns, at))).toMatch(/^conflict: It now names another authorization/);
  });

  test.each([
    [['client_secret_basic'], undefined, 'basic'],
    [['client_secret_post'], undefined, 'post'],
    [['none'], undefined, 'none'],
    [undefined, undefined, 'basic'],
    [['client_secret_basic', 'client_secret_post'], 'client_secret_post', 'post'],
    [['private_key_jwt'], undefined, 'basic'],
  ])('%j and registered for %s: %s', async (supported, registered, used) => {
    stub.metadata = { token_endpoint_auth_methods_supported: supported };
    stub.registered = { client_secret: 'plain-secret', token_endpoint_auth_method: registered };
    await signIn(await tool());
    const { headers, body } = stub.tokenRequests[0] as (typeof stub.tokenRequests)[number];
    const basic = headers.get('authorization') === `Basic ${btoa('client-1:plain-secret')}`;
    expect(basic ? 'basic' : body.get('client_secret') === 'plain-secret' ? 'post' : 'none').toBe(used);
    expect([body.get('client_id'), headers.get('authorization') === null]).toEqual(
      basic ? [null, false] : ['client-1', true],
    );
  });
});

describe('which scopes we ask for', () => {
  const CHALLENGED = 'Bearer scope="a b"';
  test.each<[string | null, string[] | undefined, string[] | undefined, string[] | undefined, string | null]>(
    [
      [null, undefined, undefined, undefined, null],
      [CHALLENGED, ['c'], undefined, undefined, 'a b'],
      [null, ['c', 'd'], undefined, undefined, 'c d'],
      [null, ['c', 'two words', '"'], undefined, undefined, 'c'],
      [CHALLENGED, ['c'], ['a', 'offline_access'], undefined, 'a b offline_access'],
      [null, undefined, ['offline_access'], undefined, null],
      [CHALLENGED, ['c'], ['offline_access'], ['only', 'these'], 'only these'],
      [CHALLENGED, ['c'], undefined, [], null],
    ],
  )(
    'challenge %s, resource %j, issuer %j, entered %j: %s',
    async (challenge, own, issuer, entered, asked) => {
      stub.challenge = challenge;
      stub.resourceMetadata = { scopes_supported: own };
      stub.metadata = { scopes_supported: issuer };
      const { query } = await begun(await tool({ as: 'key', scopes: entered }));
      expect(query.get('scope')).toBe(asked);
      expect(query.get('prompt')).toBe(asked?.includes('offline_access') ? 'consent' : null);
    },
  );

  test('a server that wants more gets more, but not for ever, and the sign-in goes on meanwhile', async () => {
    stub.challenge = 'Bearer scope="read"';
    const at = await tool();
    await signIn(at);
    const header = await signIns.authorization(at, null);
    const want = (scope: string, error = 'insufficient_scope') =>
      signIns.refused(at, null, header, {
        status: 403,
        wwwAuthenticate: `Bearer error="${error}", scope="${scope}"`,
      });
    expect(await want('write', 'invalid_token')).toBe('refused');
    expect(await want('write')).toBe('sign-in');
    expect(await signIns.authorization(at, null)).toBe(header);
    expect(await signIns.stateOf(at, null)).toMatchObject({ state: 'signed_in' });
    expect((await signIn(at)).get('scope')).toBe('read write');
    expect(await want('write')).toBe('again');
    const next = await signIns.authorization(at, null);
    const inVain = () =>
      signIns.refused(at, null, next, {
        status: 403,
        wwwAuthenticate: 'Bearer error="insufficient_scope", scope="write"',
      });
    expect(await inVain()).toBe('sign-in');
    expect(await inVain()).toBe('refused');
    const fixed = await tool({ as: 'key', scopes: ['read'] });
    await signIn(fixed);
    const refused = signIns.refused(fixed, null, await signIns.authorization(fixed, null), {
      status: 403,
      wwwAuthenticate: 'Bearer error="insufficient_scope", scope="write"',
    });
    expect(await refused).toBe('refused');
  });
});

describe('what of an answer is believed', () => {
  test('one that is nested deeply is not taken: writing it again takes seconds', async () => {
    const nested = (levels: number) => {
      const deep = '['.repeat(levels) + ']'.repeat(levels);
      stub.instead['/token'] = () => new Response(`{"access_token":"a","token_type":"Bearer","x":${deep}}`);
    };
    nested(30);
    await signIn(await tool());
    nested(100);
    expect(await faultOf(signIn(await tool()))).toBe(
      'not_ready: The authorization server’s answer has no token that can be used.',
    );
  });

  test('state, PKCE and resource bind a visit to its begin', async () => {
    const at = await tool();
    const query = await signIn(at);
    expect(query.get('code_challenge_method')).toBe('S256');
    const { body } = stub.tokenRequests[0] as (typeof stub.tokenRequests)[number];
    const verifier = body.get('code_verifier') ?? '';
    expect(new Bun.CryptoHasher('sha256').update(verifier).digest('base64url')).toBe(
      query.get('code_challenge') ?? '',
    );
    expect(Object.fromEntries(body)).toMatchObject({
      grant_type: 'authorization_code',
      code: 'c',
      redirect_uri: `${HERE}/oauth/callback/${at.id}`,
      resource: stub.url,
    });
    const { query: other, browser } = await begun(at);
    now += 10 * 60_000;
    const late = new URLSearchParams({ code: 'c', state: other.get('state') ?? '' });
    expect(await faultOf(signIns.finish({ toolId: at.id, answer: late, browser }, ANYBODY))).toMatch(
      /^gone: /,
    );
  });

  test.each<[boolean | undefined, string | null, boolean]>([
    [true, '', true],
    [true, null, false],
    [undefined, null, true],
    [undefined, '', true],
    [true, '/', false],
    [undefined, '/', false],
    [undefined, '.evil.example', false],
  ])('iss: promised %p, issuer with %p: %p', async (promised, more, believed) => {
    stub.metadata = { authorization_response_iss_parameter_supported: promised };
    const finished = signIn(await tool(), more === null ? {} : { iss: stub.issuer + more });
    if (believed) await finished;
    else expect(await faultOf(finished)).toMatch(/^forbidden: The answer does not come from/);
    expect(stub.tokenRequests.length).toBe(believed ? 1 : 0);
  });

  test.each<[string, Record<string, unknown>]>([
    ['a token that is bound to a key', { token_type: 'DPoP' }],
    ['no type', { token_type: undefined }],
    ['a token that would end the header', { access_token: 'a\r\nX-Other: b' }],
    ['an empty token', { access_token: '' }],
    ['a token without end', { access_token: 'a'.repeat(20_000) }],
    ['an error with 200', { access_token: undefined, error: 'bad_verification_code' }],
    ['no object', { access_token: { a: 1 } }],
  ])('%s', async (_, grant) => {
    stub.grant = grant;
    const at = await tool();
    expect(await faultOf(signIn(at))).toMatch(/^(not_ready|forbidden): /);
    expect(await signIns.stateOf(at, null)).toMatchObject({ state: 'needed' });
  });

  test('the account is only a name: bounded, visible, and whoever signs the ID token', async () => {
    const idToken = (claims: unknown) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
    for (const [grant, as] of [
      [{ id_token: idToken({ email: 'ann@example.com', sub: '7' }) }, 'ann@example.com'],
      [{ id_token: idToken({ name: 'A\u202eB' }) }, 'A\\u{202E}B'],
      [{ id_token: idToken({ name: 'x'.repeat(9999) }) }, 'x'.repeat(200)],
      [{ id_token: 'garbage', workspace_name: 'Acme' }, 'Acme'],
      [{ id_token: idToken([1]) }, null],
      [{}, null],
    ] as const) {
      stub.grant = grant;
      const at = await tool();
      await signIn(at);
      expect((await signIns.stateOf(at, null)).as).toBe(as);
    }
  });

  test('a token that does not say when it ends is used until it is refused; one without a successor ends', async () => {
    stub.grant = {};
    const at = await tool();
    await signIn(at);
    const header = await signIns.authorization(at, null);
    now += 365 * 86_400_000;
    expect(await signIns.authorization(at, null)).toBe(header);
    for (const expires_in of [0, 0.001]) {
      stub.grant = { expires_in, refresh_token: 'r' };
      await signIn(at);
      const asked = stub.tokenRequests.length;
      now += 1000;
      await signIns.authorization(at, null);
      expect(stub.tokenRequests.length - asked).toBe(expires_in === 0 ? 0 : 1);
    }
    stub.grant = { expires_in: '60' };
    await signIn(at);
    expect(await signIns.stateOf(at, null)).toMatchObject({ state: 'signed_in', until: now + 60_000 });
    now += 59_000;
    expect(await signIns.authorization(at, null)).not.toBe(header);
    now += 1000;
    expect(await signIns.stateOf(at, null)).toMatchObject({ state: 'ended' });
    expect(await refusal(signIns.authorization(at, null))).toMatchObject({ name: 'SignInNeeded' });
  });
});

test('challenges are read as they are written', () => {
  const none = { resourceMetadata: null, scopes: null, error: null };
  for (const [header, read] of [
    [null, none],
    ['', none],
    ['Bearer', none],
    ['Basic realm="x", scope="a"', none],
    ['bearer scope=a', { ...none, scopes: ['a'] }],
    ['Bearer scope="a  b a"', { ...none, scopes: ['a', 'b'] }],
    ['Basic realm="Bearer scope=x", Bearer error="invalid_token"', { ...none, error: 'invalid_token' }],
    ['Bearer realm="a, b=c", error=e, Basic error=other', { ...none, error: 'e' }],
    [
      'Bearer resource_metadata="https://a/\\"b", scope="x", scope="y"',
      { ...none, resourceMetadata: 'https://a/"b', scopes: ['x'] },
    ],
    [`Bearer ${'x'.repeat(10_000)}, scope="a"`, none],
    ['Bearer scope="never ends', none],
  ] as const)
    expect([header, readChallenge(header)]).toEqual([header, read as never]);
});

test('a resource covers an address of its origin, at its path or below', () => {
  const target = 'https://a.example/x/mcp?q=1';
  for (const each of ['https://a.example', 'https://a.example/', 'https://a.example/x', `${target}`])
    expect([each, covers(each, target)]).toEqual([each, true]);
  for (const each of [
    'https://a.example/x/mc',
    'https://a.example/x/mcp/y',
    'http://a.example',
    'x',
    `${target}2`,
  ])
    expect([each, covers(each, target)]).toEqual([each, false]);
});
