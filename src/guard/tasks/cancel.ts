// Cancels a task for its client. A question that people are asked is withdrawn: nobody can answer it any more, and the
// same call asks anew; so is an approval whose call has not begun. A call that runs is cancelled by the process that runs it. What has ended stays as it is.

import { type ApprovalRecord, findApproval, withdrawQuestion } from '../../store/approvals.ts';
import { listSubscribers } from '../../store/deliveries.ts';
import { askToCancel, cancelApproved } from '../../store/tasks.ts';
import { withdrawApproval } from '../../store/usable-approvals.ts';
import { letDetailsGo, tell } from '../approvals/answer.ts';
import { votesFor } from '../approvals/votes.ts';
import type { Deps } from '../deps.ts';
import { giveHint } from '../hints.ts';
import { approvalsLock } from '../locks.ts';

/** Whoever calls this has made sure that the task is the client's. */
export async function cancelTask(deps: Deps, taskId: string): Promise<void> {
  const { db, now } = deps;
  const asked = await findApproval(db, taskId);
  const isCancelled =
    (asked !== null && ((await withdrawn(deps, asked)) || (await withdrawnInTime(deps, asked)))) ||
    (await askToCancel(db, taskId, now()));
  if (!isCancelled) return;
  // The process that holds the call lets it go, and the one that runs it cancels it.
  db.wake();
  void giveHint(db, 'task', taskId);
}

/** False if people are not asked any more. An answer and this exclude each other: the first of them counts. */
async function withdrawn(deps: Deps, { id, keyId, status }: ApprovalRecord): Promise<boolean> {
  if (status !== 'pending') return false;
  const approval = await deps.db.transaction({ exclusive: [approvalsLock(keyId)] }, async tx => {
    const now = deps.now();
    const ended = await withdrawQuestion(tx, id, now);
    if (ended !== null) tell(tx, await listSubscribers(tx), ended, now, await votesFor(tx, [ended]));
    return ended;
  });
  if (approval === null) return false;
  letDetailsGo(deps, approval);
  return true;
}

/**
 * False if the call has begun, or was never approved. A call that spends the approval changes the same rows in another order,
 * so that the lock keeps the two from waiting for each other.
 */
function withdrawnInTime({ db, now }: Deps, { id, keyId }: ApprovalRecord): Promise<boolean> {
  return db.transaction({ exclusive: [approvalsLock(keyId)] }, async tx => {
    if (!(await cancelApproved(tx, id, now()))) return false;
    await withdrawApproval(tx, id, now());
    return true;
  });
}
