// Ends every way into an account, together with a change of the operator whose account it is, and takes back its votes for
// approvals that are still open: whoever has lost the account may have cast them.

import type { Transaction } from '../../store/engine/db.ts';
import { removeIdentities } from '../../store/identities.ts';
import { removeCodesOf } from '../../store/oauth.ts';
import { removeInvitations, updateOperatorPassword } from '../../store/operators.ts';
import { removePasskeys } from '../../store/passkeys.ts';
import { changeMessages } from '../../store/posted-messages.ts';
import { removePersonSignIns } from '../../store/server-sign-ins.ts';
import { connectedKeys, revokeSessionsOf } from '../../store/sessions.ts';
import { removeSignIns } from '../../store/sign-ins.ts';
import { removeOpenVotes } from '../../store/votes.ts';
import type { Deps } from '../deps.ts';
import { keyLock } from '../locks.ts';
import { changeOperators } from './admins.ts';

/**
 * Ends the person's password, passkeys, accounts at providers, invitations and reset links, sign-ins (here, and to servers),
 * and what they have connected. Once the transaction has committed, nothing of that lets anybody in, no check of
 * the person's sessions is allowed, no code becomes a new session, and none of their votes decides about a call. What was
 * approved before stays. `but` leaves the accounts at providers.
 */
type End = (because: string, but?: 'identities') => Promise<void>;

/**
 * Changes operators in a transaction that may also end every way into the account of one of them. It holds the locks of
 * the keys to which they are connected. If there is a further key by the time it has them, it begins again.
 */
export async function changeAccount<T>(
  deps: Deps,
  personId: string,
  work: (tx: Transaction, endWaysIn: End) => Promise<T>,
): Promise<T> {
  for (;;) {
    const keyIds = await connectedKeys(deps.db, personId, deps.now());
    const done = await changeOperators(
      deps,
      async tx => {
        const connected = await connectedKeys(tx, personId, deps.now());
        if (connected.some(id => !keyIds.includes(id))) return null;
        return { result: await work(tx, (because, but) => endWaysIn(tx, deps, personId, because, but)) };
      },
      keyIds.map(keyLock),
    );
    if (done !== null) return done.result;
  }
}

async function endWaysIn(
  tx: Transaction,
  deps: Deps,
  id: string,
  because: string,
  but?: 'identities',
): Promise<void> {
  await updateOperatorPassword(tx, id, null);
  await removePasskeys(tx, id);
  if (but !== 'identities') await removeIdentities(tx, id);
  await removeInvitations(tx, id);
  await removeSignIns(tx, id, null);
  await removePersonSignIns(tx, id);
  await revokeSessionsOf(tx, id, deps.now(), because);
  await removeCodesOf(tx, id);
  for (const approvalId of await removeOpenVotes(tx, id)) changeMessages(tx, approvalId, deps.now());
}
