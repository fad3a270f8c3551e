// Tokens for clients that people have connected. A code becomes a session with an access token and a refresh token; a
// refresh token is replaced at every use. The successor is derived from its predecessor, so that a client whose answer
// was lost gets the same one again for a while, and no token is stored. If a refresh token is used again after that, or
// a code is used twice, somebody else may have it, so the session ends.

import { isOpenTo } from '../../core/approvals/open-to.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { findKey } from '../../store/keys.ts';
import {
  type CodeRecord,
  findAccess,
  findCode,
  findOAuthClient,
  findOAuthToken,
  insertOAuthToken,
  leastUsedConnections,
  removeOldCodes,
  removeOldTokens,
  replaceOAuthToken,
  touchConnection,
  useCode,
} from '../../store/oauth.ts';
import { type PersonFacts, personFacts } from '../../store/people.ts';
import {
  findSession,
  insertSession,
  NOBODY,
  revokeSession,
  type SessionRecord,
} from '../../store/sessions.ts';
import { recordChange } from '../changes.ts';
import { type Chore, everyMinute } from '../chores.ts';
import { keyLives } from '../credentials.ts';
import type { Actor, Deps } from '../deps.ts';
import { isId, newId } from '../ids.ts';
import { keyLock, PEOPLE_LOCK } from '../locks.ts';
import { hashToken, mintToken, sameText, tokenKind } from '../secrets.ts';
import { OAuthError } from './oauth-error.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const ACCESS_MS = 15 * MINUTE_MS;
/** A connection that is not used for so long ends. */
export const IDLE_MS = 14 * DAY_MS;
/** No connection lasts longer. */
export const CONNECTION_MS = 90 * DAY_MS;
/** For so long a refresh token that was used gives the same successor again. */
const REPEAT_MS = 2 * MINUTE_MS;
/** For so long a second use of a code is noticed. */
const CODE_KEPT_MS = DAY_MS;
/** A further connection of a person ends the one that has not been used for the longest time. */
const MAX_CONNECTIONS = 50;
const REMOVED_AT_ONCE = 500;
const PREFIX = 'tg_oat_';

const CODE_TWICE = 'Its authorization code was used twice, so somebody else may have it.';
const REFRESH_TWICE =
  'A refresh token was used again after its successor was given out: somebody may have stolen it.';
const TOO_MANY = `The person has more than ${MAX_CONNECTIONS} connections, and this one was not used for the longest time.`;
const BY_CLIENT = 'The client has disconnected itself.';

interface Tokens {
  accessToken: string;
  refreshToken: string;
  expiresInSeconds: number;
}

interface Exchange {
  code: string;
  clientId: string;
  redirectUri: string;
  verifier: string;
}

export async function exchangeCode(deps: Deps, given: Exchange): Promise<Tokens> {
  const hash = hashToken(given.code);
  const code = await findCode(deps.db, hash);
  if (code === null) throw codeRefused();
  if (code.sessionId !== null) return refuseReuse(deps, code.sessionId);
  if (code.expiresAt <= deps.now() || code.clientId !== given.clientId) throw codeRefused();
  if (code.redirectUri !== given.redirectUri)
    throw new OAuthError('invalid_grant', 'The redirect_uri is not the one that the code was given for.');
  if (!sameText(challengeOf(given.verifier), code.challenge))
    throw new OAuthError('invalid_grant', 'The code_verifier does not fit the code_challenge.');
  const opened = await openConnection(deps, hash, code);
  if (opened === null) return refuseReuse(deps, (await findCode(deps.db, hash))?.sessionId ?? '');
  for (const id of await leastUsedConnections(deps.db, code.personId, deps.now(), MAX_CONNECTIONS))
    await endOAuthSession(deps, 'system', id, TOO_MANY);
  return opened;
}

const challengeOf = (verifier: string): string =>
  new Bun.CryptoHasher('sha256').update(verifier).digest('base64url');

function codeRefused(): OAuthError {
  return new OAuthError('invalid_grant', 'The code is unknown, too old or of another client.');
}

async function refuseReuse(deps: Deps, sessionId: string): Promise<never> {
  await endOAuthSession(deps, 'system', sessionId, CODE_TWICE);
  throw new OAuthError('invalid_grant', 'The code was used before. What came of it has ended.');
}

/** Null if another request used the code meanwhile. */
function openConnection(deps: Deps, codeHash: string, code: CodeRecord): Promise<Tokens | null> {
  const { keyId, personId, clientId, clientName } = code;
  const id = newId();
  return deps.db.transaction({ shared: [PEOPLE_LOCK, keyLock(keyId)] }, async tx => {
    if (!(await useCode(tx, codeHash, id))) return null;
    // An admin may have removed the client since the code was given out.
    if (isId(clientId) && (await findOAuthClient(tx, clientId)) === null) throw codeRefused();
    const now = deps.now();
    const { person, until } = await requireOpen(tx, keyId, personId, now);
    const session: SessionRecord = {
      ...NOBODY,
      id,
      keyId,
      prefix: PREFIX,
      label: clientName,
      scopeTools: null,
      createdAt: now,
      expiresAt: Math.min(now + CONNECTION_MS, until),
      revokedAt: null,
      personId,
      clientId,
      clientName,
      usedAt: now,
    };
    await insertSession(tx, session, `oauth ${id}`);
    await recordChange(tx, deps, `operator:${person.email}`, 'session.connect', id, {
      keyId,
      clientId,
      clientName,
    });
    const [access, refresh] = [mintToken('access'), mintToken('refresh')];
    return store(tx, session, access, refresh, now);
  });
}

