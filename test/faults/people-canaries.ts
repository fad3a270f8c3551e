// The secrets of people and of the servers that they sign in to, given out in every way and used in many wrong ones: tokens
// of clients, codes, tokens and secrets for servers, company tokens, challenges of passkeys, links and cookies. None of
// them may be kept as it is, or repeated in an answer. The server behind OAuth and the company's issuer are real.

import {
  asking,
  authorize,
  connectable,
  connected,
  consent,
  exchange,
  fieldsOf,
  newClient,
  refresh,
  sentBack,
} from '../oauth/connect.ts';
import { cookieOf, newPerson, type Person, send } from '../operators/people.ts';
import { Authenticator } from '../support/authenticator.ts';
import { Visitor } from '../support/identity-provider.ts';
import { connect } from '../support/mcp.ts';
import { OAuthUpstream } from '../support/oauth-upstream.ts';
import { freePort } from '../support/port.ts';
import type { Reply, TestService } from '../support/service.ts';
import { TokenIssuer } from '../support/token-issuer.ts';

type Keep = (kind: string, secret: string) => void;

/** The kinds of secrets that `sendSecrets` gives to `keep`. */
export const PEOPLE_KINDS = 13;

/** What the service speaks to. */
export class Outside {
  readonly server: OAuthUpstream;
  readonly issuer: TokenIssuer;
  /** A service that has them can let people in; passkeys want a name. */
  readonly settings: Record<string, string>;

  private constructor(server: OAuthUpstream, issuer: TokenIssuer, port: number) {
    this.server = server;
    this.issuer = issuer;
    this.settings = {
      TOOLGATE_PORT: String(port),
      TOOLGATE_PUBLIC_URL: `http://localhost:${port}`,
      TOOLGATE_OAUTH: 'on',
      ...issuer.settings,
    };
  }

  static async start(): Promise<Outside> {
    return new Outside(await OAuthUpstream.start(), await TokenIssuer.start(), await freePort());
  }

  async close(): Promise<void> {
    await Promise.all([this.server.close(), this.issuer.close()]);
  }
}

/** Gives every secret to `keep`, and returns what the service said where it must not repeat one. */
export async function sendSecrets(service: TestService, outside: Outside, keep: Keep): Promise<string[]> {
  const said: string[] = [];
  const hear = (status: number, reply: Reply): Reply => {
    if (reply.status !== status) throw new Error(`${reply.status} in place of ${status}: ${reply.text}`);
    said.push(reply.text);
    return reply;
  };
  const { person, keyId } = await connectable(service);
  keep('a cookie of a sign-in', secretOf(person.cookie));
  await sendTokens(service, person, keep, hear);
  await signInToServer(service, outside, keyId, keep, hear);
  await sendCompanyTokens(service, outside, keep, hear);
  await sendPasskeys(service, person, keep, hear);
  for (const path of ['/connections', '/calls', '/approvals', '/servers', '/passkeys'])
    hear(200, await send(service, 'GET', `/admin/v1/me${path}`, person));
  for (const path of ['/audit', '/audit/export', '/changes', '/sessions', '/operators', '/settings', '/keys'])
    hear(200, await service.admin('GET', path));
  return said;
}

type Hear = (status: number, reply: Reply) => Reply;

const secretOf = (cookie: string): string => cookie.slice(cookie.indexOf('=') + 1);

/** Our own tokens: given out, renewed, used in the wrong places, and a code that is used twice. */
async function sendTokens(service: TestService, person: Person, keep: Keep, hear: Hear): Promise<void> {
  const client = await newClient(service);
  const stranger = await authorize(service, asking(client));
  keep('the name of a page to return to', stranger.headers.get('location')?.split('=')[1] ?? '');
  const page = hear(200, await authorize(service, asking(client), person.cookie));
  const { code = '' } = sentBack(
    await consent(service, person.cookie, { ...fieldsOf(page), answer: 'connect' }),
  );
  keep('a code', code);
  hear(400, await exchange(service, client, code, { code_verifier: 'x'.repeat(43) }));
  const { body } = await exchange(service, client, code);
  keep('an access token', body.access_token);
  keep('a refresh token', body.refresh_token);
  hear(200, await service.check(body.access_token, 'x', 'y', { args: {} }));
  hear(400, await refresh(service, 'another', body.refresh_token));
  const renewed = (await refresh(service, client, body.refresh_token)).body;
  keep('an access token', renewed.access_token);
  keep('a refresh token', renewed.refresh_token);
  hear(200, await service.check(renewed.access_token, 'x', 'y', { args: {} }));
  hear(401, await service.check(renewed.refresh_token, 'x', 'y'));
  hear(403, await service.json('GET', '/admin/v1/me', renewed.access_token));
  hear(401, await service.json('POST', '/mcp', `${renewed.access_token}x`, {}));
  hear(400, await exchange(service, client, code));
  hear(401, await service.check(renewed.access_token, 'x', 'y'));
  // One that goes on.
  const lasting = await connected(service, person, client);
  keep('an access token', lasting.access_token);
  keep('a refresh token', lasting.refresh_token);
}

