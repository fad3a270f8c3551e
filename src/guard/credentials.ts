// Turns a token into a Principal. Unknown, revoked and expired tokens look the same from outside. Principals are
// remembered only to save a look-up before a check: the audit transaction always reads key and session again.

import { isOpenTo } from '../core/approvals/open-to.ts';
import { GuardError, overloaded } from '../core/errors.ts';
import type { JsonObject } from '../core/wire/json.ts';
import { findKey, findKeyByHash, type KeyRecord } from '../store/keys.ts';
import { findAccess } from '../store/oauth.ts';
import { personFacts } from '../store/people.ts';
import { findSession, findSessionByHash, type SessionRecord } from '../store/sessions.ts';
import type { Deps } from './deps.ts';
import { hashToken, type TokenKind, tokenKind } from './secrets.ts';

/** An agent's credential, once authenticated. */
export interface Principal {
  kind: 'key' | 'session';
  keyId: string;
  sessionId: string | null;
  /** The label of the session, which never changes. */
  sessionLabel?: string;
  /** The full names of the tools that the session is limited to; null if it is not limited. */
  scope: ReadonlySet<string> | null;
  /** The operator for whom the session acts, if it acts for somebody. */
  personId?: string;
  /** When the access token or the company's token ends; other credentials have none. */
  until?: number;
  /** True for one of the company's tokens, each of which has a session of its own. */
  companys?: true;
  /** What the owner said of the session when it was made, which never changes. */
  attributes?: JsonObject;
}

/** Whether it is an access token or one of the company's. */
export const isPersonsToken = ({ until }: Principal): boolean => until !== undefined;

export function unauthenticated(): GuardError {
  return new GuardError('unauthenticated', 'The key or session token is unknown, revoked or expired.');
}

/** This message reveals nothing about any key: the form of a token and its checksum are public. */
function malformed(): GuardError {
  return new GuardError(
    'unauthenticated',
    'This is no key or session token: those begin with tg_key_, tg_ses_ or tg_oat_ and end in a checksum. Was it copied whole?',
  );
}

/** Tokens that others have issued, and that this service accepts too. */
export interface ForeignTokens {
  /** Whether a text may be such a token. It is cheap, and strangers may send any text. */
  mayBe(token: string): boolean;
  /** Throws unless the token is valid. */
  authenticate(token: string): Promise<Principal>;
}

/** Looks the token up in the store. A malformed one is refused without a look-up. */
export async function authenticate(deps: Deps, token: string): Promise<Principal> {
  const kind = tokenKind(token);
  if (kind === null) throw malformed();
  const principal = await look(deps, kind, hashToken(token));
  if (principal === null) throw unauthenticated();
  return principal;
}

async function look(deps: Deps, kind: TokenKind, hash: string): Promise<Principal | null> {
  const now = deps.now();
  if (kind === 'key') {
    const key = await findKeyByHash(deps.db, hash);
    if (key === null || !keyLives(key, now)) return null;
    return { kind, keyId: key.id, sessionId: null, scope: null };
  }
  if (kind === 'session') return sessionPrincipal(deps, await findSessionByHash(deps.db, hash), null);
  if (kind !== 'access') return null;
  const access = await findAccess(deps.db, hash);
  if (access === null || access.expiresAt <= now) return null;
  return sessionPrincipal(deps, await findSession(deps.db, access.sessionId), access.expiresAt);
}

/** The Principal of a session, if it and its key are valid, and the key is open to the person for whom it acts. */
export async function sessionPrincipal(
  deps: Deps,
  session: SessionRecord | null,
  until: number | null,
): Promise<Principal | null> {
  const now = deps.now();
  if (session === null || session.revokedAt !== null || session.expiresAt <= now) return null;
  const key = await findKey(deps.db, session.keyId);
  if (key === null || !keyLives(key, now)) return null;
  const { id: sessionId, label: sessionLabel, scopeTools, personId, attributes } = session;
  if (personId !== null && !(await isOpen(deps, key, session))) return null;
  const scope = scopeTools === null ? null : new Set(scopeTools);
  return {
    kind: 'session',
    keyId: key.id,
    sessionId,
    sessionLabel,
    scope,
    ...(personId !== null && { personId }),
    ...(until !== null && { until }),
    ...(attributes !== null && { attributes }),
  };
}

