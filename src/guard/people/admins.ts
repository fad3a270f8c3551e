// Makes changes of operators one at a time over all replicas, and keeps two rules: once there is an admin who can sign
// in, at least one remains, and the one-time links of set-up are invalid from then on.

import { GuardError } from '../../core/errors.ts';
import type { Transaction } from '../../store/db.ts';
import { anyAdmin, type ListedOperator, otherAdmins, removeSetupLinks } from '../../store/operators.ts';
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
    if (await anyAdmin(tx)) await removeSetupLinks(tx);
    return result;
  });
}

/** Whether this is the only admin who can sign in: without them nobody could invite others. */
export async function isLastAdmin(tx: Transaction, operator: ListedOperator): Promise<boolean> {
  return operator.role === 'admin' && operator.status === 'active' && !(await otherAdmins(tx, operator.id));
}

export async function keepAnAdmin(tx: Transaction, operator: ListedOperator): Promise<void> {
  if (await isLastAdmin(tx, operator)) {
    throw new GuardError('conflict', 'This is the last admin; make somebody else one first.');
  }
}
