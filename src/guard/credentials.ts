// From a token to a Principal. Unknown, revoked and expired look the same from outside. What is remembered
// here only spares a look-up before a check: the audit commit asks the store again, always.

import { GuardError, overloaded } from '../core/errors.ts';
import { findKey, findKeyByHash, type KeyRecord } from '../store/keys.ts';
import { findSessionByHash } from '../store/sessions.ts';
import type { Deps } from './deps.ts';
import { hashToken, type TokenKind, tokenKind } from './secrets.ts';

/** An agent's credential, once authenticated. */
export interface Principal {
  kind: 'key' | 'session';
  keyId: string;
  sessionId: string | null;
  /** The session's full tool names; null when not scoped. */
  scope: ReadonlySet<string> | null;
}

export function unauthenticated(): GuardError {
  return new GuardError('unauthenticated', 'The key or session token is unknown, revoked or expired.');
}

/** Says nothing about any key: its form and its checksum are for everybody to see. */
function malformed(): GuardError {
  return new GuardError(
    'unauthenticated',
    'This is no key or session token: those begin with tg_key_ or tg_ses_ and end in a checksum. Was it copied whole?',
  );
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
    return key !== null && keyLives(key, now) ? { kind, keyId: key.id, sessionId: null, scope: null } : null;
  }
  if (kind !== 'session') return null;
  const session = await findSessionByHash(deps.db, hash);
  if (session === null || session.revokedAt !== null || session.expiresAt <= now) return null;
  const key = await findKey(deps.db, session.keyId);
  if (key === null || !keyLives(key, now)) return null;
  const scope = session.scopeTools === null ? null : new Set(session.scopeTools);
  return { kind, keyId: key.id, sessionId: session.id, scope };
}

export function keyLives(key: Pick<KeyRecord, 'revokedAt' | 'expiresAt'>, now: number): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}

const REMEMBERED = 10_000;
/** Names in the scopes of those remembered, 10,000 of which fit into one: sessions are minted by whoever has a key. */
const REMEMBERED_SCOPES = 100_000;
/** More look-ups than this would only wait for a connection: newcomers are better told at once. */
const MAX_LEARNING = 1000;

/**
 * Principals that checks have used lately; the oldest are forgotten first. They are found by the header that names
 * their token in the usual spelling. Any other spelling of it finds them too, by a longer road, and is not kept.
 */
export class PrincipalMemory {
  readonly #deps: Deps;
  readonly #known = new Map<string, Principal>();
  readonly #learning = new Map<string, Promise<Principal>>();
  #scopes = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#known.size;
  }

  recall(header: string): Principal | undefined {
    return this.#known.get(header);
  }

  /** Looks the token up and remembers whose it is. All who come with it meanwhile share the look-up. */
  learn(token: string): Promise<Principal> {
    if (tokenKind(token) === null) return Promise.reject(malformed());
    const header = `Bearer ${token}`;
    const known = this.#known.get(header);
    if (known !== undefined) return Promise.resolve(known);
    const underWay = this.#learning.get(header);
    if (underWay !== undefined) return underWay;
    if (this.#learning.size >= MAX_LEARNING) return Promise.reject(overloaded());
    const learnt = this.#look(header, token).finally(() => this.#learning.delete(header));
    this.#learning.set(header, learnt);
    return learnt;
  }

  async #look(header: string, token: string): Promise<Principal> {
    const principal = await authenticate(this.#deps, token);
    this.#known.set(header, principal);
    this.#scopes += scopeOf(principal);
    for (const [oldest, known] of this.#known) {
      if (this.#known.size <= REMEMBERED && this.#scopes <= REMEMBERED_SCOPES) break;
      this.#drop(oldest, known);
    }
    return principal;
  }

  /** The audit commit found the credential dead. */
  forget(principal: Principal): void {
    for (const [header, known] of this.#known) if (known === principal) this.#drop(header, known);
  }

  #drop(header: string, principal: Principal): void {
    this.#known.delete(header);
    this.#scopes -= scopeOf(principal);
  }
}

const scopeOf = ({ scope }: Principal): number => scope?.size ?? 0;
