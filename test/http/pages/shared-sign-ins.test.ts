// Signing in to a tool server that keys share: one sign-in for all of them, or one of each person for all of theirs. A
// Connected Tool that is shared keeps its sign-in, also one that is under way. The authorization server is a real one.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { fieldsOf, form } from '../../oauth/connect.ts';
import { cookieOf, newPerson, OWN, type Person, send } from '../../operators/people.ts';
import { sql } from '../../support/faults.ts';
import { Visitor } from '../../support/identity-provider.ts';
import { connect, LegacyClient, text } from '../../support/mcp.ts';
import { OAuthUpstream } from '../../support/oauth-upstream.ts';
import { type Reply, startService, type TestService } from '../../support/service.ts';

const ALLOW = [{ tool: '*', action: 'allow' as const }];
let service: TestService;
let upstream: OAuthUpstream;
let admin: Person;

beforeAll(async () => {
  upstream = await OAuthUpstream.start();
  service = await startService();
  admin = await newPerson(service, 'admin');
});
afterAll(async () => {
  await service.close();
  await upstream.close();
});

const over = (as: 'key' | 'person') => ({
  transport: 'http',
  url: upstream.url,
  auth: 'oauth',
  oauth: { as },
});
const pathOf = (url: string): string => url.slice(service.url.length);
const from = (person: Person, method: string, path: string, more = ''): Promise<Reply> =>
  send(service, method, path, { cookie: [person.cookie, more].filter(each => each).join('; ') });

async function newServer(name: string, as: 'key' | 'person'): Promise<string> {
  const { status, body } = await service.admin('POST', '/tool-servers', { name, ...over(as) });
  expect(status).toBe(201);
  return body.id;
}

/** Goes from our page to the server, and signs in there. Whoever comes back has this path and cookie. */
async function leave(person: Person, url: string, login: string): Promise<{ back: string; cookie: string }> {
  const page = await from(person, 'GET', pathOf(url));
  const begun = await form(service, pathOf(url), fieldsOf(page), { Cookie: person.cookie, ...OWN });
  expect(begun.status).toBe(303);
  const to = begun.headers.get('location') ?? '';
  const back = await new Visitor('10.0.0.1').signInAt(to, login, `${service.url}/oauth/callback`);
  return { back: pathOf(back), cookie: cookieOf(begun) };
}

const actions = async (target: string): Promise<string[]> => {
  const { body } = await service.admin('GET', '/changes?limit=100');
  return body.changes
    .filter((each: { target: string }) => each.target === target)
    .map((each: { action: string }) => each.action);
};

test('an admin signs in once for all keys, and out of it for all', async () => {
  const id = await newServer('shared', 'key');
  const keys = [
    await service.newKey(ALLOW, { toolServers: ['shared'] }),
    await service.newKey(ALLOW, { toolServers: ['shared'] }),
  ];
  const clients = await Promise.all(keys.map(({ key }) => LegacyClient.open(service, key)));
  const answers = () =>
    Promise.all(clients.map(async each => text(await each.call('shared__echo', { a: 1 }))));
  for (const answer of await answers())
    expect(answer).toContain(`${service.url}/dashboard/tool-servers/${id}`);

  const { body } = await service.admin('POST', `/tool-servers/${id}/connect`);
  const page = await from(admin, 'GET', pathOf(body.url));
  expect([page.status, page.text.includes('any key that has this server')]).toEqual([200, true]);
  // The page of one key leads to the same sign-in.
  const ofKey = `/keys/${keys[0]?.keyId}/connected-tools`;
  const [tool] = (await service.admin('GET', ofKey)).body.connectedTools;
  expect((await service.admin('POST', `${ofKey}/${tool.id}/connect`)).body.url).toBe(body.url);

  const { back, cookie } = await leave(admin, body.url, 'carol');
  expect(back).toStartWith(`/oauth/callback/${id}?`);
  const done = await from(admin, 'GET', back, cookie);
  expect([done.status, done.headers.get('location')]).toEqual([303, `/dashboard/tool-servers/${id}`]);
  expect(await answers()).toEqual(['{"a":1}', '{"a":1}']);
  const signedIn = { state: 'signed_in', as: 'carol@server.example', until: null, error: null };
  expect((await service.admin('GET', `/tool-servers/${id}`)).body).toMatchObject({
    signIn: signedIn,
    redirectUri: `${service.url}/oauth/callback/${id}`,
    authorizationServer: upstream.issuer,
  });
  expect((await service.admin('GET', ofKey)).body.connectedTools[0].signIn).toEqual(signedIn);
  const client = await service.request('GET', `/oauth/clients/${id}.json`);
  expect(client.body.redirect_uris).toEqual([`${service.url}/oauth/callback/${id}`]);

  expect((await service.admin('DELETE', `/tool-servers/${id}/connect`)).status).toBe(204);
  for (const answer of await answers()) expect(answer).toContain('has to sign in to shared first');
  expect((await service.admin('GET', `/tool-servers/${id}`)).body.signIn.state).toBe('needed');
  expect(await actions(id)).toEqual(['tool-server.sign-out', 'tool-server.sign-in', 'tool-server.create']);
});

