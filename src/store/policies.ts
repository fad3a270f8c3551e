// Policies and their versions. A version never changes once it is written; the policy's row names the current one.

import type { Policy, Rule } from '../core/policy.ts';
import type { Queries } from './db.ts';

export interface PolicyRecord {
  id: string;
  name: string;
  description: string;
  version: number;
  createdAt: number;
  updatedAt: number;
}

interface PolicyVersion {
  version: number;
  name: string;
  rules: Rule[];
  createdAt: number;
  createdBy: string;
}

const COLUMNS = 'id, name, description, version, created_at AS "createdAt", updated_at AS "updatedAt"';

export async function insertPolicy(db: Queries, policy: PolicyRecord): Promise<void> {
  await db.run(
    'INSERT INTO policies (id, name, description, version, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)',
    [policy.id, policy.name, policy.description, policy.version, policy.createdAt, policy.updatedAt],
  );
}

export async function insertPolicyVersion(
  db: Queries,
  policyId: string,
  version: PolicyVersion,
): Promise<void> {
  await db.run(
    'INSERT INTO policy_versions (policy_id, version, name, rules, created_at, created_by) VALUES ($1, $2, $3, $4, $5, $6)',
    [
      policyId,
      version.version,
      version.name,
      JSON.stringify(version.rules),
      version.createdAt,
      version.createdBy,
    ],
  );
}

export async function updatePolicy(db: Queries, policy: PolicyRecord): Promise<void> {
  await db.run(
    'UPDATE policies SET name = $2, description = $3, version = $4, updated_at = $5 WHERE id = $1',
    [policy.id, policy.name, policy.description, policy.version, policy.updatedAt],
  );
}

export async function markPolicyDeleted(db: Queries, id: string, now: number): Promise<void> {
  await db.run('UPDATE policies SET deleted_at = $2 WHERE id = $1', [id, now]);
}

export async function findPolicy(db: Queries, id: string): Promise<PolicyRecord | null> {
  const rows = await db.all<PolicyRecord>(
    `SELECT ${COLUMNS} FROM policies WHERE id = $1 AND deleted_at IS NULL`,
    [id],
  );
  return rows[0] ?? null;
}

/** Newest first; `before` is the last id of the previous page. */
export function listPolicies(db: Queries, limit: number, before: string): Promise<PolicyRecord[]> {
  return db.all(
    `SELECT ${COLUMNS} FROM policies WHERE deleted_at IS NULL AND id < $1 ORDER BY id DESC LIMIT $2`,
    [before, limit],
  );
}

interface VersionRow extends Omit<PolicyVersion, 'rules'> {
  rules: string;
}

export async function listPolicyVersions(
  db: Queries,
  id: string,
  limit: number,
  before: number,
): Promise<PolicyVersion[]> {
  const rows = await db.all<VersionRow>(
    `SELECT version, name, rules, created_at AS "createdAt", created_by AS "createdBy" FROM policy_versions
     WHERE policy_id = $1 AND version < $2 ORDER BY version DESC LIMIT $3`,
    [id, before, limit],
  );
  return rows.map(row => ({ ...row, rules: JSON.parse(row.rules) }));
}

/** One version of a policy, ready for decisions. */
export async function findPolicyVersion(db: Queries, id: string, version: number): Promise<Policy | null> {
  const row = await policyVersionText(db, id, version);
  return row === null ? null : { id, version, name: row.name, rules: JSON.parse(row.rules) };
}

/** One version as it is stored, even if it cannot be parsed. */
export async function policyVersionText(
  db: Queries,
  id: string,
  version: number,
): Promise<{ name: string; rules: string } | null> {
  const [row] = await db.all<{ name: string; rules: string }>(
    'SELECT name, rules FROM policy_versions WHERE policy_id = $1 AND version = $2',
    [id, version],
  );
  return row ?? null;
}
