// MCP sessions, for clients of the protocol's older era. They are rows (in the table `connections`), so that any
// replica can serve them and a restart loses none.

import type { Queries, Transaction } from './engine/db.ts';

export interface McpSessionRecord {
  id: string;
  keyId: string;
  sessionId: string | null;
  protocolVersion: string;
  logLevel: string | null;
  /** 1 if the client can send its user to an address (URL elicitation). */
  elicitsUrl?: number;
}

export function insertMcpSession(
  tx: Pick<Transaction, 'defer'>,
  mcpSession: McpSessionRecord,
  now: number,
): void {
  tx.defer(
    `INSERT INTO connections (id, key_id, session_id, protocol_version, log_level, created_at, used_at, elicits_url)
     VALUES ($1, $2, $3, $4, $5, $6, $6, $7)`,
    [
      mcpSession.id,
      mcpSession.keyId,
      mcpSession.sessionId,
      mcpSession.protocolVersion,
      mcpSession.logLevel,
      now,
      mcpSession.elicitsUrl ?? 0,
    ],
  );
}

/** Removes the MCP sessions of one credential except the most recently used ones. */
export function removeLeastUsed(
  tx: Pick<Transaction, 'defer'>,
  { keyId, sessionId }: Pick<McpSessionRecord, 'keyId' | 'sessionId'>,
  kept: number,
): void {
  const session = sessionId === null ? 'session_id IS NULL' : 'session_id = $3';
  tx.defer(
    `DELETE FROM connections WHERE id IN (
       SELECT id FROM connections WHERE key_id = $1 AND ${session}
       ORDER BY used_at DESC, id DESC LIMIT 1000 OFFSET $2)`,
    [keyId, kept, ...(sessionId === null ? [] : [sessionId])],
  );
}

/** An MCP session that was not ended and was used after `since`, with the time of its last use. */
export async function findMcpSession(
  db: Queries,
  id: string,
  since: number,
): Promise<(McpSessionRecord & { usedAt: number }) | null> {
  const rows = await db.all<McpSessionRecord & { usedAt: number }>(
    `SELECT id, key_id AS "keyId", session_id AS "sessionId", protocol_version AS "protocolVersion",
       log_level AS "logLevel", used_at AS "usedAt", elicits_url AS "elicitsUrl"
     FROM connections WHERE id = $1 AND ended_at IS NULL AND used_at > $2`,
    [id, since],
  );
  return rows[0] ?? null;
}

export async function touchMcpSession(db: Queries, id: string, now: number): Promise<void> {
  await db.run('UPDATE connections SET used_at = $2 WHERE id = $1', [id, now]);
}

export async function setLogLevel(db: Queries, id: string, level: string): Promise<void> {
  await db.run('UPDATE connections SET log_level = $2 WHERE id = $1', [id, level]);
}

export async function removeMcpSession(db: Queries, id: string): Promise<void> {
  await db.run('DELETE FROM connections WHERE id = $1', [id]);
}
