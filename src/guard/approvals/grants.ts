// Ends grants, with immediate effect. answer.ts opens them, when somebody approves with a duration.

import { GuardError } from '../../core/errors.ts';
import { joinName } from '../../core/text/name.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { findGrant, type GrantRecord, revokeGrant } from '../../store/grants.ts';
import { findOperator } from '../../store/operators.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { keyLock } from '../locks.ts';
import type { Answerer } from './approvers.ts';

/** Once this has returned, the grant frees no call. Ending a grant twice is not an error. */
export async function endGrant(deps: Deps, who: Answerer, id: string): Promise<void> {
  const grant = await findGrant(deps.db, id);
  if (grant === null) throw new GuardError('not_found', 'There is no grant with this id.');
  const actor: Actor = who === 'admin' ? who : `operator:${who.email}`;
  await deps.db.transaction({ exclusive: [keyLock(grant.keyId)] }, async tx => {
    await requireOwn(tx, grant, who, actor);
    if (!(await revokeGrant(tx, id, deps.now()))) return;
    const { referenceId, serverName, toolName } = grant;
    await recordChange(tx, deps, actor, 'grant.revoke', id, {
      tool: joinName(serverName, toolName),
      referenceId,
    });
  });
}

/** Admins may end every grant, approvers those that they opened. The role may have changed since the request arrived. */
async function requireOwn(
  tx: Transaction,
  { openedBy }: GrantRecord,
  who: Answerer,
  actor: Actor,
): Promise<void> {
  if (who === 'admin') return;
  const role = (await findOperator(tx, who.operatorId))?.role;
  if (role === 'admin' || (role === 'approver' && openedBy === actor)) return;
  throw new GuardError('forbidden', 'Approvers can end only the grants that they opened themselves.');
}
