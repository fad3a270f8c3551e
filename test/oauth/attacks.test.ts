// What must not work on the way to a token, and with one: no code without the person's own consent, no redirect to a stranger's
// address, no second use, no token where it does not belong. Revocation and refresh are tried on two replicas.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { newPerson, OWN, type Person } from '../operators/people.ts';
import { sql } from '../support/faults.ts';
import { LegacyClient } from '../support/mcp.ts';
import { engines, type Reply, type TestService } from '../support/service.ts';
import {
  allowed,
  asking,
  authorize,
  CHALLENGE,
  codeFor,
  connectable,
  connected,
  consent,
  exchange,
  fieldsOf,
  form,
  from,
  newClient,
  REDIRECT,
  refresh,
  register,
  sentBack,
  startOAuth,
  VERIFIER,
} from './connect.ts';

let service: TestService;
let person: Person;
let clientId: string;
beforeAll(async () => {
  service = await startOAuth({ env: { TOOLGATE_LOG_LEVEL: 'debug' } });
  ({ person } = await connectable(service));
  clientId = await newClient(service);
});
afterAll(() => service.close());

const asked = (more: Record<string, string | undefined> = {}, cookie?: string) =>
  authorize(service, asking(clientId, more), cookie);

/** Our own page, and no way to anywhere. */
function expectPage(reply: Reply, status: number): void {
  expect([reply.status, reply.headers.get('location')]).toEqual([status, null]);
  expect(reply.headers.get('content-type')).toStartWith('text/html');
  expect(reply.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
}

describe('no code without the person’s own consent', () => {
  test('not by opening the page, however often', async () => {
    const page = await asked({}, person.cookie);
    expect(page.headers.get('location')).toBeNull();
    expect(page.text).not.toContain('code=');
    await connected(service, person, clientId);
    // A client that is connected already is asked about again.
    expect((await asked({}, person.cookie)).text).toContain('Connect <bdi>A test</bdi>?');
  });

  test('not from another page, another sign-in, another request, nor without the form’s value', async () => {
    const fields: Record<string, string> = {
      ...fieldsOf(await asked({}, person.cookie)),
      answer: 'connect',
    };
    const other = await newPerson(service, 'admin');
    for (const headers of [{}, { 'Sec-Fetch-Site': 'cross-site' }, { Origin: 'https://evil.example' }])
      expectPage(await consent(service, person.cookie, fields, headers), 403);
    expectPage(await consent(service, other.cookie, fields), 403);
    expectPage(await consent(service, 'toolgate_session=unknown', fields), 401);
    const changed = (fields['request'] ?? '').replace('the+state', 'another');
    expectPage(await consent(service, person.cookie, { ...fields, request: changed }), 403);
    expectPage(await consent(service, person.cookie, { ...fields, consent: '9999999999999.x' }), 403);
    const { consent: _, ...without } = fields;
    expectPage(await consent(service, person.cookie, without), 400);
    const json = await service.request('POST', '/oauth/authorize', {
      headers: { 'Content-Type': 'application/json', Cookie: person.cookie, ...OWN, ...from() },
      body: JSON.stringify(fields),
    });
    expectPage(json, 415);
    expect(sentBack(await consent(service, person.cookie, fields))['code']).toBeString();
  });

  test('not for a key that is open to somebody else', async () => {
    const closed = await service.newKey([]);
    const fields = fieldsOf(await asked({}, person.cookie));
    expectPage(
      await consent(service, person.cookie, { ...fields, key: closed.keyId, answer: 'connect' }),
      403,
    );
  });
});

describe('a wrong client or address never redirects', () => {
  test('whatever else is right or wrong, signed in or not', async () => {
    const wrong: Record<string, string | undefined>[] = [
      { client_id: undefined },
      { client_id: '' },
      { client_id: 'unknown' },
      { client_id: Bun.randomUUIDv7() },
      { client_id: `${clientId}x` },
      { client_id: clientId.replace('tgc_W', 'tgc_X') },
      { client_id: 'http://claude.ai/oauth/claude-code-client-metadata' },
      { client_id: 'https://claude.ai/' },
      ...[
        undefined,
        '',
        'http://localhost:49721/other',
        'http://localhost:49721/callback/',
        'http://localhost:49721/callback?x=1',
        'http://localhost:49721/callback#x',
        'http://127.0.0.1:49721/callback',
        'https://localhost:49721/callback',
        'http://localhost:99999/callback',
        'http://localhost.evil.example/callback',
        'http://localhost:49721@evil.example/callback',
        'http://evil.example/callback',
        'https://evil.example/callback',
        '//evil.example/callback',
        '/callback',
        'javascript:alert(1)',
        'data:text/html,x',
        'http://localhost:49721\\@evil.example/callback',
        `${REDIRECT}\r\nSet-Cookie: x=1`,
      ].map(redirect_uri => ({ redirect_uri })),
    ];
    for (const more of wrong)
      for (const cookie of [undefined, person.cookie])
        for (const broken of [{}, { code_challenge: undefined }])
          expectPage(await asked({ ...more, ...broken }, cookie), 400);
    // The document of a client is looked for only after the sign-in.
    expectPage(await asked({ client_id: 'https://127.0.0.1:1/client.json' }, person.cookie), 400);
    const twice = `${new URLSearchParams(asking(clientId))}&redirect_uri=https%3A%2F%2Fevil.example`;
    expectPage(await service.request('GET', `/oauth/authorize?${twice}`, { headers: from() }), 400);
  });

  test('strangers register loopback and well-known addresses only', async () => {
    for (const uri of [
      'https://evil.example/callback',
      'https://claude.ai/api/mcp/auth_callback/../../evil',
      'https://claude.ai.evil.example/api/mcp/auth_callback',
      'https://user@claude.ai/api/mcp/auth_callback',
      'https://chatgpt.com/connector/oauth/../evil',
      'https://chatgpt.com/connector/oauth/a/b',
      'https://vscode.dev/redirect?url=https://evil.example',
      'cursor://evil/oauth/callback',
      'http://192.168.1.1/callback',
      'http://localhost.evil.example/callback',
      'http://0.0.0.0/callback',
      'javascript:alert(document.domain)//http://localhost/',
      'data:text/html,<script>',
      'vbscript:x',
      'file:///etc/passwd',
      `${service.url}/mcp`.replace('http:', 'https:'),
      'http://localhost/cb#fragment',
      `http://localhost/${'a'.repeat(500)}`,
      '',
      'x',
    ]) {
      const { status, body } = await register(service, { redirect_uris: [REDIRECT, uri] });
      expect([uri, status, body.error]).toEqual([uri, 400, 'invalid_redirect_uri']);
      expect(body.error_description).toStartWith('redirect_uris[1] ');
    }
    for (const [sent, error] of [
      [{}, 'invalid_redirect_uri'],
      [{ redirect_uris: [] }, 'invalid_redirect_uri'],
      [
        { redirect_uris: Array.from({ length: 11 }, (_, at) => `http://localhost/${at}`) },
        'invalid_redirect_uri',
      ],
      [{ redirect_uris: [7] }, 'invalid_redirect_uri'],
      [{ redirect_uris: [REDIRECT], client_name: 7 }, 'invalid_client_metadata'],
      [
        { redirect_uris: Array.from({ length: 10 }, (_, at) => `http://localhost/${at}${'a'.repeat(400)}`) },
        'invalid_client_metadata',
      ],
    ] as const) {
      const { status, body } = await register(service, sent);
      expect([status, body.error]).toEqual([400, error]);
    }
    const long = await register(service, {
      redirect_uris: [REDIRECT],
      client_name: '\n'.concat('é'.repeat(5000)),
    });
    expect([long.status, long.body.client_name.length]).toEqual([201, 100]);
  });

  test('an address that left the settings works no more', async () => {
    const uri = 'https://agent.example.com/back';
    await using before = await disposable(
      startOAuth({ env: { TOOLGATE_OAUTH_REDIRECTS: `${uri},com.example.app:/oauth` } }),
    );
    const { body } = await register(before, { redirect_uris: [uri, 'com.example.app:/oauth'] });
    expect(body.client_id).toStartWith('tgc_');
    // The same master key, other settings.
    expectPage(await authorize(service, asking(body.client_id, { redirect_uri: uri }), person.cookie), 400);
    expect((await authorize(before, asking(body.client_id, { redirect_uri: uri }))).status).toBe(303);
  });
});

const disposable = async (started: Promise<TestService>): Promise<TestService & AsyncDisposable> => {
  const each = await started;
  return Object.assign(each, { [Symbol.asyncDispose]: () => each.close() });
};

describe('PKCE, resource and the form of requests', () => {
  test('what is wrong with a request goes back to the client, with state and issuer', async () => {
    for (const [more, error] of [
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ response_type: undefined }, 'unsupported_response_type'],
      [{ code_challenge: undefined }, 'invalid_request'],
      [{ code_challenge: 'short' }, 'invalid_request'],
      [{ code_challenge_method: undefined }, 'invalid_request'],
      [{ code_challenge_method: 'plain', code_challenge: VERIFIER }, 'invalid_request'],
      [{ resource: 'https://evil.example/mcp' }, 'invalid_target'],
      [{ resource: service.url }, 'invalid_target'],
    ] as const)
      for (const cookie of [undefined, person.cookie])
        expect(sentBack(await asked(more, cookie))).toMatchObject({
          error,
          state: 'the state',
          iss: service.url,
        });
  });

  test('a code needs its verifier, client and address, and the right resource', async () => {
    const code = await codeFor(service, person, clientId);
    const other = await register(service, { client_name: 'Another', redirect_uris: [REDIRECT] });
    for (const [more, error] of [
      [{ code_verifier: '' }, 'invalid_request'],
      [{ code_verifier: CHALLENGE }, 'invalid_grant'],
      [{ code_verifier: `${VERIFIER}x` }, 'invalid_grant'],
      [{ client_id: other.body.client_id }, 'invalid_grant'],
      [{ client_id: '' }, 'invalid_request'],
      [{ redirect_uri: 'http://localhost:1/callback' }, 'invalid_grant'],
      [{ resource: 'https://evil.example/mcp' }, 'invalid_target'],
      [{ grant_type: 'password' }, 'unsupported_grant_type'],
      [{ grant_type: '' }, 'invalid_request'],
      [{ code: 'unknown' }, 'invalid_grant'],
    ] as const) {
      const { status, body, headers } = await exchange(service, clientId, code, more);
      expect([more, status, body.error]).toEqual([more, 400, error]);
      expect(headers.get('cache-control')).toBe('no-store');
    }
    expect((await exchange(service, clientId, code)).status).toBe(200);
  });

  test('a form is bounded, and says each thing once', async () => {
    const twice = new URLSearchParams([
      ['grant_type', 'refresh_token'],
      ['grant_type', 'authorization_code'],
    ]);
    const { status, body } = await form(service, '/oauth/token', twice);
    expect([status, body.error]).toEqual([400, 'invalid_request']);
    expect((await form(service, '/oauth/token', { code: 'x'.repeat(100_000) })).status).toBe(413);
    expect((await service.json('POST', '/oauth/token', null, { grant_type: 'refresh_token' })).status).toBe(
      415,
    );
  });
});

