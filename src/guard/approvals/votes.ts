// Counts the approvals of several people, where a rule wants a group to answer, or proof of each answer. The caller
// holds the lock on the approvals of the key, so that the votes of all replicas are counted one after the other.

import { GuardError } from '../../core/errors.ts';
import { joinName } from '../../core/text/name.ts';
import { removeProof } from '../../store/approval-proofs.ts';
import { type ApprovalRecord, isVotedOn } from '../../store/approvals.ts';
import type { Queries, Transaction } from '../../store/engine/db.ts';
import { findOperator } from '../../store/operators.ts';
import { insertVote, listVotes, removeVote, type VoteRecord } from '../../store/votes.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { storedFault } from './approvers.ts';
import { hasItsPasskey } from './proofs.ts';

/** Writes a vote and returns all votes that count. It throws if the operator has voted before. */
export async function castVote(
  tx: Transaction,
  deps: Deps,
  approval: ApprovalRecord,
  { operatorId, by, at, via }: { operatorId: string; by: Actor; at: number; via: 'slack' | undefined },
): Promise<VoteRecord[]> {
  const { id, votesNeeded, serverName, toolName } = approval;
  if (!(await insertVote(tx, { approvalId: id, operatorId, by, at }))) {
    throw new GuardError(
      'conflict',
      'You have approved this call before. Somebody else has to approve it too.',
    );
  }
  const votes = await standing(tx, deps, approval, await listVotes(tx, [id]));
  const count = { approved: votes.length, needed: votesNeeded };
  const about = { tool: joinName(serverName, toolName), ...count, ...(via !== undefined && { via }) };
  await recordChange(tx, deps, by, 'approval.vote', id, about);
  return votes;
}

/**
 * The votes of those who may still answer, signed with passkeys that they still have. Others are removed: somebody who was
 * put out of the group must not decide, and somebody who was removed and invited again must not count twice. Whoever is
 * reset loses their votes at once (people/ways-in.ts).
 */
async function standing(
  tx: Transaction,
  deps: Deps,
  approval: ApprovalRecord,
  votes: readonly VoteRecord[],
): Promise<VoteRecord[]> {
  const counted: VoteRecord[] = [];
  for (const vote of votes) {
    if (
      (await isByApprover(tx, deps, approval, vote)) &&
      (approval.proof === null || (await hasItsPasskey(tx, vote)))
    )
      counted.push(vote);
    else {
      await removeVote(tx, vote);
      await removeProof(tx, vote);
    }
  }
  return counted;
}

/** Whoever was reset by a replica of an older version has kept their vote, and cannot sign in. */
async function isByApprover(
  tx: Transaction,
  deps: Deps,
  approval: ApprovalRecord,
  vote: VoteRecord,
): Promise<boolean> {
  const operator = await findOperator(tx, vote.operatorId);
  return operator?.status === 'active' && (await storedFault(tx, deps, approval, operator)) === null;
}

export function votesFor(db: Queries, approvals: readonly ApprovalRecord[]): Promise<VoteRecord[]> {
  return listVotes(
    db,
    approvals.filter(isVotedOn).map(each => each.id),
  );
}
