// Grants: while a grant is open, calls of its key to its tool are allowed where the policy requires approval. A bound
// grant does so only for some of them.

import { padded, placeholders, type Queries, type Transaction } from './engine/db.ts';

export interface GrantRecord {
  id: string;
  referenceId: string;
  keyId: string;
  serverName: string;
  toolName: string;
  /**
   * The digest of the tool's definition when the approval was asked for; null if the service does not forward the call
   * itself.
   */
  definitionDigest: string | null;
  /**
   * The digest of the rule that asked; null if it was asked for before rules had digests. It has a prefix if the grant is
   * bound (guard/approvals/bound-grants.ts).
   */
  ruleDigest: string | null;
  createdAt: number;
  expiresAt: number;
  /** The session whose calls it frees; null if those of all. */
  sessionId: string | null;
  /** Paths at which calls must have the same values as the approved one, as a JSON list; null if at none. */
  samePaths: string | null;
  /** The keyed digest of those values. */
  sameDigest: string | null;
  /** Who opened it; null if that was not recorded. */
  openedBy: string | null;
  /** How many calls it has freed. */
  used: number;
}

/** A grant with the task whose call it was opened for, while that waits. */
export interface OpenGrant extends GrantRecord {
  /** The digest of the arguments of that call; null if no task waits for it. */
  taskDigest: string | null;
  taskSessionId: string | null;
  taskPersonId: string | null;
}

type Unbound = 'sessionId' | 'samePaths' | 'sameDigest' | 'openedBy' | 'used';
type NewGrant = Omit<GrantRecord, Unbound> & Partial<Pick<GrantRecord, Unbound>>;

const COLUMNS = `id, reference_id AS "referenceId", key_id AS "keyId", server_name AS "serverName",
  tool_name AS "toolName", definition_digest AS "definitionDigest", rule_digest AS "ruleDigest", created_at AS "createdAt",
  expires_at AS "expiresAt", session_id AS "sessionId", same_paths AS "samePaths", same_digest AS "sameDigest",
  opened_by AS "openedBy", used`;

export function insertGrant(tx: Transaction, grant: NewGrant): void {
  tx.defer(
    `INSERT INTO grants (id, reference_id, key_id, server_name, tool_name, definition_digest, rule_digest,
       created_at, expires_at, session_id, same_paths, same_digest, opened_by, used)
     VALUES (${placeholders(14)})`,
    [
      grant.id,
      grant.referenceId,
      grant.keyId,
      grant.serverName,
      grant.toolName,
      grant.definitionDigest,
      grant.ruleDigest,
      grant.createdAt,
      grant.expiresAt,
      grant.sessionId ?? null,
      grant.samePaths ?? null,
      grant.sameDigest ?? null,
      grant.openedBy ?? null,
      grant.used ?? 0,
    ],
  );
}

/** In the order in which they were opened, so that of several that cover a call always the same one frees it. */
export function openGrants(db: Queries, keyIds: readonly string[], now: number): Promise<OpenGrant[]> {
  const wanted = padded(keyIds);
  return db.all(
    `SELECT g.*, a.args_digest AS "taskDigest", t.session_id AS "taskSessionId", t.person_id AS "taskPersonId"
     FROM (SELECT ${COLUMNS} FROM grants WHERE revoked_at IS NULL AND expires_at > $1
         AND key_id IN (${placeholders(wanted.length, 1)})) g
       LEFT JOIN tasks t ON t.id = g."referenceId" AND t.state = 'waiting'
       LEFT JOIN approvals a ON a.id = t.id
     ORDER BY g.id`,
    [now, ...wanted],
  );
}

/** The open grants of all keys, newest first. */
export function listGrants(db: Queries, now: number, limit: number, before: string): Promise<GrantRecord[]> {
  return db.all(
    `SELECT ${COLUMNS} FROM grants WHERE revoked_at IS NULL AND expires_at > $1 AND id < $2
     ORDER BY id DESC LIMIT $3`,
    [now, before, limit],
  );
}

export async function findGrant(db: Queries, id: string): Promise<GrantRecord | null> {
  const rows = await db.all<GrantRecord>(`SELECT ${COLUMNS} FROM grants WHERE id = $1`, [id]);
  return rows[0] ?? null;
}

/** Counts calls that the grant has freed, in the transaction of their audit entries. */
export function countUses(tx: Transaction, id: string, uses: number): void {
  tx.defer('UPDATE grants SET used = used + $2 WHERE id = $1', [id, uses]);
}

/** False when the grant was already revoked or does not exist. */
export async function revokeGrant(db: Queries, id: string, now: number): Promise<boolean> {
  return (
    (await db.run('UPDATE grants SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL', [id, now])) === 1
  );
}
