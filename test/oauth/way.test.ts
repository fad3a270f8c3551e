// The way of MCP clients to their tokens: metadata, registration as real clients send it, the sign-in, the consent page and
// the exchange. attacks.test.ts has what must not work.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { newPerson, OWN, PASSWORD, type Person } from '../operators/people.ts';
import { startService, type TestService } from '../support/service.ts';
import recorded from '../vectors/oauth/registrations.json';
import {
  allowed,
  asking,
  authorize,
  codeFor,
  connectable,
  connected,
  consent,
  exchange,
  fieldsOf,
  form,
  newClient,
  REDIRECT,
  refresh,
  register,
  sentBack,
  startOAuth,
} from './connect.ts';

let service: TestService;
beforeAll(async () => {
  service = await startOAuth({ env: { TOOLGATE_OAUTH_REDIRECTS: 'https://agent.example.com/back' } });
});
afterAll(() => service.close());

const WELL_KNOWN = ['', '/mcp'].flatMap(suffix => [
  `/.well-known/oauth-protected-resource${suffix}`,
  `/.well-known/oauth-authorization-server${suffix}`,
]);

describe('what clients read first', () => {
  test('the metadata names the public URL, whatever the Host header says', async () => {
    const issuer = service.url;
    for (const path of WELL_KNOWN) {
      const { status, body, headers } = await service.request('GET', path, {
        headers: { Host: 'evil.example' },
      });
      expect([path, status]).toEqual([path, 200]);
      expect(headers.get('access-control-allow-origin')).toBe('*');
      if (path.includes('resource'))
        expect(body).toEqual({
          resource: `${issuer}/mcp`,
          authorization_servers: [issuer],
          scopes_supported: ['mcp'],
          bearer_methods_supported: ['header'],
          resource_name: 'Toolgate',
        });
      else
        expect(body).toMatchObject({
          issuer,
          authorization_endpoint: `${issuer}/oauth/authorize`,
          token_endpoint: `${issuer}/oauth/token`,
          registration_endpoint: `${issuer}/oauth/register`,
          revocation_endpoint: `${issuer}/oauth/revoke`,
          code_challenge_methods_supported: ['S256'],
          grant_types_supported: ['authorization_code', 'refresh_token'],
          token_endpoint_auth_methods_supported: ['none'],
          client_id_metadata_document_supported: true,
          authorization_response_iss_parameter_supported: true,
        });
    }
  });

  test('a 401 on /mcp says where to sign in, and whether a token was wrong; others do not', async () => {
    const where = `Bearer resource_metadata="${service.url}/.well-known/oauth-protected-resource/mcp", scope="mcp"`;
    for (const method of ['GET', 'POST', 'DELETE']) {
      const reply = await service.request(method, '/mcp');
      expect([reply.status, reply.headers.get('www-authenticate')]).toEqual([401, where]);
    }
    const wrong = await service.json('POST', '/mcp', 'tg_oat_wrong', {});
    expect([wrong.status, wrong.headers.get('www-authenticate')]).toEqual([
      401,
      `${where}, error="invalid_token"`,
    ]);
    const check = await service.check('tg_oat_wrong', 'x', 'y');
    expect([check.status, check.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="toolgate"']);
  });

  test('scripts of any page may call what needs no cookie, and nothing else', async () => {
    const preflight = (path: string) =>
      service.request('OPTIONS', path, {
        headers: {
          Origin: 'https://inspector.example',
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'mcp-protocol-version, content-type',
        },
      });
    for (const path of [...WELL_KNOWN, '/oauth/token', '/oauth/register', '/oauth/revoke']) {
      const { status, headers } = await preflight(path);
      expect([path, status, headers.get('access-control-allow-origin')]).toEqual([path, 204, '*']);
      expect(headers.get('access-control-allow-headers')).toBe('*, Authorization');
      expect(headers.get('access-control-allow-credentials')).toBeNull();
    }
    expect((await form(service, '/oauth/token', {})).headers.get('access-control-allow-origin')).toBe('*');
    for (const path of ['/oauth/authorize', '/mcp', '/v1/check', '/admin/v1/me', '/dashboard/sign-in']) {
      const { status, headers } = await preflight(path);
      expect([path, status, headers.get('access-control-allow-origin')]).toEqual([path, 405, null]);
    }
  });

  test('where OAuth is off there is nothing of it', async () => {
    await using off = await startService().then(each =>
      Object.assign(each, { [Symbol.asyncDispose]: () => each.close() }),
    );
    for (const path of [
      ...WELL_KNOWN,
      ...['authorize', 'token', 'register', 'revoke'].map(each => `/oauth/${each}`),
    ])
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const { status, body, headers } = await off.request(method, path);
        expect([method, path, status, body.code]).toEqual([method, path, 404, 'not_found']);
        expect(headers.get('access-control-allow-origin')).toBeNull();
      }
    expect((await off.request('POST', '/mcp')).headers.get('www-authenticate')).toBe(
      'Bearer realm="toolgate"',
    );
  });
});

describe('clients as they are', () => {
  let person: Person;
  beforeAll(async () => {
    person = (await connectable(service)).person;
  });

  for (const { client, registration, redirectUris } of recorded.clients)
    test(`${client} registers and is connected`, async () => {
      const { status, body, headers } = await register(service, registration);
      expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
      expect(body).toMatchObject({
        client_name: registration.client_name,
        redirect_uris: registration.redirect_uris,
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
      });
      expect(body).not.toHaveProperty('client_secret');
      expect((await register(service, registration)).body.client_id).toBe(body.client_id);
      for (const redirect of redirectUris) {
        const code = await codeFor(service, person, body.client_id, {
          redirect_uri: redirect,
          resource: `${service.url}/mcp`,
        });
        const tokens = await exchange(service, body.client_id, code, {
          redirect_uri: redirect,
          resource: `${service.url}/mcp`,
        });
        expect(tokens.body).toMatchObject({ token_type: 'Bearer', expires_in: 900, scope: 'mcp' });
        expect(await allowed(service, tokens.body.access_token)).toBe(true);
      }
    });

  test('a document that cannot be fetched does not stop well-known clients', async () => {
    const id = 'https://claude.ai/oauth/claude-code-client-metadata';
    const page = await authorize(
      service,
      asking(id, { redirect_uri: 'http://localhost:3118/callback' }),
      person.cookie,
    );
    expect(page.status).toBe(200);
    expect(page.text).toContain('<b><bdi>claude.ai</bdi></b>');
  });

  test('an admin registers one, and removes it with all that is connected by it', async () => {
    const { person } = await connectable(service);
    const redirect = 'https://internal.example.com/back?app=1';
    const bad = await service.admin('POST', '/oauth-clients', {
      name: 'x',
      redirectUris: ['javascript:alert(1)'],
    });
    expect([bad.status, bad.body.errors[0].path]).toEqual([400, '/redirectUris/0']);
    const made = await service.admin('POST', '/oauth-clients', {
      name: 'Our agent',
      redirectUris: [redirect],
    });
    expect(made.status).toBe(201);
    const { clientId } = made.body;
    expect((await service.admin('GET', '/oauth-clients')).body.oauthClients[0]).toEqual(made.body);
    const page = await authorize(service, asking(clientId, { redirect_uri: redirect }), person.cookie);
    expect(page.text).toContain('Registered by an admin');
    const back = await consent(service, person.cookie, { ...fieldsOf(page), answer: 'connect' });
    expect(back.headers.get('location')).toStartWith(`${redirect}&code=`);
    const code = new URL(back.headers.get('location') ?? '').searchParams.get('code') ?? '';
    const { body } = await exchange(service, clientId, code, { redirect_uri: redirect });
    expect(await allowed(service, body.access_token)).toBe(true);
    const unused = await consent(service, person.cookie, { ...fieldsOf(page), answer: 'connect' });
    expect((await service.admin('DELETE', `/oauth-clients/${clientId}`)).status).toBe(204);
    expect(await allowed(service, body.access_token)).toBe(false);
    const late = new URL(unused.headers.get('location') ?? '').searchParams.get('code') ?? '';
    const tooLate = await exchange(service, clientId, late, { redirect_uri: redirect });
    expect([tooLate.status, tooLate.body.error]).toEqual([400, 'invalid_grant']);
    expect((await refresh(service, clientId, body.refresh_token)).body.error).toBe('invalid_grant');
    expect((await service.admin('DELETE', `/oauth-clients/${clientId}`)).status).toBe(404);
    const { changes } = (await service.admin('GET', '/changes')).body;
    expect(changes.slice(0, 5).map((each: { action: string }) => each.action)).toEqual([
      'session.revoke',
      'oauth-client.delete',
      'session.connect',
      'oauth-client.create',
      'key.create',
    ]);
  });
});

describe('the person', () => {
  test('who is not signed in signs in and comes back to the question', async () => {
    const { person } = await connectable(service);
    const clientId = await newClient(service);
    const first = await authorize(service, asking(clientId));
    const [page, name = ''] = (first.headers.get('location') ?? '').split('?continue=');
    expect([first.status, page]).toEqual([303, '/dashboard/sign-in']);
    const back = await form(
      service,
      '/dashboard/sign-in',
      { email: person.email, password: PASSWORD, continue: name },
      OWN,
    );
    const question = new URL(back.headers.get('location') ?? '', service.url);
    expect(Object.fromEntries(question.searchParams)).toEqual(asking(clientId));
    const cookie = (back.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const shown = await service.request('GET', question.pathname + question.search, {
      headers: { Cookie: cookie },
    });
    expect(shown.text).toContain('<b><bdi>Unverified</bdi></b>');
  });

  test('reads who asks, where they are sent, for which key and for how long', async () => {
    const { person } = await connectable(service);
    const name = '<b>Evil</b>\u202E & co';
    const { body } = await register(service, { client_name: name, redirect_uris: [REDIRECT] });
    const { text, status, headers } = await authorize(service, asking(body.client_id), person.cookie);
    expect(status).toBe(200);
    expect(text).toContain('&lt;b&gt;Evil&lt;/b&gt;\\u{202E} &amp; co');
    expect(text).not.toContain(name);
    for (const part of [
      person.email,
      REDIRECT,
      'This computer',
      '90 days',
      '14 days without use',
      '15 minutes',
    ])
      expect(text).toContain(part);
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('content-security-policy')).not.toContain('form-action');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cache-control')).toBe('no-store');
    const signInPage = await service.request('GET', '/dashboard/sign-in');
    expect(signInPage.headers.get('content-security-policy')).toContain("form-action 'self'");
  });

  test('says no, and the client is told', async () => {
    const { person } = await connectable(service);
    const page = await authorize(service, asking(await newClient(service)), person.cookie);
    const answer = await consent(service, person.cookie, { ...fieldsOf(page), answer: 'deny' });
    expect(sentBack(answer)).toEqual({
      error: 'access_denied',
      error_description: 'The person did not agree.',
      state: 'the state',
      iss: service.url,
    });
  });

  test('to whom no key is open reads so, whatever their role, and can go back', async () => {
    const clientId = await newClient(service);
    for (const role of ['user', 'admin'] as const) {
      const person = await newPerson(service, role);
      await service.admin('PATCH', `/operators/${person.id}`, { groups: ['finance'] });
      const page = await authorize(service, asking(clientId), person.cookie);
      expect(page.status).toBe(403);
      expect(page.text).toContain('No key is open to you');
      expect(page.text).toContain('<bdi>finance</bdi>');
      const answer = await consent(service, person.cookie, { ...fieldsOf(page), answer: 'deny' });
      expect(sentBack(answer)['error']).toBe('access_denied');
    }
  });

  test('to whom several keys are open chooses one, by themselves or by group', async () => {
    const person = await newPerson(service, 'approver');
    await service.admin('PATCH', `/operators/${person.id}`, { groups: ['dev'] });
    const deny = await service.newKey([], { name: 'Closed', openTo: [`person:${person.email}`] });
    const open = await service.newKey([{ tool: '*', action: 'allow' }], {
      name: 'Open',
      openTo: ['group:dev'],
      expiresAt: '2090-01-02T03:04:05.000Z',
    });
    const clientId = await newClient(service);
    for (const [keyId, expected] of [
      [deny.keyId, false],
      [open.keyId, true],
    ] as const) {
      const page = await authorize(service, asking(clientId), person.cookie);
      expect([...page.text.matchAll(/<option value="(\S*?)">/g)].map(([, id]) => id).sort()).toEqual(
        ['', deny.keyId, open.keyId].sort(),
      );
      expect(page.text).toContain('>Open (ends on 2090-01-02)</option>');
      const answer = await consent(service, person.cookie, {
        ...fieldsOf(page),
        key: keyId,
        answer: 'connect',
      });
      const { body } = await exchange(service, clientId, sentBack(answer)['code'] as string);
      expect(await allowed(service, body.access_token)).toBe(expected);
    }
    const page = await authorize(service, asking(clientId), person.cookie);
    for (const key of ['', Bun.randomUUIDv7()])
      expect(
        (await consent(service, person.cookie, { ...fieldsOf(page), key, answer: 'connect' })).status,
      ).toBe(403);
  });

  test('is named where the connection is listed, and one of too many connections ends', async () => {
    const { person, keyId } = await connectable(service);
    const clientId = await newClient(service);
    const first = await connected(service, person, clientId);
    for (let count = 1; count < 50; count++) await connected(service, person, clientId);
    expect(await allowed(service, first.access_token)).toBe(true);
    const last = await connected(service, person, clientId);
    expect(await allowed(service, first.access_token)).toBe(false);
    expect(await allowed(service, last.access_token)).toBe(true);
    const { sessions } = (await service.admin('GET', `/sessions?keyId=${keyId}&limit=100`)).body;
    expect(sessions.at(-1)).toMatchObject({ personId: person.id, clientId, label: 'A test' });
    expect(sessions.at(-1).revokedBecause).toContain('more than 50 connections');
  });
});

test('a client ends its connection with either token, and unknown tokens are no error', async () => {
  const { person } = await connectable(service);
  for (const kind of ['access_token', 'refresh_token'] as const) {
    const tokens = await connected(service, person);
    const other = await form(service, '/oauth/revoke', { token: tokens[kind], client_id: 'another' });
    expect([other.status, other.body.error]).toEqual([400, 'invalid_client']);
    expect(await allowed(service, tokens.access_token)).toBe(true);
    const ended = await form(service, '/oauth/revoke', { token: tokens[kind], client_id: tokens.clientId });
    expect([ended.status, ended.text]).toEqual([200, '']);
    expect(await allowed(service, tokens.access_token)).toBe(false);
    expect((await refresh(service, tokens.clientId, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await form(service, '/oauth/revoke', { token: tokens[kind] })).status).toBe(200);
  }
  expect((await form(service, '/oauth/revoke', { token: 'nonsense' })).status).toBe(200);
  expect((await form(service, '/oauth/revoke', {})).body.error).toBe('invalid_request');
});