/** Throws unless the key is valid and open to the person. Returns until when the key is valid. */
async function requireOpen(
  tx: Transaction,
  keyId: string,
  personId: string,
  now: number,
): Promise<{ person: PersonFacts; until: number }> {
  const [key, [person]] = [await findKey(tx, keyId), await personFacts(tx, [personId])];
  if (key !== null && keyLives(key, now) && person !== undefined && isOpenTo(key.openTo, person))
    return { person, until: key.expiresAt ?? Number.POSITIVE_INFINITY };
  throw new OAuthError('invalid_grant', 'The key is no longer open to the person who connected this client.');
}

type Token = ReturnType<typeof mintToken>;

async function store(
  tx: Transaction,
  { id: sessionId, expiresAt }: SessionRecord,
  access: Token,
  refresh: Token,
  now: number,
): Promise<Tokens> {
  const row = (kind: 'access' | 'refresh', ms: number) => ({
    sessionId,
    kind,
    createdAt: now,
    expiresAt: Math.min(now + ms, expiresAt),
  });
  await insertOAuthToken(tx, row('access', ACCESS_MS), access.hash);
  await insertOAuthToken(tx, row('refresh', IDLE_MS), refresh.hash);
  const until = (await findAccess(tx, access.hash))?.expiresAt ?? now;
  return {
    accessToken: access.token,
    refreshToken: refresh.token,
    expiresInSeconds: Math.max(0, Math.floor((until - now) / 1000)),
  };
}

/** New tokens for a refresh token: the same ones if it was used shortly before. */
export async function refreshTokens(
  deps: Deps,
  given: { refreshToken: string; clientId: string },
): Promise<Tokens> {
  const { refreshToken: token } = given;
  const hash = hashToken(token);
  const found = tokenKind(token) === 'refresh' ? await findOAuthToken(deps.db, hash) : null;
  const session = found?.kind === 'refresh' ? await findSession(deps.db, found.sessionId) : null;
  if (session === null || session.clientId !== given.clientId) throw refreshRefused();
  const { id, keyId, personId } = session;
  const tokens = await deps.db.transaction({ shared: [PEOPLE_LOCK, keyLock(keyId)] }, async tx => {
    const now = deps.now();
    const first = await replaceOAuthToken(tx, hash, now);
    const used = await findOAuthToken(tx, hash);
    if (used === null) throw refreshRefused();
    if (!first && now - (used.replacedAt ?? 0) > REPEAT_MS) return null;
    const current = await findSession(tx, id);
    if (current === null || current.revokedAt !== null || current.expiresAt <= now || used.expiresAt <= now)
      throw refreshRefused();
    await requireOpen(tx, keyId, personId ?? '', now);
    if (first) await touchConnection(tx, id, now);
    const [access, refresh] = [
      deps.vault.tokenAfter('access', token),
      deps.vault.tokenAfter('refresh', token),
    ];
    return store(tx, current, access, refresh, now);
  });
  if (tokens !== null) return tokens;
  await endOAuthSession(deps, 'system', id, REFRESH_TWICE);
  throw refreshRefused();
}

function refreshRefused(): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'The refresh token is unknown, used, revoked, too old or of another client.',
  );
}

/** Ends the connection of either token. An unknown token is no error (RFC 7009). */
export async function revokeByToken(deps: Deps, token: string, clientId: string | undefined): Promise<void> {
  const kind = tokenKind(token);
  if (kind !== 'access' && kind !== 'refresh') return;
  const found = await findOAuthToken(deps.db, hashToken(token));
  const session = found === null ? null : await findSession(deps.db, found.sessionId);
  if (session === null) return;
  if (clientId !== undefined && clientId !== session.clientId)
    throw new OAuthError('invalid_client', 'The token belongs to another client.');
  await endOAuthSession(deps, 'system', session.id, BY_CLIENT);
}

/** Once this has returned, no check with a token of the session is allowed. Operators see why it ended. */
export async function endOAuthSession(deps: Deps, actor: Actor, id: string, because: string): Promise<void> {
  const session = await findSession(deps.db, id);
  // What has ended takes no lock: whoever still has its tokens could make all others of the key wait with them.
  if (session === null || session.revokedAt !== null) return;
  const { keyId, label, personId } = session;
  await deps.db.transaction({ exclusive: [keyLock(keyId)] }, async tx => {
    if (!(await revokeSession(tx, id, deps.now(), because))) return;
    await recordChange(tx, deps, actor, 'session.revoke', id, { keyId, label, personId, because });
  });
}

/** Removes codes and tokens that have ended. */
export function forgetTokens(): Chore {
  return everyMinute(async ({ db, now }) => {
    await removeOldCodes(db, now() - CODE_KEPT_MS);
    return (await removeOldTokens(db, now(), REMOVED_AT_ONCE)) === REMOVED_AT_ONCE;
  });
}
