// Stores the accounts that operators have at single sign-on providers, the operators who were removed and must not come
// back without an invitation, and sign-ons in progress. Of the values that a browser holds, only the SHA-256 is stored.

import type { Queries } from './engine/db.ts';

/** An account is identified by its provider and by the id that the provider gives it. */
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

/** Records that somebody signed in with this account. */
export async function noteSignOn(db: Queries, { issuer, subject }: Account, now: number): Promise<void> {
  const sql = 'UPDATE identities SET signed_on_at = $3 WHERE issuer = $1 AND subject = $2';
  await db.run(sql, [issuer, subject, now]);
}

/**
 * A condition in SQL: somebody can sign in with this account. It holds if single sign-on is configured, and the account
 * either is one of the configured provider or was used to sign in before. An account of another provider that is only
 * known from company tokens does not qualify. `issuer` is the parameter with the configured provider, or with an empty
 * text.
 */
export const SIGNS_ON = (issuer: string): string =>
  `${issuer} <> '' AND (signed_on_at IS NOT NULL OR rtrim(identities.issuer, '/') = rtrim(${issuer}, '/'))`;

/** When an operator last signed in with an account, and whether its claims decide their role; null if they have none. */
export async function lastSignOn(
  db: Queries,
  operatorId: string,
  signOnIssuer: string | null,
): Promise<{ at: number; decidesRole: boolean } | null> {
  const [row] = await db.all<{ at: number | null; decidesRole: number | null }>(
    `SELECT max(coalesce(signed_on_at, created_at)) AS at, max(decides_role) AS "decidesRole" FROM identities
     WHERE operator_id = $1 AND ${SIGNS_ON('$2')}`,
    [operatorId, signOnIssuer ?? ''],
  );
  return row?.at == null ? null : { at: row.at, decidesRole: row.decidesRole === 1 };
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

/** Whether an operator already has an account at this provider. */
export async function hasIdentity(db: Queries, operatorId: string, issuer: string): Promise<boolean> {
  const sql = 'SELECT subject FROM identities WHERE operator_id = $1 AND issuer = $2 LIMIT 1';
  return (await db.all(sql, [operatorId, issuer])).length > 0;
}

/** Whether a provider's claims decide the operator's role. */
export async function providerDecides(db: Queries, operatorId: string): Promise<boolean> {
  const sql = 'SELECT subject FROM identities WHERE operator_id = $1 AND decides_role = 1 LIMIT 1';
  return (await db.all(sql, [operatorId])).length > 0;
}

/** Disconnects all accounts from the operator. */
export async function removeIdentities(db: Queries, operatorId: string): Promise<void> {
  await db.run('DELETE FROM identities WHERE operator_id = $1', [operatorId]);
}

/** From now on the operator's role is set in Toolgate and not by the provider's claims. */
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

/** Lets an invited person come back: the accounts that they had are removed, so that they can be linked again. */
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

/** Removes and returns a sign-on for the browser that began it; null when it does not exist (any more). */
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
