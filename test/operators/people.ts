// What the tests of operators share: people who are invited, join and sign in, and requests with their cookies
// as a browser sends them from our own pages.

import type { Role } from '../../src/store/operators.ts';
import type { Reply, TestService } from '../support/service.ts';

export const PASSWORD = 'violet kettle orbit lantern';
export const OTHER_PASSWORD = 'marble anchor thistle seven';

/** What a browser says about a request of our own pages. */
export const OWN = { 'Sec-Fetch-Site': 'same-origin' };

export interface Person {
  id: string;
  email: string;
  /** `name=value`, as the browser sends it. */
  cookie: string;
}

export interface From {
  cookie?: string | undefined;
  ip?: string;
  headers?: Record<string, string>;
}

/** A request as a browser makes it; the address counts only behind a trusted proxy. */
export function send(
  service: TestService,
  method: string,
  path: string,
  { cookie, ip, headers = OWN }: From = {},
  body?: unknown,
): Promise<Reply> {
  return service.request(method, path, {
    headers: {
      ...headers,
      ...(cookie === undefined ? {} : { Cookie: cookie }),
      ...(ip === undefined ? {} : { 'X-Forwarded-For': ip }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

export const cookieOf = (reply: Reply): string =>
  (reply.headers.get('set-cookie') ?? '').split(';')[0] as string;

export function signIn(
  service: TestService,
  email: string,
  password = PASSWORD,
  from: From = {},
): Promise<Reply> {
  return send(service, 'POST', '/admin/v1/sign-in', from, { email, password });
}

let addresses = 0;
/** An address that nobody else in the test uses. */
export const newAddress = (): string => `10.77.${addresses >> 8}.${addresses++ & 255}`;

export async function signedIn(service: TestService, email: string, password = PASSWORD): Promise<string> {
  const reply = await signIn(service, email, password, { ip: newAddress() });
  if (reply.status !== 200) throw new Error(`not signed in: ${reply.text}`);
  return cookieOf(reply);
}

export async function invite(
  service: TestService,
  email: string,
  role: Role,
): Promise<{ id: string; token: string }> {
  const reply = await service.admin('POST', '/operators', { email, role });
  if (reply.status !== 201) throw new Error(`not invited: ${reply.text}`);
  return { id: reply.body.id, token: new URL(reply.body.inviteUrl).searchParams.get('token') ?? '' };
}

/** Returns the new operator's cookie: joining signs them in. */
export async function join(service: TestService, token: string, password = PASSWORD): Promise<string> {
  const reply = await service.json('POST', '/admin/v1/join', null, { token, password });
  if (reply.status !== 200) throw new Error(`not joined: ${reply.text}`);
  return cookieOf(reply);
}

/** Invited and joined, which signs them in. */
export async function newPerson(service: TestService, role: Role): Promise<Person> {
  const email = `${role}-${crypto.randomUUID().slice(0, 8)}@example.com`;
  const { id, token } = await invite(service, email, role);
  return { id, email, cookie: await join(service, token) };
}
