// Creates sessions from a key, lists and revokes them. A session never outlives its key, nor the right of its person to use
// the key, and a revocation takes effect at once.

import { isOpenTo } from '../core/approvals/open-to.ts';
import { GuardError } from '../core/errors.ts';
import type { JsonObject } from '../core/wire/json.ts';
import type { Transaction } from '../store/engine/db.ts';
import { findKey } from '../store/keys.ts';
import { firstIdAt } from '../store/log/audit.ts';
import { removeCodesFor, removeCodesOf } from '../store/oauth.ts';
import { openToFacts, personFacts } from '../store/people.ts';
import {
  activeSessions,
  findSession,
  hasActive,
  insertSession,
  type ListedSession,
  listSessions,
  NOBODY,
  type PersonsSession,
  personsSessions,
  revokeSession,
  type SessionRecord,
} from '../store/sessions.ts';
import { recordChange } from './changes.ts';
import { keyLives, type Principal, unauthenticated } from './credentials.ts';
import type { Actor, Deps } from './deps.ts';
import { newId } from './ids.ts';
import { keyLock } from './locks.ts';
import { mintToken } from './secrets.ts';

interface SessionInput {
  label: string;
  ttlMinutes: number;
  scopeTools: string[] | null;
  attributes?: JsonObject | null;
}

/** No session is valid for longer: 24 hours, and one hour for clocks that differ. */
const LONGEST_MS = 25 * 3_600_000;

const BY_KEY = 'Somebody with the key itself ended it.';

/** The token is in this answer and nowhere else. */
export async function mintSession(
  deps: Deps,
  principal: Principal,
  input: SessionInput,
): Promise<{ session: SessionRecord; token: string }> {
  const { token, hash, prefix } = mintToken('session');
  return deps.db.transaction({ shared: [keyLock(principal.keyId)] }, async tx => {
    const now = deps.now();
    const key = await findKey(tx, principal.keyId);
    if (key === null || !keyLives(key, now)) throw unauthenticated();
    await refuseTooMany(deps, tx, key.id, now);
    const wished = now + input.ttlMinutes * 60_000;
    const session: SessionRecord = {
      id: newId(),
      keyId: key.id,
      prefix,
      label: input.label,
      scopeTools: input.scopeTools,
      createdAt: now,
      expiresAt: key.expiresAt === null ? wished : Math.min(wished, key.expiresAt),
      revokedAt: null,
      ...NOBODY,
      attributes: input.attributes ?? null,
    };
    await insertSession(tx, session, hash);
    return { session, token };
  });
}

async function refuseTooMany(deps: Deps, tx: Transaction, keyId: string, now: number): Promise<void> {
  const { maxSessionsPerKey } = deps.settings;
  if (!(await hasActive(tx, keyId, now, firstIdAt(now - LONGEST_MS), maxSessionsPerKey))) return;
  throw new GuardError(
    'conflict',
    `This key has ${maxSessionsPerKey} active sessions, and may have no more. Revoke some, or wait until they end.`,
  );
}

/** How many sessions are read at once: with the largest scopes that takes 2 ms, and they have half a MiB. */
const AT_ONCE = 8;
/** A page of the administration's list ends behind the session with which it has so many names. */
const PAGE_NAMES = 20_000;

/**
 * The active sessions of the key before an id, newest first, some at a time. They are read when they are wanted, after
 * `turn` was waited for. It throws once the key is no longer valid.
 */
export async function* activeSessionPages(
  { db, now }: Deps,
  { keyId }: Principal,
  before: string,
  turn: () => Promise<void>,
): AsyncGenerator<SessionRecord[]> {
  let page: SessionRecord[];
  let last = before;
  do {
    const key = await findKey(db, keyId);
    if (key === null || !keyLives(key, now())) throw unauthenticated();
    await turn();
    page = await activeSessions(db, keyId, now(), AT_ONCE, last);
    last = page.at(-1)?.id ?? last;
    if (page.length > 0) yield page;
  } while (page.length === AT_ONCE);
}

