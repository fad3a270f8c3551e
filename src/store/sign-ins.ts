// Sign-ins of operators, failed attempts, and the pages to which people return after signing in. Of the values in
// cookies and links, only the SHA-256 is stored.

import { placeholders, type Queries } from './engine/db.ts';
import { type Role, type WithGroupNames, withGroups } from './operators.ts';

export interface SignInRecord {
  id: string;
  operatorId: string;
  createdAt: number;
  usedAt: number;
  userAgent: string;
  /** The client's IPv4 address, or the /64 of its IPv6 address. */
  ip: string;
}

interface SignInWithOperator extends SignInRecord {
  email: string;
  role: Role;
  groups: string[];
}

const COLUMNS = `sign_ins.id, operator_id AS "operatorId", sign_ins.created_at AS "createdAt", used_at AS "usedAt",
  user_agent AS "userAgent", ip`;

export async function insertSignIn(db: Queries, signIn: SignInRecord, hash: string): Promise<void> {
  await db.run(
    `INSERT INTO sign_ins (id, operator_id, hash, created_at, used_at, user_agent, ip)
     VALUES (${placeholders(7)})`,
    [signIn.id, signIn.operatorId, hash, signIn.createdAt, signIn.usedAt, signIn.userAgent, signIn.ip],
  );
}

export async function findSignIn(db: Queries, hash: string): Promise<SignInWithOperator | null> {
  const [row] = await db.all<WithGroupNames<SignInWithOperator>>(
    `SELECT ${COLUMNS}, email, role, group_names AS "groupNames"
     FROM sign_ins JOIN operators ON operators.id = sign_ins.operator_id WHERE hash = $1`,
    [hash],
  );
  return row === undefined ? null : withGroups(row);
}

/** The role of the operator whose sign-in it is; null if the sign-in has ended. */
export async function signInRole(
  db: Queries,
  id: string,
  alive: { usedAfter: number; createdAfter: number },
): Promise<Role | null> {
  const [row] = await db.all<{ role: Role }>(
    `SELECT role FROM sign_ins JOIN operators ON operators.id = sign_ins.operator_id
     WHERE sign_ins.id = $1 AND used_at > $2 AND sign_ins.created_at > $3`,
    [id, alive.usedAfter, alive.createdAfter],
  );
  return row?.role ?? null;
}

/** Whether a sign-in with this id was used after one time and begun after another. */
export async function signInAlive(
  db: Queries,
  id: string,
  alive: { usedAfter: number; createdAfter: number },
): Promise<boolean> {
  const rows = await db.all('SELECT id FROM sign_ins WHERE id = $1 AND used_at > $2 AND created_at > $3', [
    id,
    alive.usedAfter,
    alive.createdAfter,
  ]);
  return rows.length > 0;
}

/** The operator's sign-ins that were used after one time and begun after another. */
export async function listSignIns(
  db: Queries,
  operatorId: string,
  alive: { usedAfter: number; createdAfter: number },
  limit: number,
  before: string,
): Promise<SignInRecord[]> {
  return db.all<SignInRecord>(
    `SELECT ${COLUMNS} FROM sign_ins
     WHERE operator_id = $1 AND used_at > $2 AND created_at > $3 AND id < $4 ORDER BY id DESC LIMIT $5`,
    [operatorId, alive.usedAfter, alive.createdAfter, before, limit],
  );
}

export async function touchSignIn(db: Queries, id: string, now: number): Promise<void> {
  await db.run('UPDATE sign_ins SET used_at = $2 WHERE id = $1 AND used_at < $2', [id, now]);
}

export async function removeSignIn(db: Queries, hash: string): Promise<void> {
  await db.run('DELETE FROM sign_ins WHERE hash = $1', [hash]);
}

/** Removes all sign-ins of an operator, or all but one. */
export async function removeSignIns(db: Queries, operatorId: string, but: string | null): Promise<void> {
  await db.run('DELETE FROM sign_ins WHERE operator_id = $1 AND id <> $2', [operatorId, but ?? '']);
}

export async function removeIdleSignIns(db: Queries, usedBefore: number): Promise<void> {
  await db.run('DELETE FROM sign_ins WHERE used_at <= $1', [usedBefore]);
}

export interface SignInFailure {
  account: string;
  at: number;
}

/** The failed attempts from an address since a time, the latest first. */
export async function recentFailures(
  db: Queries,
  ip: string,
  since: number,
  limit: number,
): Promise<SignInFailure[]> {
  return db.all<SignInFailure>(
    'SELECT account, at FROM sign_in_failures WHERE ip = $1 AND at > $2 ORDER BY at DESC LIMIT $3',
    [ip, since, limit],
  );
}

export async function insertFailure(
  db: Queries,
  failure: SignInFailure & { id: string; ip: string },
): Promise<void> {
  await db.run('INSERT INTO sign_in_failures (id, account, ip, at) VALUES ($1, $2, $3, $4)', [
    failure.id,
    failure.account,
    failure.ip,
    failure.at,
  ]);
}

export async function removeFailures(db: Queries, account: string, ip: string): Promise<void> {
  await db.run('DELETE FROM sign_in_failures WHERE ip = $1 AND account = $2', [ip, account]);
}

export async function removeAccountFailures(db: Queries, account: string): Promise<void> {
  await db.run('DELETE FROM sign_in_failures WHERE account = $1', [account]);
}

export async function removeOldFailures(db: Queries, before: number): Promise<void> {
  await db.run('DELETE FROM sign_in_failures WHERE at <= $1', [before]);
}

export async function insertReturnTarget(
  db: Queries,
  target: { hash: string; targetEncrypted: string; expiresAt: number },
): Promise<void> {
  await db.run('INSERT INTO return_targets (hash, target_sealed, expires_at) VALUES ($1, $2, $3)', [
    target.hash,
    target.targetEncrypted,
    target.expiresAt,
  ]);
}

/** Removes and returns a target; null when it does not exist (any more) or has expired. */
export async function takeReturnTarget(db: Queries, hash: string, now: number): Promise<string | null> {
  const [row] = await db.all<{ targetEncrypted: string }>(
    `DELETE FROM return_targets WHERE hash = $1 AND expires_at > $2 RETURNING target_sealed AS "targetEncrypted"`,
    [hash, now],
  );
  return row?.targetEncrypted ?? null;
}

/** A target that stays where it is; null as above. */
export async function findReturnTarget(db: Queries, hash: string, now: number): Promise<string | null> {
  const [row] = await db.all<{ targetEncrypted: string }>(
    `SELECT target_sealed AS "targetEncrypted" FROM return_targets WHERE hash = $1 AND expires_at > $2`,
    [hash, now],
  );
  return row?.targetEncrypted ?? null;
}

export async function removeOldReturnTargets(db: Queries, now: number): Promise<void> {
  await db.run('DELETE FROM return_targets WHERE expires_at <= $1', [now]);
}
