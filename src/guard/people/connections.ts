// Ends what a person has connected, together with a change of the operator that they are.

import type { Transaction } from '../../store/db.ts';
import { removeCodesOf } from '../../store/oauth.ts';
import { connectedKeys, revokeSessionsOf } from '../../store/sessions.ts';
import type { Deps } from '../deps.ts';
import { keyLock } from '../locks.ts';
import { changeOperators } from './admins.ts';

/** Once the transaction has committed, no check of the person's sessions is allowed, and no code becomes a new one. */
type End = (because: string) => Promise<void>;

/**
 * Changes operators in a transaction that may also end the connections of one of them. It holds the locks of the keys
 * to which they are connected. If there is a further key by the time it has them, it begins again.
 */
export async function changeConnected<T>(
  deps: Deps,
  personId: string,
  work: (tx: Transaction, end: End) => Promise<T>,
): Promise<T> {
  for (;;) {
    const keyIds = await connectedKeys(deps.db, personId, deps.now());
    const done = await changeOperators(
      deps,
      async tx => {
        const now = deps.now();
        const connected = await connectedKeys(tx, personId, now);
        if (connected.some(id => !keyIds.includes(id))) return null;
        const end = async (because: string) => {
          await revokeSessionsOf(tx, personId, now, because);
          await removeCodesOf(tx, personId);
        };
        return { result: await work(tx, end) };
      },
      keyIds.map(keyLock),
    );
    if (done !== null) return done.result;
  }
}
