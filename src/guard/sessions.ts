// Sessions: minted from a key, never outliving it, revoked at once.

import { GuardError } from '../core/errors.ts';
import { findKey } from '../store/keys.ts';
import {
  activeSessions,
  findSession,
  insertSession,
  revokeSession,
  type SessionRecord,
} from '../store/sessions.ts';
import { recordChange } from './changes.ts';
import { keyLives, type Principal, unauthenticated } from './credentials.ts';
import { type Actor, type Guard, keyLock, newId } from './guard.ts';
import { mintToken } from './secrets.ts';

export interface SessionInput {
  label: string;
  ttlMinutes: number;
  scopeTools: string[] | null;
}

/** The token is in the answer and nowhere else. */
export async function mintSession(
  guard: Guard,
  principal: Principal,
  input: SessionInput,
): Promise<{ session: SessionRecord; token: string }> {
  const { token, hash, prefix } = mintToken('session');
  return guard.db.transaction({ shared: [keyLock(principal.keyId)] }, async tx => {
    const now = guard.now();
    const key = await findKey(tx, principal.keyId);
    if (key === null || !keyLives(key, now)) throw unauthenticated();
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
    };
    await insertSession(tx, session, hash);
    return { session, token };
  });
}

export function listActiveSessions(guard: Guard, principal: Principal): Promise<SessionRecord[]> {
  return activeSessions(guard.db, principal.keyId, guard.now());
}

/** No check of this session is allowed once this returned. Another key's session looks like none. */
export async function endSession(guard: Guard, principal: Principal, id: string): Promise<void> {
  await guard.db.transaction({ exclusive: [keyLock(principal.keyId)] }, async tx => {
    const session = await findSession(tx, id);
    if (session === null || session.keyId !== principal.keyId) throw noSuchSession();
    await revokeSession(tx, id, guard.now());
  });
}

/** The same for a session of any key, by whoever administers; recorded. Ending it twice is no error. */
export async function endAnySession(guard: Guard, actor: Actor, id: string): Promise<void> {
  const session = await findSession(guard.db, id);
  if (session === null) throw noSuchSession();
  const { keyId, label } = session;
  await guard.db.transaction({ exclusive: [keyLock(keyId)] }, async tx => {
    if (!(await revokeSession(tx, id, guard.now()))) return;
    await recordChange(tx, guard, actor, 'session.revoke', id, { keyId, label });
  });
}

function noSuchSession(): GuardError {
  return new GuardError('not_found', 'There is no session with this id.');
}
