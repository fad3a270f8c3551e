// What our authorization server keeps: the clients that an admin registers, codes, and the tokens of sessions. Of codes
// and tokens only the SHA-256 is stored.

import { placeholders, type Queries, type Transaction } from './engine/db.ts';

export interface OAuthClientRecord {
  id: string;
  name: string;
  redirectUris: string[];
  createdAt: number;
}

type ClientRow = Omit<OAuthClientRecord, 'redirectUris'> & { redirectUris: string };

const CLIENT = `id, name, redirect_uris AS "redirectUris", created_at AS "createdAt"`;
const clientOf = (row: ClientRow): OAuthClientRecord => ({
  ...row,
  redirectUris: JSON.parse(row.redirectUris),
});

export async function insertOAuthClient(db: Queries, client: OAuthClientRecord): Promise<void> {
  await db.run('INSERT INTO oauth_clients (id, name, redirect_uris, created_at) VALUES ($1, $2, $3, $4)', [
    client.id,
    client.name,
    JSON.stringify(client.redirectUris),
    client.createdAt,
  ]);
}

export async function findOAuthClient(db: Queries, id: string): Promise<OAuthClientRecord | null> {
  const [row] = await db.all<ClientRow>(`SELECT ${CLIENT} FROM oauth_clients WHERE id = $1`, [id]);
  return row === undefined ? null : clientOf(row);
}

/** Newest first; `before` is the last id of the previous page. */
export async function listOAuthClients(
  db: Queries,
  limit: number,
  before: string,
): Promise<OAuthClientRecord[]> {
  const rows = await db.all<ClientRow>(
    `SELECT ${CLIENT} FROM oauth_clients WHERE id < $1 ORDER BY id DESC LIMIT $2`,
    [before, limit],
  );
  return rows.map(clientOf);
}

export async function deleteOAuthClient(db: Queries, id: string): Promise<boolean> {
  return (await db.run('DELETE FROM oauth_clients WHERE id = $1', [id])) === 1;
}

export interface CodeRecord {
  clientId: string;
  clientName: string;
  redirectUri: string;
  personId: string;
  keyId: string;
  /** The S256 challenge of PKCE. */
  challenge: string;
  expiresAt: number;
  /** The session that the code was exchanged for; null until it is used. */
  sessionId: string | null;
}

export async function insertCode(db: Queries, code: CodeRecord, hash: string): Promise<void> {
  await db.run(
    `INSERT INTO oauth_codes (hash, client_id, client_name, redirect_uri, person_id, key_id, challenge, expires_at)
     VALUES (${placeholders(8)})`,
    [
      hash,
      code.clientId,
      code.clientName,
      code.redirectUri,
      code.personId,
      code.keyId,
      code.challenge,
      code.expiresAt,
    ],
  );
}

export async function findCode(db: Queries, hash: string): Promise<CodeRecord | null> {
  const [row] = await db.all<CodeRecord>(
    `SELECT client_id AS "clientId", client_name AS "clientName", redirect_uri AS "redirectUri",
       person_id AS "personId", key_id AS "keyId", challenge, expires_at AS "expiresAt", session_id AS "sessionId"
     FROM oauth_codes WHERE hash = $1`,
    [hash],
  );
  return row ?? null;
}

/** Notes the session that a code is exchanged for. False if the code was used before. */
export async function useCode(tx: Transaction, hash: string, sessionId: string): Promise<boolean> {
  const sql = 'UPDATE oauth_codes SET session_id = $2 WHERE hash = $1 AND session_id IS NULL';
  return (await tx.run(sql, [hash, sessionId])) === 1;
}

/** Removes the person's codes that were not used. */
export async function removeCodesOf(tx: Transaction, personId: string): Promise<void> {
  await tx.run('DELETE FROM oauth_codes WHERE person_id = $1 AND session_id IS NULL', [personId]);
}

/** Removes the codes for a key that were not used. */
export async function removeCodesFor(tx: Transaction, keyId: string): Promise<void> {
  await tx.run('DELETE FROM oauth_codes WHERE key_id = $1 AND session_id IS NULL', [keyId]);
}

export async function removeOldCodes(db: Queries, before: number): Promise<void> {
  await db.run('DELETE FROM oauth_codes WHERE expires_at <= $1', [before]);
}

export interface TokenRecord {
  sessionId: string;
  kind: 'access' | 'refresh';
  createdAt: number;
  expiresAt: number;
}

/** A token that is there already stays as it is: two replicas may derive the same successor at the same time. */
export async function insertOAuthToken(tx: Transaction, token: TokenRecord, hash: string): Promise<void> {
  await tx.run(
    `INSERT INTO oauth_tokens (hash, session_id, kind, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (hash) DO NOTHING`,
    [hash, token.sessionId, token.kind, token.createdAt, token.expiresAt],
  );
}

/** The session of an access token and when the token ends; null if there is no such token. */
export async function findAccess(
  db: Queries,
  hash: string,
): Promise<{ sessionId: string; expiresAt: number } | null> {
  const [row] = await db.all<{ sessionId: string; expiresAt: number }>(
    `SELECT session_id AS "sessionId", expires_at AS "expiresAt" FROM oauth_tokens
     WHERE hash = $1 AND kind = 'access'`,
    [hash],
  );
  return row ?? null;
}

export async function findOAuthToken(
  db: Queries,
  hash: string,
): Promise<(TokenRecord & { replacedAt: number | null }) | null> {
  const [row] = await db.all<TokenRecord & { replacedAt: number | null }>(
    `SELECT session_id AS "sessionId", kind, created_at AS "createdAt", expires_at AS "expiresAt",
       replaced_at AS "replacedAt" FROM oauth_tokens WHERE hash = $1`,
    [hash],
  );
  return row ?? null;
}

/** Notes the first use of a refresh token. False if it was used before. */
export async function replaceOAuthToken(tx: Transaction, hash: string, now: number): Promise<boolean> {
  const sql = 'UPDATE oauth_tokens SET replaced_at = $2 WHERE hash = $1 AND replaced_at IS NULL';
  return (await tx.run(sql, [hash, now])) === 1;
}

/** Removes some of the tokens that have ended, and returns how many. */
export function removeOldTokens(db: Queries, now: number, limit: number): Promise<number> {
  return db.run(
    'DELETE FROM oauth_tokens WHERE hash IN (SELECT hash FROM oauth_tokens WHERE expires_at <= $1 LIMIT $2)',
    [now, limit],
  );
}

export async function touchConnection(tx: Transaction, sessionId: string, now: number): Promise<void> {
  await tx.run('UPDATE sessions SET used_at = $2 WHERE id = $1', [sessionId, now]);
}

/** Ids of a person's active connections except the most recently used ones. */
export async function leastUsedConnections(
  db: Queries,
  personId: string,
  now: number,
  kept: number,
): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `SELECT id FROM sessions WHERE person_id = $1 AND prefix = 'tg_oat_' AND revoked_at IS NULL
       AND expires_at > $2 ORDER BY used_at DESC, id DESC LIMIT 100 OFFSET $3`,
    [personId, now, kept],
  );
  return rows.map(row => row.id);
}

export async function activeSessionsOfClient(
  db: Queries,
  clientId: string,
  now: number,
  limit: number,
): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `SELECT id FROM sessions WHERE client_id = $1 AND prefix = 'tg_oat_' AND revoked_at IS NULL AND expires_at > $2
     LIMIT $3`,
    [clientId, now, limit],
  );
  return rows.map(row => row.id);
}
