// People sign in to the servers of Connected Tools through our pages: an admin for a key, and everybody for themselves.
// The authorization server is a real one. A link works for the person whom it was made for, a visit in the browser that
// began it, once; and no token of the server is anywhere but encrypted in the store.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fieldsOf, form } from '../../oauth/connect.ts';
import { cookieOf, newPerson, OWN, type Person, send } from '../../operators/people.ts';
import { sql, until } from '../../support/faults.ts';
import { Visitor } from '../../support/identity-provider.ts';
import { connect, LegacyClient, text } from '../../support/mcp.ts';
import { OAuthUpstream } from '../../support/oauth-upstream.ts';
import { type Reply, startService, type TestService } from '../../support/service.ts';

const env = { TOOLGATE_LOG_LEVEL: 'trace' };
let service: TestService;
let upstream: OAuthUpstream;
let admin: Person;
let ann: Person;
let bob: Person;
let keyId: string;
/** Everything that the service answered. */
const said: string[] = [];

beforeAll(async () => {
  upstream = await OAuthUpstream.start();
  service = await startService({ env });
  admin = await newPerson(service, 'admin');
  ann = await newPerson(service, 'user');
  bob = await newPerson(service, 'user');
  keyId = (await service.newKey([{ tool: '*', action: 'allow' }])).keyId;
  await openTo(ann, bob);
});
afterAll(async () => {
  await service.close();
  rmSync(service.dataDir, { recursive: true, force: true });
  await upstream.close();
});

async function openTo(...people: Person[]): Promise<void> {
  const list = JSON.stringify(people.map(each => `person:${each.email}`));
  await sql(service.databaseUrl, `UPDATE keys SET open_to = '${list}' WHERE id = '${keyId}'`);
}

async function from(person: Person | null, method: string, path: string, more = ''): Promise<Reply> {
  const cookie = [person?.cookie, more].filter(each => each).join('; ');
  const reply = await send(service, method, path, cookie === '' ? {} : { cookie });
  said.push(reply.text, JSON.stringify([...reply.headers]));
  return reply;
}

async function connectTool(name: string, oauth: Record<string, unknown>): Promise<string> {
  const body = { name, transport: 'http', url: upstream.url, auth: 'oauth', oauth };
  const { status, body: tool } = await service.admin('POST', `/keys/${keyId}/connected-tools`, body);
  expect(status).toBe(201);
  return tool.id;
}

const pathOf = (url: string): string => url.slice(service.url.length);

/** Sends the form of our page, as it is shown to the person. */
async function leave(person: Person, url: string): Promise<Reply> {
  const page = await from(person, 'GET', pathOf(url));
  const reply = await form(service, pathOf(url), fieldsOf(page), { Cookie: person.cookie, ...OWN });
  said.push(reply.text, JSON.stringify([...reply.headers]));
  return reply;
}

/** Begins on our page and signs in at the server; returns the path of the callback and the browser's cookie. */
async function signInAt(
  person: Person,
  url: string,
  login: string,
): Promise<{ back: string; cookie: string }> {
  const begun = await leave(person, url);
  expect(begun.status).toBe(303);
  const to = begun.headers.get('location') ?? '';
  expect(to).toStartWith(`${upstream.issuer}/auth?`);
  const back = await new Visitor('10.0.0.1').signInAt(to, login, `${service.url}/oauth/callback`);
  return { back: pathOf(back), cookie: cookieOf(begun) };
}

const signInOf = async (toolId: string) => {
  const { body } = await service.admin('GET', `/keys/${keyId}/connected-tools`);
  return body.connectedTools.find((each: { id: string }) => each.id === toolId)?.signIn;
};

