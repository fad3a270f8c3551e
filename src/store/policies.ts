// Policies and their versions. A version never changes once it is written; the policy's row names the current one.

import type { Limits, Policy, Rule } from '../core/policy/policy.ts';
import type { ResultEntry } from '../core/policy/result-fields.ts';
import { RULE_FIELDS } from '../core/policy/rule-fields.ts';
import type { Queries } from './engine/db.ts';

export interface PolicyRecord {
  id: string;
  name: string;
  description: string;
  version: number;
  createdAt: number;
  updatedAt: number;
}

export interface PolicyVersion {
  version: number;
  name: string;
  rules: readonly Rule[];
  limits: Limits;
  results: readonly ResultEntry[];
  /** The text that it was written in; null if it was saved without one. */
  text: string | null;
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
    `INSERT INTO policy_versions (policy_id, version, name, rules, source, created_at, created_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [
      policyId,
      version.version,
      version.name,
      rulesColumn(version),
      version.text,
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

/**
 * The rules as they are stored. A policy that uses conditions, hours, limits or questions is not stored as a list: a
 * replica of an older program, which knows only lists, then cannot read it and gives no verdict by it, where it would
 * otherwise take a rule with a condition for one that always applies. For the same reason a policy that names approvers
 * has a form of its own, and so has one that wants proof of approvals: a replica that does not know them would let anybody
 * answer, or without proof. So has one whose rules mark runs or make values known, which such a replica would not do, and one
 * that guards results, which such a replica would pass on as they are. A condition that reads marks needs no form: whoever
 * does not know the variable cannot compile it.
 */
function rulesColumn({ rules, limits, results }: Written): string {
  if (results.length > 0) return JSON.stringify({ guarding: { rules, limits, results } });
  if (rules.some(rule => rule.marks !== undefined || rule.known !== undefined))
    return JSON.stringify({ flowing: { rules, limits } });
  if (rules.some(rule => rule.approvers?.proof !== undefined))
    return JSON.stringify({ proven: { rules, limits } });
  if (rules.some(rule => rule.approvers !== undefined)) return JSON.stringify({ voted: { rules, limits } });
  const isPlain = Object.keys(limits).length === 0 && rules.every(isReadByOld);
  return JSON.stringify(isPlain ? rules : { rules, limits });
}

/** The name of a rule may be unknown to an older program: it decides nothing. */
function isReadByOld(rule: Rule): boolean {
  return RULE_FIELDS.every(field => READ_BY_OLD.has(field) || rule[field] === undefined);
}
const READ_BY_OLD: ReadonlySet<keyof Rule> = new Set<keyof Rule>(['name', 'tool', 'action', 'reason']);

type Written = Pick<PolicyVersion, 'rules' | 'limits' | 'results'>;

interface StoredRules {
  rules: Rule[];
  limits: Limits;
  results?: ResultEntry[];
}

/** What policies are stored under that only newer programs may read. */
type Form = 'voted' | 'proven' | 'flowing' | 'guarding';

/** Throws if the column is damaged. */
export function readRulesColumn(column: string): Written {
  const read: Rule[] | StoredRules | { [F in Form]?: StoredRules } = JSON.parse(column);
  if (Array.isArray(read)) return { rules: read, limits: {}, results: [] };
  const {
    rules,
    limits,
    results = [],
  } = 'rules' in read ? read : ((read.guarding ?? read.flowing ?? read.proven ?? read.voted) as StoredRules);
  return { rules, limits, results };
}

interface VersionRow extends Omit<PolicyVersion, keyof Written> {
  rules: string;
}

export async function listPolicyVersions(
  db: Queries,
  id: string,
  limit: number,
  before: number,
): Promise<PolicyVersion[]> {
  const rows = await db.all<VersionRow>(
    `SELECT version, name, rules, source AS text, created_at AS "createdAt", created_by AS "createdBy" FROM policy_versions
     WHERE policy_id = $1 AND version < $2 ORDER BY version DESC LIMIT $3`,
    [id, before, limit],
  );
  return rows.map(row => ({ ...row, ...readRulesColumn(row.rules) }));
}

/** Policies in force whose rules may name channels. */
export async function policiesWithChannels(
  db: Queries,
  limit: number,
): Promise<{ id: string; name: string; rules: string }[]> {
  return db.all(
    `SELECT p.id, p.name, v.rules FROM policies p
     JOIN policy_versions v ON v.policy_id = p.id AND v.version = p.version
     WHERE p.deleted_at IS NULL AND v.rules LIKE '%"notify":%' ORDER BY p.id LIMIT $1`,
    [limit],
  );
}

/** One version of a policy, ready for decisions. */
export async function findPolicyVersion(db: Queries, id: string, version: number): Promise<Policy | null> {
  const row = await policyVersionRules(db, id, version);
  return row === null ? null : { id, version, name: row.name, ...readRulesColumn(row.rules) };
}

/** The rules of one version as they are stored, even if they cannot be parsed. */
export async function policyVersionRules(
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
