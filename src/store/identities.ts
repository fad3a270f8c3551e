// Accounts at a single sign-on provider and the operators they stand for; operators who were removed, so that
// nobody comes back unasked; and sign-ons under way. The values that a browser holds are never here, only
// their SHA-256.

import type { Queries } from './db.ts';

/** An account, as its provider names it. */
export interface Account {
  issuer: string;
  subject: string;
}

export interface Identity extends Account {
  operatorId: string;
  /** Whether the provider's claims decide the operator's role. */
  decidesRole: boolean;
}

export async function insertIdentity(db: Queries, identity: Identity, now: number): Promise<void> {
  await db.run(
    'INSERT INTO identities (issuer, subject, operator_id, decides_role, created_at) VALUES ($1, $2, $3, $4, $5)',
    [identity.issuer, identity.subject, identity.operatorId, identity.decidesRole ? 1 : 0, now],
  );
}

export async function findIdentity(db: Queries, { issuer, subject }: Account): Promise<Identity | null> {
  const [row] = await db.all<{ operatorId: string; decidesRole: number }>(
    `SELECT operator_id AS "operatorId", decides_role AS "decidesRole" FROM identities
     WHERE issuer = $1 AND subject = $2`,
    [issuer, subject],
  );
  if (row === undefined) return null;
  return { issuer, subject, operatorId: row.operatorId, decidesRole: row.decidesRole === 1 };
}

/** Whether an operator has an account at this provider already. */
export async function hasIdentity(db: Queries, operatorId: string, issuer: string): Promise<boolean> {
  const sql = 'SELECT subject FROM identities WHERE operator_id = $1 AND issuer = $2 LIMIT 1';
  return (await db.all(sql, [operatorId, issuer])).length > 0;
}

/** None of the operator's accounts leads to them any more. */
export async function removeIdentities(db: Queries, operatorId: string): Promise<void> {
  await db.run('DELETE FROM identities WHERE operator_id = $1', [operatorId]);
}

/** From now on the role is what is set here. */
export async function endRoleByClaim(db: Queries, operatorId: string): Promise<void> {
  await db.run('UPDATE identities SET decides_role = 0 WHERE operator_id = $1', [operatorId]);
}

export async function markRemoved(
  db: Queries,
  { id, email }: { id: string; email: string },
  now: number,
): Promise<void> {
  await db.run(
    `INSERT INTO removed_operators (email, operator_id, removed_at) VALUES ($1, $2, $3)
     ON CONFLICT (email) DO UPDATE SET operator_id = excluded.operator_id, removed_at = excluded.removed_at`,
    [email, id, now],
  );
}

export async function wasRemoved(db: Queries, email: string): Promise<boolean> {
  return (await db.all('SELECT email FROM removed_operators WHERE email = $1', [email])).length > 0;
}

/** Whoever is invited may come back, with the accounts they had. */
export async function endRemoval(db: Queries, email: string): Promise<void> {
  await db.run(
    'DELETE FROM identities WHERE operator_id IN (SELECT operator_id FROM removed_operators WHERE email = $1)',
    [email],
  );
  await db.run('DELETE FROM removed_operators WHERE email = $1', [email]);
}

interface SignOnRecord {
  hash: string;
  browserHash: string;
  stateEncrypted: string;
  expiresAt: number;
}

export async function insertSignOn(db: Queries, signOn: SignOnRecord): Promise<void> {
  await db.run(
    'INSERT INTO sign_ons (hash, browser_hash, state_sealed, expires_at) VALUES ($1, $2, $3, $4)',
    [signOn.hash, signOn.browserHash, signOn.stateEncrypted, signOn.expiresAt],
  );
}

/** Takes a sign-on out, for the browser that began it; null when there is none (any more). */
export async function takeSignOn(
  db: Queries,
  hash: string,
  browserHash: string,
  now: number,
): Promise<string | null> {
  const [row] = await db.all<{ stateEncrypted: string }>(
    `DELETE FROM sign_ons WHERE hash = $1 AND browser_hash = $2 AND expires_at > $3
     RETURNING state_sealed AS "stateEncrypted"`,
    [hash, browserHash, now],
  );
  return row?.stateEncrypted ?? null;
}

export async function removeOldSignOns(db: Queries, now: number): Promise<void> {
  await db.run('DELETE FROM sign_ons WHERE expires_at <= $1', [now]);
}