async function isOpen(
  { db }: Deps,
  { openTo }: KeyRecord,
  { personId, personGroups }: SessionRecord,
): Promise<boolean> {
  const [person] = await personFacts(db, [personId ?? '']);
  return person !== undefined && isOpenTo(openTo, { ...person, groups: personGroups ?? person.groups });
}

export function keyLives(key: Pick<KeyRecord, 'revokedAt' | 'expiresAt'>, now: number): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}

const REMEMBERED = 10_000;
/**
 * The limit on the tool names in all remembered scopes, and on the parts of long headers. One scope may have 10,000
 * names, and anybody with a key can create sessions.
 */
const REMEMBERED_SCOPES = 100_000;
/** More look-ups than this would only wait for a connection to the store, so further ones are refused at once. */
const MAX_LEARNING = 1000;

/**
 * Principals that checks have used recently; the oldest are forgotten first. The key of the map is the usual form of
 * the Authorization header. A header in another form is parsed first and then finds the same Principal.
 */
export class PrincipalMemory {
  readonly #deps: Deps;
  readonly #known = new Map<string, Principal>();
  readonly #learning = new Map<string, Promise<Principal>>();
  readonly #foreign: ForeignTokens | null;
  #scopes = 0;

  constructor(deps: Deps, foreign: ForeignTokens | null = null) {
    this.#deps = deps;
    this.#foreign = foreign;
  }

  get size(): number {
    return this.#known.size;
  }

  /** An access token that has ended is looked up again, and then refused. */
  recall(header: string): Principal | undefined {
    const known = this.#known.get(header);
    if (known === undefined || known.until === undefined || known.until > this.#deps.now()) return known;
    this.#drop(header, known);
    return undefined;
  }

  /** Looks the token up and remembers its Principal. Requests with the same token share one look-up. */
  learn(token: string): Promise<Principal> {
    if (tokenKind(token) === null && !this.#foreign?.mayBe(token)) return Promise.reject(malformed());
    const header = `Bearer ${token}`;
    const known = this.recall(header);
    if (known !== undefined) return Promise.resolve(known);
    const underWay = this.#learning.get(header);
    if (underWay !== undefined) return underWay;
    if (this.#learning.size >= MAX_LEARNING) return Promise.reject(overloaded());
    const learnt = this.#look(header, token).finally(() => this.#learning.delete(header));
    this.#learning.set(header, learnt);
    return learnt;
  }

  /** Looks the token up even if it is remembered, for requests that no check follows. */
  async confirm(token: string): Promise<void> {
    await this.#ask(token);
  }

  #ask(token: string): Promise<Principal> {
    return this.#foreign?.mayBe(token) ? this.#foreign.authenticate(token) : authenticate(this.#deps, token);
  }

  async #look(header: string, token: string): Promise<Principal> {
    const principal = await this.#ask(token);
    this.#known.set(header, principal);
    this.#scopes += sizeOf(header, principal);
    for (const [oldest, known] of this.#known) {
      if (this.#known.size <= REMEMBERED && this.#scopes <= REMEMBERED_SCOPES) break;
      this.#drop(oldest, known);
    }
    return principal;
  }

  /** Called when the audit transaction found that the credential is no longer valid. */
  forget(principal: Principal): void {
    for (const [header, known] of this.#known) if (known === principal) this.#drop(header, known);
  }

  #drop(header: string, principal: Principal): void {
    this.#known.delete(header);
    this.#scopes -= sizeOf(header, principal);
  }
}

/** Our own tokens are short. One part of a longer header takes about as much memory as the name of a tool. */
const PART = 64;
const sizeOf = (header: string, { scope }: Principal): number =>
  (scope?.size ?? 0) + Math.floor(header.length / PART);
