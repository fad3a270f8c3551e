// Makes changes of operators one at a time over all replicas, and keeps two rules: once there is an admin who can sign
// in, at least one remains, and the one-time links of set-up are invalid from then on.

import { GuardError } from '../../core/errors.ts';
import type { Queries, Transaction } from '../../store/engine/db.ts';
import { removeSetupLinks, someAdmins } from '../../store/operators.ts';
import type { Deps } from '../deps.ts';
import { OPERATORS_LOCK, PEOPLE_LOCK } from '../locks.ts';

export function changeOperators<T>(
  deps: Deps,
  work: (tx: Transaction) => Promise<T>,
  further: readonly string[] = [],
): Promise<T> {
  return deps.db.transaction({ exclusive: [PEOPLE_LOCK, ...further, OPERATORS_LOCK] }, async tx => {
    const result = await work(tx);
    // An old link must not work again if the last admin is reset some day.
    if (await anyAdmin(tx, deps)) await removeSetupLinks(tx);
    return result;
  });
}

/** Whether there is an admin who can sign in. Whoever is only invited, or known by a company token alone, cannot. */
export async function anyAdmin(db: Queries, { settings }: Deps): Promise<boolean> {
  return (await someAdmins(db, settings.oidcIssuer)).length > 0;
}

/** Whether this is the only admin who can sign in: without them nobody could invite others. */
export async function isLastAdmin(
  tx: Transaction,
  { settings }: Deps,
  { id }: { id: string },
): Promise<boolean> {
  const admins = await someAdmins(tx, settings.oidcIssuer);
  return admins.length === 1 && admins[0] === id;
}

export async function keepAnAdmin(tx: Transaction, deps: Deps, operator: { id: string }): Promise<void> {
  if (await isLastAdmin(tx, deps, operator)) {
    throw new GuardError('conflict', 'This is the last admin who can sign in; make somebody else one first.');
  }
}
