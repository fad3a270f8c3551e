// Approvals that can free a call, and earlier questions about the same call: what the decision about a call reads and
// changes. Spending and withdrawing are conditional UPDATEs, so that exactly one of several attempts succeeds.

import type { Surface } from '../core/text/surface.ts';
import { padded, placeholders, type Queries, type Transaction } from './engine/db.ts';

export interface Spendable {
  id: string;
  keyId: string;
  sessionId: string | null;
  personId: string | null;
  surface: Surface;
  serverName: string;
  toolName: string;
  argsDigest: string;
  definitionDigest: string | null;
  approverGroup: string | null;
  votesNeeded: number;
  votes: number;
  /** What each approval has to be proven with, or null. */
  proof: 'passkey' | null;
  proofs: number;
  /** How many tasks wait for it: one or none. */
  tasks: number;
}

const SPENDABLE = `SELECT id, key_id AS "keyId", session_id AS "sessionId", person_id AS "personId", surface, server_name AS "serverName",
    tool_name AS "toolName", args_digest AS "argsDigest", definition_digest AS "definitionDigest",
    approver_group AS "approverGroup", votes_needed AS "votesNeeded",
    (SELECT count(*) FROM approval_votes WHERE approval_id = approvals.id) AS votes, proof,
    (SELECT count(*) FROM approval_proofs WHERE approval_id = approvals.id AND action = 'approve') AS proofs,
    (SELECT count(*) FROM tasks WHERE tasks.id = approvals.id AND state = 'waiting') AS tasks
  FROM approvals WHERE status = 'approved' AND grant_expires_at IS NULL AND spent_at IS NULL
    AND withdrawn_at IS NULL AND resolved_at > $1`;

/**
 * Those of the given approvals that allow one call, were approved after the given time, and were neither spent nor
 * withdrawn.
 */
export function findSpendable(db: Queries, ids: readonly string[], after: number): Promise<Spendable[]> {
  const wanted = padded(ids);
  return db.all(`${SPENDABLE} AND id IN (${placeholders(wanted.length, 1)})`, [after, ...wanted]);
}

/** The same for these keys and digests of arguments; the oldest come first. */
export function findSpendableByDigest(
  db: Queries,
  keyIds: readonly string[],
  digests: readonly string[],
  after: number,
): Promise<Spendable[]> {
  const keys = padded(keyIds);
  const wanted = padded(digests);
  return db.all(
    `${SPENDABLE} AND key_id IN (${placeholders(keys.length, 1)})
       AND args_digest IN (${placeholders(wanted.length, 1 + keys.length)}) ORDER BY id`,
    [after, ...keys, ...wanted],
  );
}

export interface RepeatedApproval
  extends Omit<Spendable, 'approverGroup' | 'votesNeeded' | 'votes' | 'proof' | 'proofs' | 'tasks'> {
  ruleDigest: string | null;
  status: 'pending' | 'denied';
  note: string | null;
  createdAt: number;
  expiresAt: number;
}

/**
 * The questions about calls with these keys and digests of arguments that are open or were denied, and whose
 * time is not over; the newest come first. On `/v1/check` each call that is held is a question of its own.
 */
export function findRepeated(
  db: Queries,
  keyIds: readonly string[],
  digests: readonly string[],
  now: number,
): Promise<RepeatedApproval[]> {
  const keys = padded(keyIds);
  const wanted = padded(digests);
  return db.all(
    `SELECT id, key_id AS "keyId", session_id AS "sessionId", person_id AS "personId", surface,
       server_name AS "serverName", tool_name AS "toolName", args_digest AS "argsDigest", definition_digest AS "definitionDigest",
       rule_digest AS "ruleDigest", status, note, created_at AS "createdAt", expires_at AS "expiresAt"
     FROM approvals WHERE status IN ('pending', 'denied') AND surface <> 'check' AND expires_at > $1
       AND key_id IN (${placeholders(keys.length, 1)})
       AND args_digest IN (${placeholders(wanted.length, 1 + keys.length)}) ORDER BY id DESC`,
    [now, ...keys, ...wanted],
  );
}

/** Spends an approval that allows one call; false when it was already spent or withdrawn. */
export async function spendApproval(tx: Transaction, id: string, now: number): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE approvals SET spent_at = $2
     WHERE id = $1 AND status = 'approved' AND spent_at IS NULL AND withdrawn_at IS NULL`,
    [id, now],
  );
  return changed === 1;
}

/**
 * Withdraws an approval of one call; false when it was spent or withdrawn before, or is not an approval of one call.
 */
export async function withdrawApproval(tx: Transaction, id: string, now: number): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE approvals SET withdrawn_at = $2 WHERE id = $1 AND status = 'approved' AND grant_expires_at IS NULL
       AND spent_at IS NULL AND withdrawn_at IS NULL`,
    [id, now],
  );
  return changed === 1;
}
