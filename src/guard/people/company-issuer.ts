// Verifies the company's own tokens: JWTs that its identity provider signs for people. The keys come from the set that
// the issuer's metadata names. Requests go only to checked addresses and are limited in time, bytes and number of keys.
// company-tokens.ts says for whom a verified token stands.

import type * as Jose from 'jose';
import { GuardError } from '../../core/errors.ts';
import type { TargetRules } from '../outgoing/addresses.ts';
import { boundedBody } from '../outgoing/bounded-body.ts';
import { PinnedFetch } from '../outgoing/pinned-fetch.ts';
import type { Claims } from './claims.ts';

export interface IssuerSettings {
  jwtIssuer: string;
  jwtAudience: string;
}

/** What tests may replace: how soon keys are fetched again for a token whose key is unknown. */
interface Surroundings {
  cooldownMs?: number;
}

/** The claims that every accepted token has, besides its others. */
export interface CompanyClaims extends Claims {
  iss: string;
  sub: string;
  exp: number;
}

/** A longer token is refused unread. */
export const MAX_COMPANY_TOKEN = 8192;
const FORM = /^ey[\w-]*\.ey[\w-]*\.[\w-]+$/;
const MAX_SUBJECT = 255;
/** The end of the year 9999: later times cannot be shown. */
const LATEST_SECONDS = 253_402_300_799;

/** Signatures only by keys of which others know the public half: none of these can be made with what a JWKS shows. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** Other types are for other purposes, such as logging out. */
const TYPES = ['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt'];
const CLOCK_TOLERANCE_SECONDS = 30;

/** The limit for everything that one token has to wait for: the server closes a connection that is silent for 10 s. */
const STEP_MS = 8000;
const REQUEST_MS = 4000;
const MAX_ANSWER_BYTES = 256 * 1024;
const MAX_KEYS = 100;
/** How long metadata and keys are used before they are read again. */
const LEARN_EVERY_MS = 10 * 60_000;
/** A token whose key is unknown makes the keys be fetched again, but not more often than this. */
const COOLDOWN_MS = 30_000;
/** After a failure, the issuer is not asked again for this long. */
const RETRY_MS = 2000;

interface Learnt {
  library: typeof Jose;
  keys: Jose.JWTVerifyGetKey;
}

export class CompanyIssuer {
  readonly settings: IssuerSettings;
  readonly #fetch: PinnedFetch;
  readonly #onFailed: (error: unknown) => void;
  readonly #cooldownMs: number;
  #learnt: Promise<Learnt> | null = null;
  #learnAgainAt = 0;
  #failed: { error: unknown; until: number } | null = null;

  /** `onFailed` is told why the issuer cannot be used, once for each time that it begins to fail. */
  constructor(
    settings: IssuerSettings,
    rules: TargetRules,
    onFailed: (error: unknown) => void,
    { cooldownMs = COOLDOWN_MS }: Surroundings = {},
  ) {
    this.settings = settings;
    this.#fetch = new PinnedFetch(rules);
    this.#onFailed = onFailed;
    this.#cooldownMs = cooldownMs;
  }

  /** Whether the text may be a token of this issuer. Nothing is verified; it only keeps other texts from costing more. */
  mayBe(token: string): boolean {
    if (token.length > MAX_COMPANY_TOKEN || !FORM.test(token)) return false;
    const [header = '', payload = ''] = token.split('.');
    const { alg } = decoded(header);
    return ALGORITHMS.includes(String(alg)) && decoded(payload)['iss'] === this.settings.jwtIssuer;
  }

