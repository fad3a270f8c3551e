// Grants: what an approval with a duration opened. Opening is approvals.ts's; ending one works at once.

import { GuardError } from '../../core/errors.ts';
import { findGrant, revokeGrant } from '../../store/grants.ts';
import { recordChange } from '../changes.ts';
import { type Actor, type Guard, keyLock } from '../guard.ts';

/** No call is freed by the grant once this returned. Ending it twice is no error. */
export async function endGrant(guard: Guard, actor: Actor, id: string): Promise<void> {
  const grant = await findGrant(guard.db, id);
  if (grant === null) throw new GuardError('not_found', 'There is no grant with this id.');
  await guard.db.transaction({ exclusive: [keyLock(grant.keyId)] }, async tx => {
    if (!(await revokeGrant(tx, id, guard.now()))) return;
    await recordChange(tx, guard, actor, 'grant.revoke', id, { referenceId: grant.referenceId });
  });
}
