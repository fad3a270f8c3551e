// Changes of operators, one at a time over all replicas, and what must hold after each: once there is an admin
// who can sign in, one stays, and the one-time links of set-up are over for good.

import { GuardError } from '../../core/errors.ts';
import type { Transaction } from '../../store/db.ts';
import { anyAdmin, type ListedOperator, otherAdmins, removeSetupLinks } from '../../store/operators.ts';
import type { Deps } from '../deps.ts';
import { OPERATORS_LOCK } from '../locks.ts';

export function changeOperators<T>(deps: Deps, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return deps.db.transaction({ exclusive: [OPERATORS_LOCK] }, async tx => {
    const result = await work(tx);
    // An old link must not open the door again should the last admin be reset one day.
    if (await anyAdmin(tx)) await removeSetupLinks(tx);
    return result;
  });
}

/** Whether nobody else could let others in. */
export async function isLastAdmin(tx: Transaction, operator: ListedOperator): Promise<boolean> {
  return operator.role === 'admin' && operator.status === 'active' && !(await otherAdmins(tx, operator.id));
}

export async function keepAnAdmin(tx: Transaction, operator: ListedOperator): Promise<void> {
  if (await isLastAdmin(tx, operator)) {
    throw new GuardError('conflict', 'This is the last admin; make somebody else one first.');
  }
}
