// Ends grants, with immediate effect. approvals.ts opens them, when somebody approves with a duration.

import { GuardError } from '../../core/errors.ts';
import { findGrant, revokeGrant } from '../../store/grants.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { keyLock } from '../locks.ts';

/** Once this has returned, the grant frees no call. Ending a grant twice is not an error. */
export async function endGrant(deps: Deps, actor: Actor, id: string): Promise<void> {
  const grant = await findGrant(deps.db, id);
  if (grant === null) throw new GuardError('not_found', 'There is no grant with this id.');
  await deps.db.transaction({ exclusive: [keyLock(grant.keyId)] }, async tx => {
    if (!(await revokeGrant(tx, id, deps.now()))) return;
    await recordChange(tx, deps, actor, 'grant.revoke', id, { referenceId: grant.referenceId });
  });
}