test('a call leads its person to the page, nobody else, and then finds the tools', async () => {
  const { key, keyId: own } = await service.newKey([{ tool: '*', action: 'allow' }]);
  await service.admin('PATCH', `/keys/${own}`, { openTo: [`person:${ann.email}`] });
  const toolId = await connect(service, own, 'mine', {
    transport: 'http',
    url: upstream.url,
    auth: 'oauth',
    oauth: { as: 'person' },
  });
  const { body: session } = await service.json('POST', '/v1/sessions', key, { label: 'run' });
  await sql(service.databaseUrl, `UPDATE sessions SET person_id = '${ann.id}' WHERE id = '${session.id}'`);
  const client = await LegacyClient.open(service, session.token);
  const stream = await client.listen();
  expect(await client.tools()).toEqual([]);
  const url = /http\S+[\w-]/.exec(text(await client.call('mine__echo', { a: 1 })))?.[0] ?? '';
  expect((await from(bob, 'GET', pathOf(url))).status).toBe(403);
  expect((await from(bob, 'POST', pathOf(url))).status).toBe(403);
  const { back, cookie } = await signInAt(ann, url, 'ann');
  expect((await from(ann, 'GET', back, cookie)).status).toBe(200);
  const reader = stream.body?.getReader();
  let told = '';
  while (!told.includes('list_changed')) told += new TextDecoder().decode((await reader?.read())?.value);
  expect((await client.tools()).map(each => each.name)).toEqual(['mine__echo']);
  const called = await client.call('mine__echo', { a: 1 });
  said.push(called.text);
  expect(text(called)).toBe('{"a":1}');
  expect(upstream.authorizations.join()).not.toContain('tg_');
  await reader?.cancel();
  await service.admin('DELETE', `/keys/${own}/connected-tools/${toolId}`);
});

test('an admin signs in for a key, once, in one browser; and signs out, at the server too', async () => {
  const toolId = await connectTool('of-the-key', { as: 'key' });
  expect(await signInOf(toolId)).toEqual({ state: 'needed', as: null, until: null, error: null });
  const { body } = await service.admin('POST', `/keys/${keyId}/connected-tools/${toolId}/connect`);
  expect(body.url).toStartWith(`${service.url}/oauth/connect/`);

  const stranger = await from(null, 'GET', pathOf(body.url));
  expect([stranger.status, stranger.headers.get('location')]).toEqual([
    303,
    expect.stringMatching(/^\/dashboard\/sign-in\?continue=[\w-]{43}$/),
  ]);
  for (const method of ['GET', 'POST']) {
    expect((await from(ann, method, pathOf(body.url))).status).toBe(403);
    expect((await from(admin, method, '/oauth/connect/no-such-ticket')).status).toBe(410);
  }
  const page = await from(admin, 'GET', pathOf(body.url));
  expect(page.status).toBe(200);
  // Whom they sign in to, where, and what for.
  for (const words of ['of-the-key', new URL(upstream.url).host, `${upstream.issuer}/auth`, 'mcp:tools'])
    expect(page.text).toContain(words);
  const other = await form(service, pathOf(body.url), { shown: 'x' }, { Cookie: admin.cookie, ...OWN });
  expect([other.status, other.text.includes('says something else now')]).toEqual([409, true]);
  const policy = page.headers.get('content-security-policy') ?? '';
  expect([policy.includes('form-action'), policy.includes("frame-ancestors 'none'")]).toEqual([false, true]);
  const foreign = { cookie: admin.cookie, headers: { 'Sec-Fetch-Site': 'cross-site' } };
  expect((await send(service, 'POST', pathOf(body.url), foreign)).status).toBe(403);

  // Also in a browser in which the admin is signed in, nobody leaves without that page.
  const straight = await from(admin, 'POST', `/admin/v1/keys/${keyId}/connected-tools/${toolId}/connect`);
  expect(straight.body.url).toBe(body.url);

  const { back, cookie } = await signInAt(admin, body.url, 'carol');
  for (const wrong of ['', 'toolgate_server=another', `${cookie.slice(0, -1)}!`])
    expect((await from(admin, 'GET', back, wrong)).status).toBe(410);
  const demoted = await signInAt(admin, body.url, 'carol');
  const role = (to: string) =>
    sql(service.databaseUrl, `UPDATE operators SET role = '${to}' WHERE id = '${admin.id}'`);
  await role('viewer');
  expect((await from(admin, 'GET', demoted.back, demoted.cookie)).status).toBe(403);
  await role('admin');
  const unknownState = back.replace(/state=[^&]+/, `state=${'x'.repeat(43)}`);
  expect((await from(admin, 'GET', unknownState, cookie)).status).toBe(410);
  const done = await from(admin, 'GET', back, cookie);
  expect([done.status, done.headers.get('location')]).toEqual([303, `/dashboard/keys/${keyId}`]);
  expect((await from(admin, 'GET', back, cookie)).status).toBe(410);
  expect(await signInOf(toolId)).toEqual({
    state: 'signed_in',
    as: 'carol@server.example',
    until: null,
    error: null,
  });

  const path = `/admin/v1/keys/${keyId}/connected-tools/${toolId}/connect`;
  expect((await from(admin, 'DELETE', path)).status).toBe(204);
  expect(upstream.asked.filter(each => each === '/token/revocation').length).toBe(2);
  expect(await signInOf(toolId)).toEqual({ state: 'needed', as: null, until: null, error: null });
  const { body: changes } = await service.admin('GET', '/changes');
  const done2 = changes.changes
    .filter((each: { target: string }) => each.target === toolId)
    .map((each: { action: string; actor: string }) => [each.action, each.actor]);
  expect(done2).toEqual([
    ['connected-tool.sign-out', `operator:${admin.email}`],
    ['connected-tool.sign-in', `operator:${admin.email}`],
    ['connected-tool.create', 'admin'],
  ]);
});

