// Approvals: the questions to humans. A status changes by one conditional UPDATE, so that exactly one of several
// concurrent attempts succeeds. usable-approvals.ts finds and spends those that were given. earlier-approvals.ts
// counts how they ended, and approval-views.ts shows them.

import type { ApprovalStatus } from '../core/approvals/approval.ts';
import type { Surface } from '../core/text/surface.ts';
import { padded, placeholders, type Queries, type Transaction, type Value } from './engine/db.ts';

export interface ApprovalRecord {
  id: string;
  toolCallId: string;
  keyId: string;
  sessionId: string | null;
  policyId: string;
  surface: Surface;
  serverName: string;
  toolName: string;
  argsDigest: string;
  /**
   * The digest of the tool's definition when the approval was asked for; null if the service does not forward the call
   * itself.
   */
  definitionDigest: string | null;
  /** The digest of the rule that asked; null if it was asked for before rules had digests. */
  ruleDigest: string | null;
  reason: string;
  status: ApprovalStatus;
  createdAt: number;
  expiresAt: number;
  resolvedAt: number | null;
  resolvedBy: string | null;
  grantExpiresAt: number | null;
  spentAt: number | null;
  withdrawnAt: number | null;
  /** What the person who answered wrote to the agent. */
  note: string | null;
  /** 1 if the rule shows details of the call, which are only in memory. */
  shows: number;
  /** In whose name the call was made; null if in nobody's. */
  personId: string | null;
  personEmail: string | null;
  /** What an approval has to be signed with; null if it need not be. */
  proof: 'passkey' | null;
  /** The group whose members have to answer; null if every approver may. */
  approverGroup: string | null;
  /** How many different people have to approve. */
  votesNeeded: number;
  /** Keyed digests of the call's values, for grants that are bound to some of them; null once it has ended. */
  valueDigests: string | null;
  /** The run of the call; null if nothing is remembered of it. */
  runId: string | null;
  /** The marks that the run had when the question was asked, as a JSON list of RunMark; null if it had none. */
  runMarks: string | null;
}

const COLUMNS = `id, tool_call_id AS "toolCallId", key_id AS "keyId", session_id AS "sessionId",
  policy_id AS "policyId", surface, server_name AS "serverName", tool_name AS "toolName",
  args_digest AS "argsDigest", definition_digest AS "definitionDigest", rule_digest AS "ruleDigest", reason, status, created_at AS "createdAt", expires_at AS "expiresAt",
  resolved_at AS "resolvedAt", resolved_by AS "resolvedBy", grant_expires_at AS "grantExpiresAt",
  spent_at AS "spentAt", withdrawn_at AS "withdrawnAt", note, shows, person_id AS "personId", person_email AS "personEmail", proof,
  approver_group AS "approverGroup", votes_needed AS "votesNeeded", value_digests AS "valueDigests",
  run_id AS "runId", run_marks AS "runMarks"`;

export function insertApproval(tx: Transaction, approval: ApprovalRecord, tokenHash: string): void {
  tx.defer(
    `INSERT INTO approvals (id, tool_call_id, token_hash, key_id, session_id, policy_id, surface, server_name,
       tool_name, args_digest, definition_digest, rule_digest, reason, status, created_at, expires_at, shows,
       person_id, person_email, proof, approver_group, votes_needed, value_digests,
       run_id, run_marks)
     VALUES (${placeholders(25)})`,
    [
      approval.id,
      approval.toolCallId,
      tokenHash,
      approval.keyId,
      approval.sessionId,
      approval.policyId,
      approval.surface,
      approval.serverName,
      approval.toolName,
      approval.argsDigest,
      approval.definitionDigest,
      approval.ruleDigest,
      approval.reason,
      approval.status,
      approval.createdAt,
      approval.expiresAt,
      approval.shows,
      approval.personId,
      approval.personEmail,
      approval.proof,
      approval.approverGroup,
      approval.votesNeeded,
      approval.valueDigests,
      approval.runId,
      approval.runMarks,
    ],
  );
}

export async function findApproval(db: Queries, id: string): Promise<ApprovalRecord | null> {
  const rows = await db.all<ApprovalRecord>(`SELECT ${COLUMNS} FROM approvals WHERE id = $1`, [id]);
  return rows[0] ?? null;
}

export function findApprovals(db: Queries, ids: readonly string[]): Promise<ApprovalRecord[]> {
  const wanted = padded(ids);
  return db.all(`SELECT ${COLUMNS} FROM approvals WHERE id IN (${placeholders(wanted.length)})`, wanted);
}

/** Those of the given approvals that nobody has answered and that have not lapsed. */
export async function findPending(db: Queries, ids: readonly string[]): Promise<string[]> {
  const wanted = padded(ids);
  const rows = await db.all<{ id: string }>(
    `SELECT id FROM approvals WHERE status = 'pending' AND id IN (${placeholders(wanted.length)})`,
    wanted,
  );
  return rows.map(({ id }) => id);
}

export async function findApprovalByToken(db: Queries, tokenHash: string): Promise<ApprovalRecord | null> {
  const rows = await db.all<ApprovalRecord>(`SELECT ${COLUMNS} FROM approvals WHERE token_hash = $1`, [
    tokenHash,
  ]);
  return rows[0] ?? null;
}

interface ApprovalFilter {
  status?: ApprovalStatus | undefined;
  /** Only calls that were made in this person's name. */
  personId?: string | undefined;
}

