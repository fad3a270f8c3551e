// Operators: the people who sign in, and their one-time links. Only hashes of passwords and links are stored. Callers
// give e-mail addresses in lower case. sign-ins.ts stores sign-ins.

import type { Queries } from './engine/db.ts';
import { SIGNS_ON } from './identities.ts';

/** From the highest to the lowest. */
export const ROLES = ['admin', 'approver', 'viewer', 'user'] as const;
export type Role = (typeof ROLES)[number];

export interface OperatorRecord {
  id: string;
  email: string;
  role: Role;
  createdAt: number;
}

/** An operator is `invited` until they choose a password, or come by single sign-on or with a company token. */
export const OPERATOR_STATUSES = ['active', 'invited'] as const;
type OperatorStatus = (typeof OPERATOR_STATUSES)[number];

export interface ListedOperator extends OperatorRecord {
  status: OperatorStatus;
  groups: string[];
}

/** A row that has an operator's groups as they are stored. */
export type WithGroupNames<T extends { groups: string[] }> = Omit<T, 'groups'> & { groupNames: string };

export function withGroups<T extends { groups: string[] }>({ groupNames, ...row }: WithGroupNames<T>): T {
  return { ...row, groups: JSON.parse(groupNames) } as unknown as T;
}

const IS_ACTIVE = `(password_hash IS NOT NULL
  OR EXISTS (SELECT 1 FROM identities WHERE identities.operator_id = operators.id)
  OR EXISTS (SELECT 1 FROM passkeys WHERE passkeys.operator_id = operators.id))`;
const COLUMNS = `id, email, role, created_at AS "createdAt", group_names AS "groupNames",
  CASE WHEN ${IS_ACTIVE} THEN 'active' ELSE 'invited' END AS status`;

