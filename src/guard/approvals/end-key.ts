// Revokes a key. Its open questions end with it: nobody should be asked about a call that can no longer be made. They end as
// those do that nobody answers in time, with an event, and their links are dead.

import { endApprovalsOf } from '../../store/approvals.ts';
import { listConnectedTools } from '../../store/connected-tools.ts';
import { listSubscribers } from '../../store/deliveries.ts';
import { revokeKey } from '../../store/keys.ts';
import { removeServerClients, removeToolSignIns } from '../../store/server-sign-ins.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { requireKey } from '../keys.ts';
import { approvalsLock, keyLock } from '../locks.ts';
import { letDetailsGo, tell } from './answer.ts';
import { votesFor } from './votes.ts';

/** What the end of a question says to whoever looks for its cause. */
const NOTE = 'The key was revoked.';

/**
 * Once this has returned, no check of this key or its sessions is allowed, its questions have ended, and the sign-ins to
 * its own servers are forgotten. Revoking twice is not an error.
 */
export async function endKey(deps: Deps, actor: Actor, id: string): Promise<void> {
  const ended = await deps.db.transaction({ exclusive: [keyLock(id), approvalsLock(id)] }, async tx => {
    const key = await requireKey(tx, id);
    const now = deps.now();
    if (!(await revokeKey(tx, id, now))) return [];
    for (const { sourceId, toolServerId } of await listConnectedTools(tx, id)) {
      // A server that keys share keeps its sign-ins for the others.
      if (toolServerId !== null) continue;
      await removeToolSignIns(tx, sourceId);
      await removeServerClients(tx, sourceId);
    }
    const approvals = await endApprovalsOf(tx, id, now, NOTE);
    const subscribers = approvals.length === 0 ? [] : await listSubscribers(tx);
    const votes = await votesFor(tx, approvals);
    for (const approval of approvals) tell(tx, subscribers, approval, now, votes);
    const detail = { name: key.name, ...(approvals.length > 0 && { endedApprovals: approvals.length }) };
    await recordChange(tx, deps, actor, 'key.revoke', id, detail);
    return approvals;
  });
  for (const approval of ended) letDetailsGo(deps, approval);
  if (ended.length > 0) deps.db.wake();
}
