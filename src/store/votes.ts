// Votes: who has approved, where a rule wants a group, or several people of it, to approve.

import { padded, placeholders, type Queries } from './engine/db.ts';

export interface VoteRecord {
  approvalId: string;
  operatorId: string;
  by: string;
  at: number;
}

/** False if this operator has voted before. */
export async function insertVote(db: Queries, vote: VoteRecord): Promise<boolean> {
  const inserted = await db.run(
    `INSERT INTO approval_votes (approval_id, operator_id, voted_by, at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (approval_id, operator_id) DO NOTHING`,
    [vote.approvalId, vote.operatorId, vote.by, vote.at],
  );
  return inserted === 1;
}

export async function removeVote(db: Queries, { approvalId, operatorId }: VoteRecord): Promise<void> {
  await db.run('DELETE FROM approval_votes WHERE approval_id = $1 AND operator_id = $2', [
    approvalId,
    operatorId,
  ]);
}

/**
 * Takes back what an operator has voted on questions that are still open, signed or not, and the nonces for what they would
 * sign next. Returns the approvals.
 */
export async function removeOpenVotes(db: Queries, operatorId: string): Promise<string[]> {
  const open = `operator_id = $1 AND approval_id IN (SELECT id FROM approvals WHERE status = 'pending')`;
  const removed = await db.all<{ approvalId: string }>(
    `DELETE FROM approval_votes WHERE ${open} RETURNING approval_id AS "approvalId"`,
    [operatorId],
  );
  await db.run(`DELETE FROM approval_proofs WHERE ${open}`, [operatorId]);
  await db.run('DELETE FROM approval_nonces WHERE operator_id = $1', [operatorId]);
  return removed.map(each => each.approvalId);
}

/** The votes for these approvals, oldest first. */
export function listVotes(db: Queries, approvalIds: readonly string[]): Promise<VoteRecord[]> {
  if (approvalIds.length === 0) return Promise.resolve([]);
  const wanted = padded(approvalIds);
  return db.all(
    `SELECT approval_id AS "approvalId", operator_id AS "operatorId", voted_by AS "by", at FROM approval_votes
     WHERE approval_id IN (${placeholders(wanted.length)}) ORDER BY at, operator_id`,
    wanted,
  );
}
