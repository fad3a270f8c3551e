// What our authorization server keeps: the clients that an admin registers, codes, and the tokens of sessions. Of codes
// and tokens only the SHA-256 is stored.

import type { Queries } from './db.ts';

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