test('a token opens /mcp and /v1/check and nothing else, and a refresh token nothing', async () => {
  const tokens = await connected(service, person, clientId);
  for (const path of ['/admin/v1/me', '/admin/v1/keys', '/admin/v1/me/connections'])
    expect((await service.json('GET', path, tokens.access_token)).status).toBe(403);
  expect((await service.json('POST', '/v1/sessions', tokens.access_token, {})).status).toBe(403);
  expect((await service.json('GET', '/v1/sessions', tokens.access_token)).status).toBe(403);
  const init = { jsonrpc: '2.0', id: 1, method: 'ping' };
  expect((await service.json('POST', '/mcp', tokens.access_token, init)).status).not.toBe(401);
  for (const token of [tokens.refresh_token, tokens.access_token.replace('tg_oat', 'tg_ort')])
    expect((await service.check(token, 'x', 'y')).status).toBe(401);
  expect((await refresh(service, clientId, tokens.access_token)).body.error).toBe('invalid_grant');
});

test('no token and no code is stored, logged, exported or shown', async () => {
  const code = await codeFor(service, person, clientId);
  const { body } = await exchange(service, clientId, code);
  const renewed = (await refresh(service, clientId, body.refresh_token)).body;
  await service.check(renewed.access_token, 'x', 'y');
  await exchange(service, clientId, code);
  const secrets = [code, body.access_token, body.refresh_token, renewed.access_token, renewed.refresh_token];
  const seen = [
    service.output,
    (await service.admin('GET', '/audit/export')).text,
    (await service.admin('GET', '/changes?limit=1000')).text,
    (await service.admin('GET', '/sessions?limit=1000')).text,
    (await service.request('GET', '/metrics')).text,
    (await asked({}, person.cookie)).text,
    JSON.stringify(
      await Promise.all(
        ['sessions', 'oauth_codes', 'oauth_tokens', 'changes', 'return_targets'].map(table =>
          sql(service.databaseUrl, `SELECT * FROM ${table}`),
        ),
      ),
    ),
  ].join('\n');
  expect(seen).toContain(clientId.slice(0, 20));
  for (const secret of secrets) expect(seen).not.toContain(secret);
});