/** Newest first. */
export function listApprovals(
  db: Queries,
  { status, personId }: ApprovalFilter,
  limit: number,
  before: string,
): Promise<ApprovalRecord[]> {
  const params: Value[] = [before, limit];
  const tests = [
    ...(status === undefined ? [] : [`status = $${params.push(status)}`]),
    ...(personId === undefined ? [] : [`person_id = $${params.push(personId)}`]),
    'id < $1',
  ];
  return db.all(
    `SELECT ${COLUMNS} FROM approvals WHERE ${tests.join(' AND ')} ORDER BY id DESC LIMIT $2`,
    params,
  );
}

/** Those that have ended, the last one first. `before` is the approval after which the list goes on; null: its beginning. */
export async function listEnded(
  db: Queries,
  { status }: Pick<ApprovalFilter, 'status'>,
  limit: number,
  before: string | null,
): Promise<ApprovalRecord[]> {
  const last = before === null ? null : await findApproval(db, before);
  if (before !== null && last?.resolvedAt == null) return [];
  const params: Value[] = [last?.resolvedAt ?? Number.MAX_SAFE_INTEGER, before ?? '', limit];
  const test = status === undefined ? '' : `status = $${params.push(status)} AND`;
  return db.all(
    `SELECT ${COLUMNS} FROM approvals WHERE ${test} resolved_at IS NOT NULL AND (resolved_at, id) < ($1, $2)
     ORDER BY resolved_at DESC, id DESC LIMIT $3`,
    params,
  );
}

interface Resolved {
  status: 'approved' | 'denied';
  at: number;
  by: string;
  grantExpiresAt: number | null;
  note?: string | null;
}

/**
 * Resolves an approval that is still open; false when it is not open any more. The digests of the call's values are not
 * needed afterwards.
 */
export async function resolveApproval(tx: Transaction, id: string, resolved: Resolved): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE approvals SET status = $2, resolved_at = $3, resolved_by = $4, grant_expires_at = $5, note = $6,
       value_digests = NULL
     WHERE id = $1 AND status = 'pending' AND expires_at > $3`,
    [id, resolved.status, resolved.at, resolved.by, resolved.grantExpiresAt, resolved.note ?? null],
  );
  return changed === 1;
}

/** Ends an open question whose call the agent has cancelled; null if it is not open any more. */
export async function withdrawQuestion(
  tx: Transaction,
  id: string,
  now: number,
): Promise<ApprovalRecord | null> {
  const [row] = await tx.all<ApprovalRecord>(
    `UPDATE approvals SET status = 'withdrawn', resolved_at = $2, value_digests = NULL
     WHERE id = $1 AND status = 'pending' AND expires_at > $2 RETURNING ${COLUMNS}`,
    [id, now],
  );
  return row ?? null;
}

/** Keeps the note of somebody whose vote did not decide. */
export async function noteOnApproval(tx: Transaction, id: string, note: string): Promise<void> {
  await tx.run(`UPDATE approvals SET note = $2 WHERE id = $1 AND status = 'pending'`, [id, note]);
}

/**
 * Marks at most `limit` expired approvals as timed out and returns those that this statement changed. The condition is
 * repeated in the outer WHERE: if two replicas chose the same row, the second one then leaves it alone.
 */
export function lapseApprovals(tx: Transaction, now: number, limit: number): Promise<ApprovalRecord[]> {
  return tx.all(
    `UPDATE approvals SET status = 'timed_out', resolved_at = $1, value_digests = NULL
     WHERE status = 'pending' AND expires_at <= $1
       AND id IN (SELECT id FROM approvals WHERE status = 'pending' AND expires_at <= $1 ORDER BY expires_at LIMIT $2)
     RETURNING ${COLUMNS}`,
    [now, limit],
  );
}

/** Ends all open approvals of a key before their time, and returns them. */
export function endApprovalsOf(
  tx: Transaction,
  keyId: string,
  now: number,
  note: string,
): Promise<ApprovalRecord[]> {
  return tx.all(
    `UPDATE approvals SET status = 'timed_out', resolved_at = $2, note = $3, value_digests = NULL
     WHERE key_id = $1 AND status = 'pending' RETURNING ${COLUMNS}`,
    [keyId, now, note],
  );
}

/** The number of open approvals. */
export async function countPending(db: Queries, now: number): Promise<number> {
  const [row] = await db.all<{ count: number }>(
    `SELECT count(*) AS count FROM approvals WHERE status = 'pending' AND expires_at > $1`,
    [now],
  );
  return row?.count ?? 0;
}

interface OpenCount {
  keyId: string;
  sessionId: string | null;
  open: number;
}

/** The open approvals of the keys, counted by session. */
export function countOpen(db: Queries, keyIds: readonly string[], now: number): Promise<OpenCount[]> {
  const wanted = padded(keyIds);
  return db.all(
    `SELECT key_id AS "keyId", session_id AS "sessionId", count(*) AS open FROM approvals
     WHERE status = 'pending' AND expires_at > $1 AND key_id IN (${placeholders(wanted.length, 1)})
     GROUP BY key_id, session_id`,
    [now, ...wanted],
  );
}

/** Whether each approval is a vote: where a group has to answer, or where approvals are proven. */
export function isVotedOn({
  approverGroup,
  proof,
}: Pick<ApprovalRecord, 'approverGroup' | 'proof'>): boolean {
  return approverGroup !== null || proof !== null;
}