test('people sign in for themselves: nobody with the link of another', async () => {
  const toolId = await connectTool('of-people', { as: 'person' });
  expect((await service.admin('POST', `/keys/${keyId}/connected-tools/${toolId}/connect`)).status).toBe(409);
  const servers = async (person: Person) => (await from(person, 'GET', '/admin/v1/me/servers')).body.servers;
  expect(await servers(admin)).toEqual([]);
  expect((await from(admin, 'POST', `/admin/v1/me/servers/${toolId}/connect`)).status).toBe(404);
  const needed = { state: 'needed', as: null, until: null, error: null };
  const url = `${new URL(upstream.url).origin}/…`;
  const server = { id: toolId, name: 'of-people', url, keyId, keyName: 'test' };
  expect(await servers(ann)).toEqual([{ ...server, signIn: needed }]);

  const { body } = await from(ann, 'POST', `/admin/v1/me/servers/${toolId}/connect`);
  expect(body.url).toStartWith(`${service.url}/oauth/connect/`);
  for (const method of ['GET', 'POST'])
    for (const other of [bob, admin]) {
      const refused = await from(other, method, pathOf(body.url));
      expect([refused.status, refused.text.includes('This link is for somebody else')]).toEqual([403, true]);
    }
  const page = await from(ann, 'GET', pathOf(body.url));
  expect([page.status, page.text.includes(ann.email)]).toEqual([200, true]);
  // Somebody else uses the browser by now, or nobody is signed in.
  const before = upstream.tokenRequests.length;
  for (const [other, why] of [
    [bob, 'for somebody else'],
    [null, 'not signed in here any more'],
  ] as const) {
    const left = await signInAt(ann, body.url, 'ann-at-server');
    const refused = await from(other, 'GET', left.back, left.cookie);
    expect([refused.status, refused.text.includes(why)]).toEqual([403, true]);
    expect((await from(ann, 'GET', left.back, left.cookie)).status).toBe(410);
  }
  expect(upstream.tokenRequests.length).toBe(before);
  const { back, cookie } = await signInAt(ann, body.url, 'ann-at-server');
  const done = await from(ann, 'GET', back, cookie);
  expect([done.status, done.text.includes('You can close this page')]).toEqual([200, true]);
  expect((await servers(ann))[0].signIn).toMatchObject({
    state: 'signed_in',
    as: 'ann-at-server@server.example',
  });
  expect((await servers(bob))[0].signIn).toEqual(needed);
  expect((await from(bob, 'DELETE', `/admin/v1/me/servers/${toolId}`)).status).toBe(204);
  expect((await servers(ann))[0].signIn.state).toBe('signed_in');

  await openTo(bob);
  expect(await servers(ann)).toEqual([]);
  expect((await from(ann, 'DELETE', `/admin/v1/me/servers/${toolId}`)).status).toBe(204);
  await openTo(ann);
  expect((await servers(ann))[0].signIn).toEqual(needed);
});

