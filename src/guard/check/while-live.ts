// Works on what somebody tells of a call or of a run, in a transaction in which their credential stays valid.

import type { Surface } from '../../core/text/surface.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { type Principal, unauthenticated } from '../credentials.ts';
import type { Deps } from '../deps.ts';
import { keyLock, PEOPLE_LOCK, POLICIES_LOCK } from '../locks.ts';
import { CredentialFacts, type Live } from './facts.ts';

/** Who tells it, on which surface, and in which run. */
export interface Speaker {
  principal: Principal;
  surface: Surface;
  run: string | undefined;
}

/** Gives back what `use` does. Whoever was revoked before this is refused. */
export function whileLive<T>(
  { db, now: clock }: Deps,
  speaker: Speaker,
  use: (tx: Transaction, live: Live, credentials: CredentialFacts, now: number) => Promise<T>,
): Promise<T> {
  const { keyId, personId } = speaker.principal;
  const people = personId === undefined ? [] : [PEOPLE_LOCK];
  return db.transaction({ shared: [...people, POLICIES_LOCK, keyLock(keyId)] }, async tx => {
    const now = clock();
    const credentials = await CredentialFacts.read(tx, [speaker]);
    const live = credentials.live(speaker, now);
    if (live === null) throw unauthenticated();
    return use(tx, live, credentials, now);
  });
}
