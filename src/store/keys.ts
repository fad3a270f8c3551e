// Keys: long-lived credentials, each attached to one policy. Only the SHA-256 of a key is stored.

import { padded, placeholders, type Queries } from './engine/db.ts';

export const FORWARDS = ['resources', 'prompts', 'completion'] as const;
export type Forward = (typeof FORWARDS)[number];

export interface KeyRecord {
  id: string;
  name: string;
  prefix: string;
  policyId: string;
  /** The policy that judges its calls without any effect. */
  shadowPolicyId: string | null;
  requireSignInToApprove: boolean;
  /** The key's own notification targets, encrypted; null means the service's targets. */
  notifyEncrypted: string | null;
  forward: Forward[];
  /** The groups and people to whom it is open (core/approvals/open-to.ts). */
  openTo: string[];
  /** Whether clients that know MCP's tasks get one for a call that waits. */
  tasks: boolean;
  /** Whether people at their client are sent to the approval's page. */
  approveHere: boolean;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
}

interface KeyRow
  extends Omit<KeyRecord, 'requireSignInToApprove' | 'forward' | 'openTo' | 'tasks' | 'approveHere'> {
  requireSignIn: number;
  tasks: number;
  approveHere: number;
  forward: string;
  openTo: string;
}

const COLUMNS = `id, name, prefix, policy_id AS "policyId", shadow_policy_id AS "shadowPolicyId", require_sign_in AS "requireSignIn",
  notify_sealed AS "notifyEncrypted", forward,
  open_to AS "openTo", tasks, approve_here AS "approveHere", created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt"`;

function fromRow({ requireSignIn, forward, openTo, tasks, approveHere, ...row }: KeyRow): KeyRecord {
  return {
    ...row,
    requireSignInToApprove: requireSignIn === 1,
    forward: JSON.parse(forward),
    openTo: JSON.parse(openTo),
    tasks: tasks === 1,
    approveHere: approveHere === 1,
  };
}

export async function insertKey(db: Queries, key: KeyRecord, hash: string): Promise<void> {
  await db.run(
    `INSERT INTO keys (id, name, hash, prefix, policy_id, require_sign_in, notify_sealed, forward, created_at, expires_at,
       open_to, shadow_policy_id, tasks, approve_here)
     VALUES (${placeholders(14)})`,
    [
      key.id,
      key.name,
      hash,
      key.prefix,
      key.policyId,
      key.requireSignInToApprove ? 1 : 0,
      key.notifyEncrypted,
      JSON.stringify(key.forward),
      key.createdAt,
      key.expiresAt,
      JSON.stringify(key.openTo),
      key.shadowPolicyId,
      key.tasks ? 1 : 0,
      key.approveHere ? 1 : 0,
    ],
  );
}

export async function updateKey(db: Queries, key: KeyRecord): Promise<void> {
  await db.run(
    `UPDATE keys SET name = $2, policy_id = $3, require_sign_in = $4, notify_sealed = $5, forward = $6, expires_at = $7,
       open_to = $8, shadow_policy_id = $9, tasks = $10, approve_here = $11
     WHERE id = $1`,
    [
      key.id,
      key.name,
      key.policyId,
      key.requireSignInToApprove ? 1 : 0,
      key.notifyEncrypted,
      JSON.stringify(key.forward),
      key.expiresAt,
      JSON.stringify(key.openTo),
      key.shadowPolicyId,
      key.tasks ? 1 : 0,
      key.approveHere ? 1 : 0,
    ],
  );
}

/** False when the key was already revoked or does not exist. */
export async function revokeKey(db: Queries, id: string, now: number): Promise<boolean> {
  return (
    (await db.run('UPDATE keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL', [id, now])) === 1
  );
}

export async function findKey(db: Queries, id: string): Promise<KeyRecord | null> {
  const [row] = await db.all<KeyRow>(`SELECT ${COLUMNS} FROM keys WHERE id = $1`, [id]);
  return row === undefined ? null : fromRow(row);
}

export async function findKeyByHash(db: Queries, hash: string): Promise<KeyRecord | null> {
  const [row] = await db.all<KeyRow>(`SELECT ${COLUMNS} FROM keys WHERE hash = $1`, [hash]);
  return row === undefined ? null : fromRow(row);
}

export async function listKeys(db: Queries, limit: number, before: string): Promise<KeyRecord[]> {
  const rows = await db.all<KeyRow>(`SELECT ${COLUMNS} FROM keys WHERE id < $1 ORDER BY id DESC LIMIT $2`, [
    before,
    limit,
  ]);
  return rows.map(fromRow);
}

/** Another live key with the same name, by its id; null if there is none. */
export async function findNamesake(
  db: Queries,
  { id, name }: KeyRecord,
  now: number,
): Promise<string | null> {
  const [row] = await db.all<{ id: string }>(
    `SELECT id FROM keys WHERE name = $1 AND id <> $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)
     LIMIT 1`,
    [name, id, now],
  );
  return row?.id ?? null;
}

export async function listKeyNames(db: Queries, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const wanted = padded(ids);
  const rows = await db.all<{ id: string; name: string }>(
    `SELECT id, name FROM keys WHERE id IN (${placeholders(wanted.length)})`,
    wanted,
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

export async function policyInUse(db: Queries, policyId: string): Promise<boolean> {
  const rows = await db.all('SELECT id FROM keys WHERE policy_id = $1 AND revoked_at IS NULL LIMIT 1', [
    policyId,
  ]);
  return rows.length > 0;
}

/** The names of live keys whose shadow a policy is, in the order of their ids. */
export async function keysShadowedBy(db: Queries, policyId: string, limit: number): Promise<string[]> {
  const rows = await db.all<{ name: string }>(
    'SELECT name FROM keys WHERE shadow_policy_id = $1 AND revoked_at IS NULL ORDER BY id LIMIT $2',
    [policyId, limit],
  );
  return rows.map(row => row.name);
}

/** What a check must know about a key: whether it is valid, and the current versions of its policies. */
export interface KeyFacts {
  id: string;
  name: string;
  notifyEncrypted: string | null;
  expiresAt: number | null;
  revokedAt: number | null;
  policyId: string;
  policyVersion: number;
  /** 1: clients that know tasks get one for a call that waits. */
  tasks: number;
  /** 1: people at their client are sent to the approval's page. */
  approveHere: number;
  /** Both are null if it has no shadow. */
  shadowPolicyId: string | null;
  shadowPolicyVersion: number | null;
}

export function keyFacts(db: Queries, ids: readonly string[]): Promise<KeyFacts[]> {
  const wanted = padded(ids);
  return db.all(
    `SELECT k.id, k.name, k.notify_sealed AS "notifyEncrypted", k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt",
            k.tasks, k.approve_here AS "approveHere", p.id AS "policyId", p.version AS "policyVersion", s.id AS "shadowPolicyId", s.version AS "shadowPolicyVersion"
     FROM keys k JOIN policies p ON p.id = k.policy_id
       LEFT JOIN policies s ON s.id = k.shadow_policy_id AND s.deleted_at IS NULL
     WHERE k.id IN (${placeholders(wanted.length)})`,
    wanted,
  );
}