for (const engine of await engines()) {
  describe(`on ${engine}, on every replica`, () => {
    let here: TestService;
    let there: TestService;
    let ann: Person;
    let key: string;
    let client: string;
    beforeAll(async () => {
      here = await startOAuth({ engine });
      there = engine === 'postgres' ? await startOAuth({ engine, databaseUrl: here.databaseUrl }) : here;
      ({ person: ann, keyId: key } = await connectable(here));
      client = await newClient(here);
    });
    afterAll(async () => {
      if (there !== here) await there.close();
      await here.close();
    });

    /** Both have used it, so both remember it. */
    async function remembered(): Promise<string> {
      const { access_token: token } = await connected(here, ann, client);
      expect([await allowed(here, token), await allowed(there, token)]).toEqual([true, true]);
      return token;
    }

    async function expectEnded(token: string): Promise<void> {
      expect([await allowed(there, token), await allowed(here, token)]).toEqual([false, false]);
    }

    test('a code that is used twice ends what came of it, and operators see why', async () => {
      const code = await codeFor(here, ann, client);
      const { body } = await exchange(here, client, code);
      expect(await allowed(there, body.access_token)).toBe(true);
      const again = await exchange(there, client, code, { code_verifier: 'stolen without it' });
      expect([again.status, again.body.error]).toEqual([400, 'invalid_grant']);
      await expectEnded(body.access_token);
      expect((await refresh(here, client, body.refresh_token)).body.error).toBe('invalid_grant');
      const { sessions } = (await here.admin('GET', `/sessions?keyId=${key}&limit=1`)).body;
      expect(sessions[0].revokedBecause).toContain('used twice');
      const { changes } = (await here.admin('GET', '/changes?limit=1')).body;
      expect(changes[0]).toMatchObject({ actor: 'system', action: 'session.revoke', target: sessions[0].id });
      expect(changes[0].detail.because).toContain('used twice');
    });

    test('a code that two requests use at once gives tokens to one at most, and they end', async () => {
      const code = await codeFor(here, ann, client);
      const replies = await Promise.all([exchange(here, client, code), exchange(there, client, code)]);
      const got = replies.filter(({ status }) => status === 200);
      expect(got.length).toBeLessThanOrEqual(1);
      for (const { body } of got) await expectEnded(body.access_token);
    });

    test('replicas that refresh at once give the same successor; the session stays the same', async () => {
      const tokens = await connected(here, ann, client);
      const replies = await Promise.all(
        [here, there, here, there].map(each => refresh(each, client, tokens.refresh_token)),
      );
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(new Set(replies.map(({ body }) => body.refresh_token)).size).toBe(1);
      const [{ body }] = replies as [Reply];
      expect(body.refresh_token).not.toBe(tokens.refresh_token);
      expect(await allowed(there, body.access_token)).toBe(true);
      const hashes = [tokens.access_token, body.access_token].map(
        each => `'${new Bun.CryptoHasher('sha256').update(each).digest('hex')}'`,
      );
      const rows = await sql(
        here.databaseUrl,
        `SELECT DISTINCT session_id FROM oauth_tokens WHERE hash IN (${hashes})`,
      );
      expect(rows.length).toBe(1);
      expect((await refresh(there, client, body.refresh_token)).status).toBe(200);
    });

    test('an MCP session goes on after a refresh, and belongs to no other connection', async () => {
      const tokens = await connected(here, ann, client);
      const mcp = await LegacyClient.open(here, tokens.access_token);
      const { body } = await refresh(there, client, tokens.refresh_token);
      const renewed = new LegacyClient(there, body.access_token, mcp.initialized);
      expect((await renewed.request('tools/list')).status).toBe(200);
      const other = await connected(here, ann, client);
      const stolen = new LegacyClient(here, other.access_token, mcp.initialized);
      expect((await stolen.request('tools/list')).status).toBe(404);
    });

    test('another client cannot refresh with a stolen token', async () => {
      const tokens = await connected(here, ann, client);
      const thief = (await register(there, { client_name: 'Thief', redirect_uris: [REDIRECT] })).body
        .client_id;
      expect((await refresh(there, thief, tokens.refresh_token)).body.error).toBe('invalid_grant');
      expect((await refresh(here, client, tokens.refresh_token)).status).toBe(200);
    });

    test('a revoked session, a key that is closed, a person without their group, and a removed one', async () => {
      const bySession = await remembered();
      const { sessions } = (await here.admin('GET', `/sessions?keyId=${key}&limit=1`)).body;
      await here.admin('DELETE', `/sessions/${sessions[0].id}`);
      await expectEnded(bySession);

      const byKey = await connected(here, ann, client);
      const unused = await codeFor(here, ann, client);
      expect([await allowed(here, byKey.access_token), await allowed(there, byKey.access_token)]).toEqual([
        true,
        true,
      ]);
      await here.admin('PATCH', `/keys/${key}`, { openTo: ['group:dev'] });
      await expectEnded(byKey.access_token);
      // To open it again revives nothing.
      await here.admin('PATCH', `/keys/${key}`, { openTo: ['group:dev', `person:${ann.email}`] });
      await expectEnded(byKey.access_token);
      expect((await refresh(there, client, byKey.refresh_token)).body.error).toBe('invalid_grant');
      expect((await exchange(there, client, unused)).body.error).toBe('invalid_grant');
      const stays = await remembered();
      await here.admin('PATCH', `/keys/${key}`, { openTo: [`person:${ann.email}`] });
      expect(await allowed(there, stays)).toBe(true);
      await here.admin('PATCH', `/keys/${key}`, { openTo: ['group:dev'] });
      const closed = (await here.admin('GET', `/sessions?keyId=${key}&limit=1`)).body.sessions[0];
      expect(closed.revokedBecause).toBe('The key is no longer open to the person.');

      await here.admin('PATCH', `/operators/${ann.id}`, { groups: ['dev'] });
      const tokens = await connected(here, ann, client);
      expect([await allowed(here, tokens.access_token), await allowed(there, tokens.access_token)]).toEqual([
        true,
        true,
      ]);
      await here.admin('PATCH', `/operators/${ann.id}`, { groups: [] });
      await expectEnded(tokens.access_token);
      expect((await refresh(there, client, tokens.refresh_token)).body.error).toBe('invalid_grant');
      await here.admin('PATCH', `/operators/${ann.id}`, { groups: ['dev'] });
      await expectEnded(tokens.access_token);

      await here.admin('PATCH', `/keys/${key}`, { openTo: [`person:${ann.email}`] });
      const code = await codeFor(here, ann, client);
      const byPerson = await remembered();
      expect((await here.admin('DELETE', `/operators/${ann.id}`)).status).toBe(204);
      await expectEnded(byPerson);
      expect((await exchange(there, client, code)).body.error).toBe('invalid_grant');
    });
  });
}