export async function insertOperator(
  db: Queries,
  operator: OperatorRecord,
  passwordHash: string | null,
  email: 'verified' | 'unverified' = 'verified',
): Promise<void> {
  await db.run(
    `INSERT INTO operators (id, email, role, password_hash, created_at, email_unverified)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [
      operator.id,
      operator.email,
      operator.role,
      passwordHash,
      operator.createdAt,
      email === 'verified' ? null : 1,
    ],
  );
}

/** From now on the e-mail counts as the operator's own. */
export async function markVerified(db: Queries, id: string): Promise<void> {
  await db.run('UPDATE operators SET email_unverified = NULL WHERE id = $1 AND email_unverified = 1', [id]);
}

export async function anyOperator(db: Queries): Promise<boolean> {
  return (await db.all('SELECT id FROM operators LIMIT 1')).length > 0;
}

export async function findOperator(db: Queries, id: string): Promise<ListedOperator | null> {
  const [row] = await db.all<WithGroupNames<ListedOperator>>(
    `SELECT ${COLUMNS} FROM operators WHERE id = $1`,
    [id],
  );
  return row === undefined ? null : withGroups(row);
}

export async function listOperators(db: Queries, limit: number, before: string): Promise<ListedOperator[]> {
  const rows = await db.all<WithGroupNames<ListedOperator>>(
    `SELECT ${COLUMNS} FROM operators WHERE id < $1 ORDER BY id DESC LIMIT $2`,
    [before, limit],
  );
  return rows.map(row => withGroups(row));
}

/** Active operators who may approve and who are in a group. */
export async function listGroupMembers(db: Queries): Promise<{ email: string; groups: string[] }[]> {
  const rows = await db.all<WithGroupNames<{ email: string; groups: string[] }>>(
    `SELECT email, group_names AS "groupNames" FROM operators
     WHERE role IN ('admin', 'approver') AND group_names <> '[]' AND ${IS_ACTIVE}`,
  );
  return rows.map(row => withGroups(row));
}

/** What a sign-in is compared with. */
export interface OperatorCredential {
  id: string;
  email: string;
  role: Role;
  groups: string[];
  passwordHash: string | null;
}

export async function findOperatorCredential(db: Queries, email: string): Promise<OperatorCredential | null> {
  const [row] = await db.all<WithGroupNames<OperatorCredential>>(
    `SELECT id, email, role, group_names AS "groupNames", password_hash AS "passwordHash" FROM operators
     WHERE email = $1`,
    [email],
  );
  return row === undefined ? null : withGroups(row);
}

/** Passkeys do not sign in those whose role a provider decides. `issuer` is the parameter with the configured provider. */
const SIGNS_IN = (issuer: string): string => `(password_hash IS NOT NULL
  OR EXISTS (SELECT 1 FROM identities WHERE identities.operator_id = operators.id AND ${SIGNS_ON(issuer)})
  OR (EXISTS (SELECT 1 FROM passkeys WHERE passkeys.operator_id = operators.id)
    AND NOT EXISTS (SELECT 1 FROM identities WHERE identities.operator_id = operators.id AND decides_role = 1)))`;

/** Whether an operator can sign in here, if this is the provider of single sign-on. */
export async function canSignIn(db: Queries, id: string, signOnIssuer: string | null): Promise<boolean> {
  const sql = `SELECT id FROM operators WHERE id = $1 AND ${SIGNS_IN('$2')}`;
  return (await db.all(sql, [id, signOnIssuer ?? ''])).length > 0;
}

/** At most two of the admins who can sign in: enough to know whether one is the last. */
export async function someAdmins(db: Queries, signOnIssuer: string | null): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `SELECT id FROM operators WHERE role = 'admin' AND ${SIGNS_IN('$1')} LIMIT 2`,
    [signOnIssuer ?? ''],
  );
  return rows.map(({ id }) => id);
}

export async function updateOperatorRole(db: Queries, id: string, role: Role): Promise<void> {
  await db.run('UPDATE operators SET role = $2 WHERE id = $1', [id, role]);
}

export async function updateOperatorGroups(
  db: Queries,
  id: string,
  groups: readonly string[],
): Promise<void> {
  await db.run('UPDATE operators SET group_names = $2 WHERE id = $1', [id, JSON.stringify(groups)]);
}

/** Null means that no password is valid any more. */
export async function updateOperatorPassword(
  db: Queries,
  id: string,
  passwordHash: string | null,
): Promise<void> {
  await db.run('UPDATE operators SET password_hash = $2 WHERE id = $1', [id, passwordHash]);
}

export async function removeOperator(db: Queries, id: string): Promise<void> {
  await db.run('DELETE FROM operators WHERE id = $1', [id]);
}

export async function insertSetupLink(db: Queries, hash: string, now: number): Promise<void> {
  await db.run('INSERT INTO setup_links (hash, created_at) VALUES ($1, $2)', [hash, now]);
}

export async function setupLinkStands(db: Queries, hash: string): Promise<boolean> {
  return (await db.all('SELECT hash FROM setup_links WHERE hash = $1', [hash])).length === 1;
}

export async function removeSetupLinks(db: Queries): Promise<void> {
  await db.run('DELETE FROM setup_links');
}

/** Removes a link; false when it does not exist (any more). */
export async function takeSetupLink(db: Queries, hash: string): Promise<boolean> {
  return (await db.run('DELETE FROM setup_links WHERE hash = $1', [hash])) === 1;
}

interface Invitation {
  hash: string;
  operatorId: string;
  createdAt: number;
  expiresAt: number;
}

export async function insertInvitation(db: Queries, invitation: Invitation): Promise<void> {
  await db.run(
    'INSERT INTO invitations (hash, operator_id, created_at, expires_at) VALUES ($1, $2, $3, $4)',
    [invitation.hash, invitation.operatorId, invitation.createdAt, invitation.expiresAt],
  );
}

/** The operator who is invited by a link that has not expired, or null. */
export async function findInvited(db: Queries, hash: string, now: number): Promise<OperatorRecord | null> {
  const [row] = await db.all<OperatorRecord>(
    `SELECT operators.id, email, role, operators.created_at AS "createdAt"
     FROM invitations JOIN operators ON operators.id = invitations.operator_id
     WHERE hash = $1 AND expires_at > $2`,
    [hash, now],
  );
  return row ?? null;
}

export async function removeInvitations(db: Queries, operatorId: string): Promise<void> {
  await db.run('DELETE FROM invitations WHERE operator_id = $1', [operatorId]);
}