test('what the server answers with an error is said in plain words, unless another server says it', async () => {
  const toolId = await connectTool('refusing', { as: 'key' });
  const begin = async () => {
    const { body } = await service.admin('POST', `/keys/${keyId}/connected-tools/${toolId}/connect`);
    const begun = await from(admin, 'POST', pathOf(body.url));
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? '';
    return { state, cookie: cookieOf(begun) };
  };
  const answer = async (more: Record<string, string>) => {
    const { state, cookie } = await begin();
    const query = new URLSearchParams({ state, ...more });
    const { status, text } = await from(admin, 'GET', `/oauth/callback/${toolId}?${query}`, cookie);
    return [status, /<p class="soft">([^<]*)<\/p>/.exec(text)?.[1]];
  };
  const iss = upstream.issuer;
  expect(await answer({ error: 'access_denied', iss })).toEqual([
    403,
    'The server says that the sign-in was refused.',
  ]);
  expect(await answer({ error: 'server_error', error_description: '<b>x</b>', iss })).toEqual([
    403,
    'The server did not complete the sign-in (server_error).',
  ]);
  const another =
    'The answer does not come from the authorization server that was asked, so it was not used. Begin again.';
  const before = upstream.tokenRequests.length;
  for (const wrong of [{ iss: `${iss}/` }, { iss: 'https://evil.example' }, {}]) {
    expect(await answer({ error: 'access_denied', ...(wrong as { iss: string }) })).toEqual([403, another]);
    expect(await answer({ code: 'code', ...(wrong as { iss: string }) })).toEqual([403, another]);
  }
  expect(upstream.tokenRequests.length).toBe(before);
});

test('only admins see the path and the query of an address, in which a secret may be', async () => {
  const secret = 'canary-in-an-address';
  const where = { name: 'with-query', transport: 'http', url: `${upstream.url}?token=${secret}` };
  const path = `/admin/v1/keys/${keyId}/connected-tools`;
  const { body: tool } = await service.admin('POST', `/keys/${keyId}/connected-tools`, {
    ...where,
    auth: 'oauth',
    oauth: { as: 'person' },
  });
  const { body: hook } = await service.admin('POST', '/webhooks', {
    url: `http://127.0.0.1:1/services/${secret}`,
  });
  await service.admin('POST', `/keys/${keyId}/connected-tools/${tool.id}/test`);
  const urlOf = async (person: Person) =>
    (await send(service, 'GET', path, person)).body.connectedTools.find(
      (each: { id: string }) => each.id === tool.id,
    ).url;
  expect(await urlOf(admin)).toBe(where.url);
  await openTo(ann);
  for (const role of ['viewer', 'approver'] as const) {
    const person = await newPerson(service, role);
    expect(await urlOf(person)).toBe(`${new URL(upstream.url).origin}/…`);
    for (const page of ['doctor', 'changes?limit=1000', 'webhooks', 'settings', `keys/${keyId}`])
      expect([page, (await from(person, 'GET', `/admin/v1/${page}`)).text]).toEqual([
        page,
        expect.not.stringContaining(secret),
      ]);
  }
  const mine = await from(ann, 'GET', '/admin/v1/me/servers');
  expect([mine.text.includes('with-query'), mine.text.includes(secret)]).toEqual([true, false]);
  expect((await send(service, 'GET', '/admin/v1/webhooks', admin)).text).toContain(secret);
  await service.admin('DELETE', `/webhooks/${hook.id}`);
  await service.admin('DELETE', `/keys/${keyId}/connected-tools/${tool.id}`);
});