/** The secret of an app, and a sign-in with its link, state, code and tokens. */
async function signInToServer(
  service: TestService,
  { server }: Outside,
  keyId: string,
  keep: Keep,
  hear: Hear,
): Promise<void> {
  const clientSecret = `secret-of-an-app-${crypto.randomUUID()}`;
  keep('a client’s secret for a server', clientSecret);
  const where = { transport: 'http', url: server.url, auth: 'oauth' };
  const app = { ...where, oauth: { as: 'key', clientId: 'app', clientSecret } };
  const appId = await connect(service, keyId, 'app', app);
  const toolId = await connect(service, keyId, 'behind', { ...where, oauth: { as: 'key' } });
  const admin = await newPerson(service, 'admin');
  const tool = `/keys/${keyId}/connected-tools/${toolId}`;
  const { pathname } = new URL((await service.admin('POST', `${tool}/connect`)).body.url);
  keep('a link to sign in to a server', pathname.split('/').at(-1) ?? '');
  const begun = await send(service, 'POST', pathname, admin);
  const cookie = `${admin.cookie}; ${cookieOf(begun)}`;
  keep('the cookie of a visit', secretOf(cookieOf(begun)));
  const to = begun.headers.get('location') ?? '';
  const back = new URL(await new Visitor('10.0.0.1').signInAt(to, 'ann', `${service.url}/oauth/callback`));
  keep('a server’s code', back.searchParams.get('code') ?? '');
  keep('the state of a visit', back.searchParams.get('state') ?? '');
  const callback = back.pathname + back.search;
  hear(410, await send(service, 'GET', callback));
  hear(303, await send(service, 'GET', callback, { cookie }));
  hear(410, await send(service, 'GET', callback, { cookie }));
  hear(200, await service.admin('POST', `${tool}/test`));
  // Both become servers that keys share, and another one is made with a secret.
  for (const id of [toolId, appId])
    hear(201, await service.admin('POST', `/keys/${keyId}/connected-tools/${id}/share`, { name: newName() }));
  const oauth = { as: 'key', clientId: 'app', clientSecret };
  const { body: made } = await service.admin('POST', '/tool-servers', { name: newName(), ...where, oauth });
  hear(200, await service.admin('PATCH', `/tool-servers/${made.id}`, { oauth }));
  hear(200, await service.admin('POST', `${tool}/test`));
  for (const token of server.tokens) keep('a server’s token', token);
  hear(200, await service.admin('GET', `/keys/${keyId}/connected-tools`));
  hear(200, await service.admin('GET', '/tool-servers'));
}

const newName = () => `up-${crypto.randomUUID().slice(-12)}`;

async function sendCompanyTokens(
  service: TestService,
  { issuer }: Outside,
  keep: Keep,
  hear: Hear,
): Promise<void> {
  const sub = crypto.randomUUID();
  await service.newKey([{ tool: '*', action: 'allow' }], { openTo: [`person:${sub}@example.com`] });
  const token = await issuer.token({ sub });
  keep('a company token', token);
  keep('a company token', token.split('.')[2] ?? '');
  hear(200, await service.check(token, 'x', 'y', { args: {} }));
  const refused = await issuer.token({ sub, aud: 'another' });
  keep('a company token', refused);
  hear(401, await service.check(refused, 'x', 'y'));
}

/** A passkey is added and signs somebody in; each challenge is then sent again. */
async function sendPasskeys(service: TestService, person: Person, keep: Keep, hear: Hear): Promise<void> {
  const mine = '/admin/v1/me/passkeys';
  const device = new Authenticator(service.url);
  const adding = (await send(service, 'POST', `${mine}/options`, person)).body;
  keep('a challenge', adding.challenge);
  const made = { name: 'laptop', response: device.make(adding) };
  hear(201, await send(service, 'POST', mine, person, made));
  hear(410, await send(service, 'POST', mine, person, made));
  const signIn = '/admin/v1/passkey-sign-in';
  const options = (await send(service, 'POST', `${signIn}/options`)).body;
  keep('a challenge', options.challenge);
  const signed = { response: device.sign(options) };
  keep(
    'a cookie of a sign-in',
    secretOf(cookieOf(hear(200, await send(service, 'POST', signIn, {}, signed)))),
  );
  hear(410, await send(service, 'POST', signIn, {}, signed));
}
