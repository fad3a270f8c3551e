// Gets tokens from an authorization server: for a code, for a refresh token; and revokes them. Errors never carry what
// the server said, except for the standard's error codes, because an answer may contain tokens.

import type * as OAuth from 'oauth4webapi';
import { GuardError } from '../../core/errors.ts';
import { visible } from '../../core/text/visible.ts';
import { readScopes } from './challenge.ts';
import { authentication, type Client } from './clients.ts';
import type { Server } from './endpoints.ts';
import { readObject, type Step, Unanswered } from './requests.ts';

type Library = typeof OAuth;

/** What is stored, encrypted: the tokens, and all that is needed to refresh and to revoke them. */
export interface Tokens {
  access: string;
  refresh: string | null;
  obtainedAt: number;
  server: Pick<Server, 'issuer' | 'token_endpoint' | 'revocation_endpoint'>;
  client: Client;
  resource: string;
  /** The address of the tool server that they are for. They are never sent to another. */
  target: string;
}

/** What a server has granted. */
export interface Granted {
  access: string;
  refresh: string | null;
  /** In milliseconds from now; null if the server does not say. */
  lifetime: number | null;
  /** Null: those that were asked for. */
  scopes: string | null;
  account: string | null;
}

/** The server refused, with an error code of the standard if `code` is not null. */
export class Declined extends Error {
  readonly code: string | null;
  constructor(code: string | null) {
    super(`the authorization server declined (${code ?? 'no code'})`);
    this.code = code;
  }
}

/** Whether the server refused because it does not know the client, or not with this secret. */
export const isUnknownClient = (error: unknown): boolean =>
  error instanceof Declined && error.code === 'invalid_client';

const MAX_TOKEN = 16 * 1024;
const MAX_LIFETIME_SECONDS = 10 * 365 * 24 * 3600;
const MAX_ACCOUNT = 200;

/** What a visit has to know to exchange its code. */
export interface Exchange {
  server: Server;
  client: Client;
  resource: string;
  redirectUri: string;
  verifier: string;
  state: string;
}

/** Checks the answer that a browser brought back, and exchanges its code. */
export async function exchangeCode(
  library: Library,
  step: Step,
  { server, client, resource, redirectUri, verifier, state }: Exchange,
  answer: URLSearchParams,
): Promise<Granted> {
  let checked: URLSearchParams;
  try {
    checked = library.validateAuthResponse(server, { client_id: client.id }, answer, state);
  } catch (error) {
    if (error instanceof library.AuthorizationResponseError) throw new Declined(safeCode(error.error));
    throw new GuardError(
      'forbidden',
      'The answer does not come from the authorization server that was asked, so it was not used. Begin again.',
    );
  }
  return granted(
    library,
    server,
    client,
    await ask(() =>
      library.authorizationCodeGrantRequest(
        server,
        { client_id: client.id },
        authentication(library, client),
        checked,
        redirectUri,
        verifier,
        options(library, step, { resource }),
      ),
    ),
  );
}

export async function refreshTokens(
  library: Library,
  step: Step,
  { server, client, resource, refresh }: Tokens,
): Promise<Granted> {
  const response = await ask(() =>
    library.refreshTokenGrantRequest(
      server,
      { client_id: client.id },
      authentication(library, client),
      refresh ?? '',
      options(library, step, { resource }),
    ),
  );
  return granted(library, server, client, response);
}

/** Both tokens, as far as the server lets them be revoked. */
export async function revokeTokens(
  library: Library,
  step: Step,
  { server, client, access, refresh }: Tokens,
): Promise<void> {
  if (server.revocation_endpoint === undefined) return;
  for (const [hint, token] of Object.entries({ refresh_token: refresh, access_token: access })) {
    if (token === null) continue;
    await library.revocationRequest(
      server,
      { client_id: client.id },
      authentication(library, client),
      token,
      options(library, step, { token_type_hint: hint }),
    );
  }
}

function options(library: Library, step: Step, additionalParameters: Record<string, string>) {
  return {
    [library.customFetch]: (url: string, init: unknown) => step.send(url, init as never),
    // step.send has checked the address.
    [library.allowInsecureRequests]: true as const,
    additionalParameters,
  };
}

async function ask(request: () => Promise<Response>): Promise<Response> {
  try {
    return await request();
  } catch (error) {
    if (error instanceof Unanswered || error instanceof GuardError) throw error;
    throw new Unanswered('The request for tokens could not be made.', true);
  }
}

async function granted(
  library: Library,
  server: OAuth.AuthorizationServer,
  client: Client,
  response: Response,
): Promise<Granted> {
  const { status } = response;
  const { id_token: idToken, ...said } = (await readObject(response)) ?? {};
  // Some servers answer an error with 200.
  const error = 'access_token' in said ? undefined : said['error'];
  if (status >= 500 || status === 429)
    throw new Unanswered(`The authorization server answered ${status}.`, true);
  if (status >= 400 || error !== undefined) throw new Declined(safeCode(error));
  let tokens: OAuth.TokenEndpointResponse;
  try {
    const json = Response.json(said, { status });
    tokens = await library.processRefreshTokenResponse(server, { client_id: client.id }, json);
  } catch {
    throw new Unanswered('The authorization server’s answer has no token that can be used.', true);
  }
  const { access_token: access, refresh_token: refresh = null, expires_in: seconds, scope } = tokens;
  if (tokens.token_type !== 'bearer' || !isToken(access) || (refresh !== null && refresh.length > MAX_TOKEN))
    throw new Unanswered('The authorization server’s answer has no token that can be used.', true);
  return {
    access,
    refresh,
    lifetime: seconds === undefined || seconds === 0 ? null : lifetimeOf(seconds),
    scopes: scope === undefined || scope.length > 4096 ? null : readScopes(scope.split(' ')).join(' '),
    account: accountIn(idToken, said),
  };
}

/** A token that ends at once would be refreshed without end, so it counts as one of a second. */
const lifetimeOf = (seconds: number): number => Math.min(Math.max(seconds, 1), MAX_LIFETIME_SECONDS) * 1000;

/** RFC 6750: a token that is sent in a header. */
const isToken = (text: string): boolean => text.length <= MAX_TOKEN && /^[\x21-\x7e]+$/.test(text);

const safeCode = (code: unknown): string | null =>
  typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) ? code : null;

/**
 * The name of the account, only to be shown. The ID token's signature is not checked, because nothing is decided by it
 * and it comes directly from the server.
 */
function accountIn(idToken: unknown, said: Record<string, unknown>): string | null {
  const claims = { ...said, ...claimsIn(idToken) };
  const names = ['email', 'preferred_username', 'login', 'username', 'name', 'workspace_name', 'sub'];
  const name = names.map(each => claims[each]).find(each => typeof each === 'string' && each !== '');
  return name === undefined ? null : visible(String(name).slice(0, MAX_ACCOUNT)).slice(0, 2 * MAX_ACCOUNT);
}

function claimsIn(idToken: unknown): Record<string, unknown> {
  try {
    const claims: unknown = JSON.parse(
      Buffer.from(String(idToken).split('.')[1] ?? '', 'base64url').toString(),
    );
    return typeof claims === 'object' && claims !== null ? { ...claims } : {};
  } catch {
    return {};
  }
}
