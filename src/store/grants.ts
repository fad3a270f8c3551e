// Grants: while a grant is open, calls of its key to its tool are allowed where the policy requires approval.

import { padded, placeholders, type Queries, type Transaction } from './db.ts';

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
  /** The digest of the rule that asked; null if it was asked for before rules had digests. */
  ruleDigest: string | null;
  createdAt: number;
  expiresAt: number;
}

const COLUMNS = `id, reference_id AS "referenceId", key_id AS "keyId", server_name AS "serverName",
  tool_name AS "toolName", definition_digest AS "definitionDigest", rule_digest AS "ruleDigest", created_at AS "createdAt", expires_at AS "expiresAt"`;

export function insertGrant(tx: Transaction, grant: GrantRecord): void {
  tx.defer(
    `INSERT INTO grants (id, reference_id, key_id, server_name, tool_name, definition_digest, rule_digest,
       created_at, expires_at) VALUES (${placeholders(9)})`,
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
    ],
  );
}

/** The open grants of the keys. */
export function openGrants(db: Queries, keyIds: readonly string[], now: number): Promise<GrantRecord[]> {
  const wanted = padded(keyIds);
  return db.all(
    `SELECT ${COLUMNS} FROM grants WHERE revoked_at IS NULL AND expires_at > $1
       AND key_id IN (${placeholders(wanted.length, 1)})`,
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

/** False when the grant was already revoked or does not exist. */
export async function revokeGrant(db: Queries, id: string, now: number): Promise<boolean> {
  return (
    (await db.run('UPDATE grants SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL', [id, now])) === 1
  );
}