test('the document of our client is there for tools behind OAuth, and the settings show no secret', async () => {
  const toolId = await connectTool('own-app', {
    as: 'key',
    clientId: 'app',
    clientSecret: 'canary-client-secret',
    scopes: ['mcp:tools'],
  });
  const { body } = await from(null, 'GET', `/oauth/clients/${toolId}.json`);
  expect(body).toMatchObject({
    client_id: `${service.url}/oauth/clients/${toolId}.json`,
    redirect_uris: [`${service.url}/oauth/callback/${toolId}`],
    token_endpoint_auth_method: 'none',
  });
  for (const wrong of ['no-such-tool.json', `${toolId}`, `${toolId}.json.json`, '.json'])
    expect((await from(null, 'GET', `/oauth/clients/${wrong}`)).status).toBe(404);
  const listed = await service.admin('GET', `/keys/${keyId}/connected-tools`);
  said.push(listed.text);
  expect(listed.body.connectedTools.find((each: { id: string }) => each.id === toolId)).toMatchObject({
    auth: 'oauth',
    oauth: { as: 'key', clientId: 'app', scopes: ['mcp:tools'], hasClientSecret: true },
  });
  const path = `/keys/${keyId}/connected-tools`;
  const url = upstream.url;
  for (const wrong of [
    { oauth: { as: 'key' } },
    { auth: 'oauth' },
    { auth: 'headers', oauth: { as: 'key' } },
    { auth: 'oauth', oauth: { as: 'nobody' } },
    { auth: 'oauth', oauth: { as: 'key', clientSecret: 'alone' } },
    { auth: 'oauth', oauth: { as: 'key', scopes: ['two words'] } },
    { auth: 'oauth', oauth: { as: 'key' }, headers: { authorization: 'Bearer x' } },
  ]) {
    const body = { name: 'wrong', transport: 'http', url, ...wrong };
    expect((await service.admin('POST', path, body)).status).toBe(400);
  }
});

test('a service that is killed while it renews a sign-in asks to sign in again, and never sends the token twice', async () => {
  upstream.lifetime = 3;
  const toolId = await connectTool('killed', { as: 'key' });
  const path = `/keys/${keyId}/connected-tools/${toolId}`;
  const { body } = await service.admin('POST', `${path}/connect`);
  const { back, cookie } = await signInAt(admin, body.url, 'eve');
  expect((await from(admin, 'GET', back, cookie)).status).toBe(303);
  expect((await service.admin('POST', `${path}/test`)).body).toMatchObject({ ok: true });
  upstream.lifetime = 3600;
  const answered = Promise.withResolvers<void>();
  upstream.hold = answered.promise;
  const before = upstream.refreshes.length;
  const sent = () => upstream.refreshes.slice(before);
  await until('the token was sent', async () => {
    if (sent().length === 0) service.admin('POST', `${path}/test`).catch(() => {});
    return sent()[0]?.status === 200;
  });
  await service.kill('SIGKILL');
  said.push(service.output);
  upstream.hold = null;
  answered.resolve();
  const { dataDir, databaseUrl } = service;
  service = await startService({ env, dataDir, databaseUrl });
  await until('the access token has ended', async () => (await signInOf(toolId)).state === 'ended');
  expect(await signInOf(toolId)).toMatchObject({
    as: 'eve@server.example',
    error: 'Renewing this sign-in was interrupted. Sign in again.',
  });
  expect((await service.admin('POST', `${path}/test`)).body).toMatchObject({ ok: false });
  expect(sent().map(each => each.status)).toEqual([200]);
});

test('what belongs to a tool or a person goes with them; no token is in the log, the store’s files, or an answer', async () => {
  const toolId = await connectTool('removed', { as: 'key' });
  const ticket = await service.admin('POST', `/keys/${keyId}/connected-tools/${toolId}/connect`);
  const { back, cookie } = await signInAt(admin, ticket.body.url, 'dora');
  const late = await signInAt(admin, ticket.body.url, 'dora');
  expect((await from(admin, 'GET', back, cookie)).status).toBe(303);
  expect((await service.admin('DELETE', `/keys/${keyId}/connected-tools/${toolId}`)).status).toBe(204);
  expect((await from(admin, 'GET', late.back, late.cookie)).status).toBe(410);
  expect((await from(admin, 'GET', pathOf(ticket.body.url))).status).toBe(410);

  await service.kill('SIGTERM');
  expect(upstream.tokens.length).toBeGreaterThan(5);
  const secrets = [...upstream.tokens, 'canary-client-secret'];
  const files = readdirSync(service.dataDir, { recursive: true }).map(each =>
    join(service.dataDir, String(each)),
  );
  const kept = files.filter(each => statSync(each).isFile()).map(each => readFileSync(each, 'latin1'));
  expect(kept.join('').length).toBeGreaterThan(10_000);
  for (const text of [service.output, said.join('\n'), ...kept])
    expect(secrets.filter(each => text.includes(each))).toEqual([]);
});