test('people sign in to it once for all keys that are open to them', async () => {
  const id = await newServer('of-people', 'person');
  const [ann, bob] = [await newPerson(service, 'user'), await newPerson(service, 'user')];
  const keys = [
    await service.newKey(ALLOW, { toolServers: ['of-people'], openTo: [`person:${ann.email}`] }),
    await service.newKey(ALLOW, { toolServers: ['of-people'], openTo: [`person:${ann.email}`] }),
  ];
  expect((await service.admin('POST', `/tool-servers/${id}/connect`)).status).toBe(409);
  const servers = async (person: Person) => (await from(person, 'GET', '/admin/v1/me/servers')).body.servers;
  expect(await servers(bob)).toEqual([]);
  expect((await from(bob, 'POST', `/admin/v1/me/servers/${id}/connect`)).status).toBe(404);
  expect(await servers(ann)).toEqual([expect.objectContaining({ id, name: 'of-people', keyName: 'test' })]);

  const { body } = await from(ann, 'POST', `/admin/v1/me/servers/${id}/connect`);
  expect((await from(bob, 'GET', pathOf(body.url))).status).toBe(403);
  const { back, cookie } = await leave(ann, body.url, 'ann');
  expect((await from(ann, 'GET', back, cookie)).status).toBe(200);
  expect((await servers(ann))[0].signIn).toMatchObject({ state: 'signed_in', as: 'ann@server.example' });
  for (const { key } of keys) {
    const { body: session } = await service.json('POST', '/v1/sessions', key, { label: 'run' });
    const asAnn = `UPDATE sessions SET person_id = '${ann.id}' WHERE id = '${session.id}'`;
    await sql(service.databaseUrl, asAnn);
    const client = await LegacyClient.open(service, session.token);
    expect(text(await client.call('of-people__echo', { a: 2 }))).toBe('{"a":2}');
    const nobody = await LegacyClient.open(service, key);
    expect(text(await nobody.call('of-people__echo'))).toContain('A person has to sign in to of-people');
  }

  // A sign-in that is under way ends with the last key that is open to the person.
  const again = await leave(
    ann,
    (await from(ann, 'POST', `/admin/v1/me/servers/${id}/connect`)).body.url,
    'ann',
  );
  for (const { keyId } of keys) await service.admin('PATCH', `/keys/${keyId}`, { openTo: [] });
  expect((await from(ann, 'GET', again.back, again.cookie)).status).toBe(404);
  expect(await servers(ann)).toEqual([]);
  expect((await from(ann, 'DELETE', `/admin/v1/me/servers/${id}`)).status).toBe(204);
  expect(await sql(service.databaseUrl, `SELECT 1 FROM server_sign_ins WHERE tool_id = '${id}'`)).toEqual([]);
});

test('a Connected Tool that is shared keeps its sign-in, and one that is under way goes on', async () => {
  const { key, keyId } = await service.newKey(ALLOW);
  const id = await connect(service, keyId, 'own', over('key'));
  const path = `/keys/${keyId}/connected-tools/${id}`;
  const begin = async () => leave(admin, (await service.admin('POST', `${path}/connect`)).body.url, 'carol');
  const first = await begin();
  expect((await from(admin, 'GET', first.back, first.cookie)).status).toBe(303);
  const client = await LegacyClient.open(service, key);
  expect(text(await client.call('own__echo', { a: 3 }))).toBe('{"a":3}');

  const underWay = await begin();
  const tokens = upstream.tokenRequests.length;
  const shared = await service.admin('POST', `${path}/share`, { name: 'was-own' });
  expect([shared.status, shared.body.signIn.state, shared.body.authorizationServer]).toEqual([
    201,
    'signed_in',
    upstream.issuer,
  ]);
  expect(text(await client.call('own__echo', { a: 4 }))).toBe('{"a":4}');
  expect(upstream.tokenRequests.length).toBe(tokens);
  const back = await from(admin, 'GET', underWay.back, underWay.cookie);
  expect([back.status, back.headers.get('location')]).toEqual([303, `/dashboard/tool-servers/${id}`]);
  expect(text(await client.call('own__echo', { a: 5 }))).toBe('{"a":5}');

  // The server is not the key's own any more: it goes on for the others when that key is revoked.
  const other = await service.newKey(ALLOW, { toolServers: ['was-own'] });
  const others = await LegacyClient.open(service, other.key);
  expect((await service.admin('DELETE', `/keys/${keyId}`)).status).toBe(204);
  expect(text(await others.call('was-own__echo', { a: 6 }))).toBe('{"a":6}');

  // Another address ends the sign-ins, for all keys.
  const moved = await service.admin('PATCH', `/tool-servers/${shared.body.id}`, {
    url: `${upstream.url}?x=1`,
  });
  expect([moved.status, moved.body.signIn.state]).toEqual([200, 'needed']);
  expect(text(await others.call('was-own__echo'))).toContain('has to sign in to was-own first');
});
