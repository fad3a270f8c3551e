// Counts the approvals of several people, where a rule wants a group to answer. The caller holds the lock on the
// approvals of the key, so that the votes of all replicas are counted one after the other.

import { GuardError } from '../../core/errors.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';
import type { Queries, Transaction } from '../../store/db.ts';
import { insertVote, listVotes, type VoteRecord } from '../../store/votes.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';

/** Writes a vote and returns all votes so far. It throws if the operator has voted before. */
export async function castVote(
  tx: Transaction,
  deps: Deps,
  { id, votesNeeded }: ApprovalRecord,
  { operatorId, by, at, via }: { operatorId: string; by: Actor; at: number; via: 'slack' | undefined },
): Promise<VoteRecord[]> {
  if (!(await insertVote(tx, { approvalId: id, operatorId, by, at }))) {
    throw new GuardError(
      'conflict',
      'You have approved this call before. Somebody else has to approve it too.',
    );
  }
  const votes = await listVotes(tx, [id]);
  const count = { approved: votes.length, needed: votesNeeded };
  await recordChange(tx, deps, by, 'approval.vote', id, { ...count, ...(via !== undefined && { via }) });
  return votes;
}

/** The votes that the approvals have; only those that a group answers have any. */
export function votesFor(db: Queries, approvals: readonly ApprovalRecord[]): Promise<VoteRecord[]> {
  return listVotes(
    db,
    approvals.filter(each => each.approverGroup !== null).map(each => each.id),
  );
}