  /** Throws unless the token is valid now. No part of it is in the error. */
  async verify(token: string, now: number): Promise<CompanyClaims> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Unreachable('the issuer took too long')), STEP_MS);
    try {
      return await Promise.race([this.#verify(token, now), late.promise]);
    } catch (error) {
      throw asGuardError(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #verify(token: string, now: number): Promise<CompanyClaims> {
    const { library, keys } = await this.#learn();
    const { payload, protectedHeader } = await library.jwtVerify(token, keys, {
      issuer: this.settings.jwtIssuer,
      audience: this.settings.jwtAudience,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(now),
    });
    if (!TYPES.includes(String(protectedHeader.typ ?? 'JWT').toLowerCase()))
      throw refused('it is of another type');
    // Such a token may be used only by somebody who proves that they have a certain key.
    if (payload['cnf'] !== undefined) throw refused('it is bound to a key of its owner');
    const { iss, sub, exp } = payload;
    if (typeof exp !== 'number' || exp > LATEST_SECONDS) throw refused('it does not say when it ends');
    // Its session ends exactly then, so there is no tolerance.
    if (exp * 1000 <= now) throw refused('it has ended');
    if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT)
      throw refused('it names no subject');
    return { ...payload, iss: iss as string, sub, exp };
  }

  #learn(): Promise<Learnt> {
    const now = performance.now();
    if (this.#learnt !== null && now < this.#learnAgainAt) return this.#learnt;
    this.#learnAgainAt = now + LEARN_EVERY_MS;
    this.#learnt = this.#discover().catch(error => {
      this.#learnAgainAt = performance.now() + RETRY_MS;
      throw error;
    });
    return this.#learnt;
  }

  async #discover(): Promise<Learnt> {
    // The library is loaded when it is first needed, because most installations have no such tokens.
    const library = await import('jose');
    const keys = library.createRemoteJWKSet(await this.#keysAddress(), {
      timeoutDuration: REQUEST_MS,
      cooldownDuration: this.#cooldownMs,
      cacheMaxAge: LEARN_EVERY_MS,
      [library.customFetch]: url => this.#keySet(url),
    });
    return { library, keys };
  }

  /** The address of the keys, by the metadata of OpenID Connect or of RFC 8414. */
  #keysAddress(): Promise<URL> {
    return this.#orFail(async () => {
      const { jwtIssuer } = this.settings;
      const { origin, pathname } = new URL(jwtIssuer);
      const path = pathname.replace(/\/$/, '');
      const found =
        (await this.#json(`${origin}${path}/.well-known/openid-configuration`)) ??
        (await this.#json(`${origin}/.well-known/oauth-authorization-server${path}`));
      if (found === null) throw new Unreachable('the issuer has no metadata');
      if (found['issuer'] !== jwtIssuer) throw new Unreachable('the metadata names another issuer');
      const address = String(found['jwks_uri']);
      const url = URL.canParse(address) ? new URL(address) : null;
      // The settings allow an issuer with plain http only on loopback.
      if (url === null || (url.protocol !== 'https:' && url.protocol !== new URL(jwtIssuer).protocol)) {
        throw new Unreachable('the metadata names no usable jwks_uri');
      }
      return url;
    });
  }

  #keySet(url: string): Promise<Response> {
    return this.#orFail(async () => {
      const set = await this.#json(url);
      const keys = set?.['keys'];
      if (!Array.isArray(keys)) throw new Unreachable('the issuer lists no keys');
      if (keys.length > MAX_KEYS) throw new Unreachable('the issuer lists too many keys');
      return Response.json({ keys });
    });
  }

  /** Remembers a failure for a moment, so that tokens do not wait for an issuer that is down. */
  async #orFail<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#failed !== null && performance.now() < this.#failed.until) throw this.#failed.error;
    try {
      const answer = await ask();
      this.#failed = null;
      return answer;
    } catch (cause) {
      const error =
        cause instanceof Unreachable ? cause : new Unreachable('the issuer gave no answer', { cause });
      if (this.#failed === null) this.#onFailed(error);
      this.#failed = { error, until: performance.now() + RETRY_MS };
      throw error;
    }
  }

  /** Null if there is nothing at the address. */
  async #json(url: string): Promise<Record<string, unknown> | null> {
    const response = await this.#fetch.fetch(url, {
      headers: { Accept: 'application/json' },
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    const body = await boundedBody(response, MAX_ANSWER_BYTES);
    if (body === null) throw new Unreachable('the issuer’s answer is too large');
    if (response.status >= 400 && response.status < 500) return null;
    if (response.status !== 200) throw new Unreachable(`the issuer answered ${response.status}`);
    return asObject(body.toString());
  }
}

function decoded(part: string): Record<string, unknown> {
  return asObject(Buffer.from(part, 'base64url').toString());
}

/** What is no JSON object is an empty one. */
function asObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

class Unreachable extends Error {}

function refused(why: string): GuardError {
  return new GuardError('unauthenticated', `The company token is not accepted: ${why}.`);
}

/** Errors of the library carry the claims of the token, so they are not passed on. */
function asGuardError(error: unknown): GuardError {
  if (error instanceof GuardError) return error;
  if (error instanceof Unreachable) {
    return new GuardError('not_ready', 'The issuer of company tokens cannot be asked just now. Try again.', {
      retryAfter: RETRY_MS / 1000,
    });
  }
  const { code, claim } = error as { code?: unknown; claim?: unknown };
  if (code === 'ERR_JWT_EXPIRED') return refused('it has ended');
  if (code === 'ERR_JWT_CLAIM_VALIDATION_FAILED')
    return refused(CLAIMS[String(claim)] ?? 'a claim of it is wrong');
  if (code === 'ERR_JWKS_NO_MATCHING_KEY') return refused('the issuer has no such key');
  return refused('its signature does not fit');
}

const CLAIMS: Record<string, string> = {
  aud: 'it is for another audience',
  nbf: 'it is not valid yet',
  iss: 'it is of another issuer',
};