/** One page of the sessions of all keys or of one key, newest first, and whether there are more. */
export async function listedSessions(
  { db }: Deps,
  keyId: string | null,
  limit: number,
  before: string,
): Promise<{ sessions: ListedSession[]; more: boolean }> {
  const sessions: ListedSession[] = [];
  let names = 0;
  for (let last = before; ; ) {
    const read = await listSessions(db, keyId, Math.min(AT_ONCE, limit + 1 - sessions.length), last);
    for (const each of read) {
      if (sessions.length === limit || names > PAGE_NAMES) return { sessions, more: true };
      sessions.push(each);
      names += each.scopeTools?.length ?? 0;
      last = each.id;
    }
    if (read.length < AT_ONCE) return { sessions, more: false };
  }
}

/** Once this has returned, no check of this session is allowed. A session of another key looks like an unknown one. */
export async function endSession(deps: Deps, principal: Principal, id: string): Promise<void> {
  await deps.db.transaction({ exclusive: [keyLock(principal.keyId)] }, async tx => {
    const session = await findSession(tx, id);
    if (session === null || session.keyId !== principal.keyId) throw noSuchSession();
    const { keyId, label, personId } = session;
    const because = personId === null ? null : BY_KEY;
    // The person who connected it has not ended it themselves, so the log of changes says who did.
    if ((await revokeSession(tx, id, deps.now(), because)) && personId !== null)
      await recordChange(tx, deps, 'system', 'session.revoke', id, { keyId, label, personId, because });
  });
}

/** Ends a session of any key, for the administration, and records the change. Ending it twice is not an error. */
export async function endAnySession(deps: Deps, actor: Actor, id: string): Promise<void> {
  const session = await findSession(deps.db, id);
  if (session === null) throw noSuchSession();
  await revokeAndRecord(deps, actor, session);
}

/** Ends a connection for the person whose it is, and records the change. One of somebody else looks like an unknown one. */
export async function endConnection(
  deps: Deps,
  who: { operatorId: string; email: string },
  id: string,
): Promise<void> {
  const session = await findSession(deps.db, id);
  if (session === null || session.personId !== who.operatorId)
    throw new GuardError('not_found', 'You have no connection with this id.');
  await revokeAndRecord(deps, `operator:${who.email}`, session);
}

async function revokeAndRecord(deps: Deps, actor: Actor, session: SessionRecord): Promise<void> {
  // What has ended takes no lock, so that repeating it makes nobody wait.
  if (session.revokedAt !== null) return;
  const { id, keyId, label, personId } = session;
  await deps.db.transaction({ exclusive: [keyLock(keyId)] }, async tx => {
    if (!(await revokeSession(tx, id, deps.now()))) return;
    const detail = { keyId, label, ...(personId !== null && { personId }) };
    await recordChange(tx, deps, actor, 'session.revoke', id, detail);
  });
}

const CLOSED = 'The key is no longer open to the person.';
const LOOKED_AT_ONCE = 500;

/**
 * Ends, for good, the sessions of people to whom their key is not open any more: of all people with a key, or of a
 * person with all keys. Codes that were not used end too. The transaction has a lock on people, which every use of such
 * a session shares, and for a key also its lock.
 */
export async function endClosed(
  tx: Transaction,
  deps: Deps,
  of: { keyId: string } | { personId: string },
): Promise<void> {
  const now = deps.now();
  const sessions = await personsSessions(tx, of, now);
  for (let at = 0; at < sessions.length; at += LOOKED_AT_ONCE) {
    for (const id of await closedAmong(tx, sessions.slice(at, at + LOOKED_AT_ONCE)))
      await revokeSession(tx, id, now, CLOSED);
  }
  if ('keyId' in of) await removeCodesFor(tx, of.keyId);
  else await removeCodesOf(tx, of.personId);
}

async function closedAmong(tx: Transaction, sessions: readonly PersonsSession[]): Promise<string[]> {
  const unique = (ids: string[]) => [...new Set(ids)];
  const keys = await openToFacts(tx, unique(sessions.map(({ keyId }) => keyId)));
  const people = await personFacts(tx, unique(sessions.map(({ personId }) => personId)));
  const openTo = new Map(keys.map(key => [key.id, key.openTo]));
  const known = new Map(people.map(person => [person.id, person]));
  const isOpen = ({ keyId, personId, personGroups }: PersonsSession): boolean => {
    const person = known.get(personId);
    if (person === undefined) return false;
    return isOpenTo(openTo.get(keyId) ?? [], { ...person, groups: personGroups ?? person.groups });
  };
  return sessions.filter(each => !isOpen(each)).map(({ id }) => id);
}

function noSuchSession(): GuardError {
  return new GuardError('not_found', 'There is no session with this id.');
}
