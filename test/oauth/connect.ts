// What the tests of our authorization server share: a service that is one, and the way of a client to its tokens, step by
// step.

import type { Rule } from '../../src/core/policy/policy.ts';
import { newPerson, OWN, type Person } from '../operators/people.ts';
import { freePort } from '../support/port.ts';
import { type Reply, type ServiceOptions, startService, type TestService } from '../support/service.ts';

export const REDIRECT = 'http://localhost:49721/callback';
export const VERIFIER = 'a-verifier-of-the-tests-with-43-or-more-characters';
export const CHALLENGE = new Bun.CryptoHasher('sha256').update(VERIFIER).digest('base64url');

/** A service with OAuth on; its public URL is the one that it listens on. */
export async function startOAuth(options: ServiceOptions = {}): Promise<TestService> {
  const port = await freePort();
  return startService({
    ...options,
    env: {
      TOOLGATE_PORT: String(port),
      TOOLGATE_PUBLIC_URL: `http://127.0.0.1:${port}`,
      TOOLGATE_OAUTH: 'on',
      TOOLGATE_TRUSTED_PROXIES: '127.0.0.1',
      ...options.env,
    },
  });
}

export const form = (
  service: TestService,
  path: string,
  fields: Record<string, string> | URLSearchParams,
  headers: Record<string, string> = {},
): Promise<Reply> =>
  service.request('POST', path, {
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  });

let addresses = 0;
/** Another address each time, so that no test uses up the limit of others. */
export const from = (): Record<string, string> => ({
  'X-Forwarded-For': `10.88.${(addresses >> 8) & 255}.${addresses++ & 255}`,
});

export async function register(
  service: TestService,
  registration: object = { client_name: 'A test', redirect_uris: [REDIRECT] },
): Promise<Reply> {
  return service.request('POST', '/oauth/register', {
    headers: { 'Content-Type': 'application/json', ...from() },
    body: JSON.stringify(registration),
  });
}

export const newClient = async (service: TestService): Promise<string> =>
  (await register(service)).body.client_id;

/** The request for a code, with parameters replaced or (undefined) left out. */
export function asking(
  clientId: string,
  more: Record<string, string | undefined> = {},
): Record<string, string> {
  const all = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    state: 'the state',
    scope: 'mcp offline_access',
    ...more,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
}

export function authorize(
  service: TestService,
  asked: Record<string, string>,
  cookie?: string,
): Promise<Reply> {
  const headers = { ...from(), ...(cookie !== undefined && { Cookie: cookie }) };
  return service.request('GET', `/oauth/authorize?${new URLSearchParams(asked)}`, { headers });
}

/** What a page's form would send. */
export function fieldsOf({ text }: Reply): Record<string, string> {
  const inputs = text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  return Object.fromEntries([...inputs].map(([, name = '', value = '']) => [name, unescaped(value)]));
}

const unescaped = (value: string): string =>
  value.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

export function consent(
  service: TestService,
  cookie: string,
  fields: Record<string, string>,
  headers: Record<string, string> = OWN,
): Promise<Reply> {
  return form(service, '/oauth/authorize', fields, { ...from(), Cookie: cookie, ...headers });
}

/** The parameters with which a client is sent back. */
export function sentBack({ status, headers, text }: Reply, to = REDIRECT): Record<string, string> {
  const location = headers.get('location') ?? '';
  if (status !== 303 || !location.startsWith(`${to}?`))
    throw new Error(`not sent back: ${status} ${location} ${text.slice(-500)}`);
  return Object.fromEntries(new URL(location).searchParams);
}

export async function codeFor(
  service: TestService,
  person: Person,
  clientId: string,
  more: Record<string, string | undefined> = {},
): Promise<string> {
  const page = await authorize(service, asking(clientId, more), person.cookie);
  const answer = await consent(service, person.cookie, { ...fieldsOf(page), answer: 'connect' });
  return sentBack(answer, more['redirect_uri'])['code'] as string;
}

export interface Tokens {
  access_token: string;
  refresh_token: string;
  expires_in: number;
}

export const exchange = (
  service: TestService,
  clientId: string,
  code: string,
  more: Record<string, string> = {},
): Promise<Reply> =>
  form(
    service,
    '/oauth/token',
    {
      grant_type: 'authorization_code',
      client_id: clientId,
      code,
      redirect_uri: REDIRECT,
      code_verifier: VERIFIER,
      ...more,
    },
    from(),
  );

export const refresh = (
  service: TestService,
  clientId: string,
  refreshToken: string,
  more: Record<string, string> = {},
): Promise<Reply> =>
  form(
    service,
    '/oauth/token',
    { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken, ...more },
    from(),
  );

/** A person of the lowest role with a key that is open to them. */
export async function connectable(
  service: TestService,
  rules: Rule[] = [{ tool: '*', action: 'allow' }],
): Promise<{ person: Person; keyId: string }> {
  const person = await newPerson(service, 'user');
  const { keyId } = await service.newKey(rules, { openTo: [`person:${person.email}`] });
  return { person, keyId };
}

/** The whole way. */
export async function connected(
  service: TestService,
  person: Person,
  clientId?: string,
): Promise<Tokens & { clientId: string }> {
  const id = clientId ?? (await newClient(service));
  const { status, body, text } = await exchange(service, id, await codeFor(service, person, id));
  if (status !== 200) throw new Error(`no tokens: ${text}`);
  return { ...body, clientId: id };
}

export const allowed = async (service: TestService, token: string): Promise<boolean> => {
  const { status, body } = await service.check(token, 'x', 'y');
  if (status !== 200 && status !== 401) throw new Error(`unexpected status ${status}`);
  return status === 200 && body.decision === 'allow';
};
