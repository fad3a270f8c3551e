// The single sign-on provider: reads its configuration, makes the URL that people are sent to, and turns the answer
// that they come back with into verified claims. Requests go only to checked addresses and are limited in time and
// bytes. claims.ts interprets the claims.

import type * as OpenId from 'openid-client';
import { GuardError } from '../../core/errors.ts';
import type { TargetRules } from '../outgoing/addresses.ts';
import { boundedBody } from '../outgoing/bounded-body.ts';
import { PinnedFetch } from '../outgoing/pinned-fetch.ts';
import type { ClaimRules, Claims } from './claims.ts';

interface ProviderSettings extends ClaimRules {
  oidcIssuer: string;
  oidcClientId: string;
  /** Null for a public client, which uses PKCE alone. */
  oidcClientSecret: string | null;
  oidcScopes: string;
}

/** The values that bind one sign-on to its start. They leave the server only hashed or through the provider. */
export interface SignOnBinding {
  redirectUri: string;
  state: string;
  nonce: string;
  verifier: string;
}

/** The limit for a whole step, because the server closes a connection that is silent for 10 s. */
const STEP_MS = 8000;
const REQUEST_SECONDS = 4;
const MAX_ANSWER_BYTES = 1024 * 1024;
const CLOCK_TOLERANCE_SECONDS = 30;
/**
 * How long the provider's configuration is used before it is read again. New signing keys are fetched when they appear.
 */
const LEARN_EVERY_MS = 15 * 60_000;
/** After a failure, the provider is not asked again for this long. */
const RETRY_MS = 2000;

type Library = typeof OpenId;
interface Learnt {
  library: Library;
  config: OpenId.Configuration;
}

export class Provider {
  readonly settings: ProviderSettings;
  readonly #fetch: PinnedFetch;
  #learnt: Promise<Learnt> | null = null;
  #learnAgainAt = 0;

  constructor(settings: ProviderSettings, rules: TargetRules) {
    this.settings = settings;
    this.#fetch = new PinnedFetch(rules);
  }

  /** The URL to send a person to, for the sign-on with these values. */
  async addressFor({ redirectUri, state, nonce, verifier }: SignOnBinding): Promise<string> {
    const { library, config } = await inTime(this.#learn());
    const url = library.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: this.settings.oidcScopes,
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    });
    return url.href;
  }

  /** The provider's claims about the person whom it sent back with this answer. */
  claimsFor(answer: URLSearchParams, binding: SignOnBinding): Promise<Claims> {
    return inTime(this.#claims(answer, binding));
  }

  async #claims(
    answer: URLSearchParams,
    { redirectUri, state, nonce, verifier }: SignOnBinding,
  ): Promise<Claims> {
    const { library, config } = await this.#learn();
    const tokens = await library.authorizationCodeGrant(config, new URL(`${redirectUri}?${answer}`), {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    const proven = tokens.claims();
    if (proven === undefined) throw untrusted('no ID token');
    // Many providers give e-mail and groups only at this endpoint. Claims of the signed token take precedence.
    const { userinfo_endpoint: more } = config.serverMetadata();
    const userInfo =
      more === undefined ? {} : await library.fetchUserInfo(config, tokens.access_token, proven.sub);
    return { ...userInfo, ...proven };
  }

  #learn(): Promise<Learnt> {
    const now = performance.now();
    if (this.#learnt !== null && now < this.#learnAgainAt) return this.#learnt;
    this.#learnAgainAt = now + LEARN_EVERY_MS;
    this.#learnt = this.#discover().catch(cause => {
      this.#learnAgainAt = performance.now() + RETRY_MS;
      throw new Unreachable('the provider could not be asked about itself', { cause });
    });
    return this.#learnt;
  }

  async #discover(): Promise<Learnt> {
    // The library is loaded when it is first needed, because most installations do not use single sign-on.
    const library = await import('openid-client');
    const { oidcIssuer, oidcClientId, oidcClientSecret } = this.settings;
    const issuer = new URL(oidcIssuer);
    const auth = oidcClientSecret === null ? library.None() : bySecret(library, oidcClientSecret);
    const metadata = { [library.clockTolerance]: CLOCK_TOLERANCE_SECONDS };
    const config = await library.discovery(issuer, oidcClientId, metadata, auth, {
      [library.customFetch]: (url, init) => this.#request(url, init),
      timeout: REQUEST_SECONDS,
      // The token's signature is verified although the token comes directly from the provider.
      execute: [library.enableNonRepudiationChecks, ...insecureIf(issuer, library)],
    });
    return { library, config };
  }

  async #request(url: string, init: OpenId.CustomFetchOptions): Promise<Response> {
    try {
      const response = await this.#fetch.fetch(
        url,
        init as RequestInit & { headers: Record<string, string> },
      );
      if (response.status >= 500) throw new Unreachable(`the provider answered ${response.status}`);
      const { status, headers } = response;
      const body = await boundedBody(response, MAX_ANSWER_BYTES);
      if (body === null) throw new Unreachable('the provider’s answer is too large');
      return new Response(body, { status, headers });
    } catch (error) {
      throw error instanceof Unreachable
        ? error
        : new Unreachable('the provider gave no answer', { cause: error });
    }
  }
}

/** Uses the authentication method that the provider supports. The default of the standard is basic. */
function bySecret(library: Library, secret: string): OpenId.ClientAuth {
  return (server, ...rest) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server;
    const basic = methods.includes('client_secret_basic');
    const auth = basic ? library.ClientSecretBasic(secret) : library.ClientSecretPost(secret);
    return auth(server, ...rest);
  };
}

/** The settings allow plain http only for loopback addresses. */
function insecureIf({ protocol }: URL, library: Library): ((config: OpenId.Configuration) => void)[] {
  return protocol === 'http:' ? [library.allowInsecureRequests] : [];
}

class Unreachable extends Error {}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Unreachable('the provider took too long')), STEP_MS);
  try {
    return await Promise.race([work, late.promise]);
  } catch (error) {
    throw asGuardError(error);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Says whether the provider was unreachable or its answer was refused. The cause is for the log and contains no token.
 */
function asGuardError(error: unknown): GuardError {
  if (error instanceof GuardError) return error;
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof Unreachable || /^OAUTH_(TIMEOUT|ABORT)$/.test(codeOf(at))) return unreachable(error);
  }
  const said = (error as { error?: unknown } | null)?.error;
  return untrusted(error, typeof said === 'string' && /^[a-z_]{1,40}$/.test(said) ? ` (${said})` : '');
}

const codeOf = (error: Error): string => String((error as { code?: unknown }).code ?? '');

function unreachable(cause: unknown): GuardError {
  const sentence = 'The single sign-on provider cannot be used just now. Try again, or use your password.';
  return new GuardError('not_ready', sentence, { cause });
}

function untrusted(cause: unknown, said = ''): GuardError {
  return new GuardError('unauthenticated', `The single sign-on provider did not sign you in${said}.`, {
    cause,
  });
}
