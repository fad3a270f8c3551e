// Connections of MCP clients of the older era: rows, so that any replica serves them and a restart loses none.

import type { Queries } from './db.ts';

export interface ConnectionRecord {
  id: string;
  keyId: string;
  sessionId: string | null;
  protocolVersion: string;
  logLevel: string | null;
}

export async function insertConnection(
  db: Queries,
  connection: ConnectionRecord,
  now: number,
): Promise<void> {
  await db.run(
    `INSERT INTO connections (id, key_id, session_id, protocol_version, log_level, created_at, used_at)
     VALUES ($1, $2, $3, $4, $5, $6, $6)`,
    [
      connection.id,
      connection.keyId,
      connection.sessionId,
      connection.protocolVersion,
      connection.logLevel,
      now,
    ],
  );
}

/** A connection that was not ended and was used after `since`. */
export async function findConnection(
  db: Queries,
  id: string,
  since: number,
): Promise<ConnectionRecord | null> {
  const rows = await db.all<ConnectionRecord>(
    `SELECT id, key_id AS "keyId", session_id AS "sessionId", protocol_version AS "protocolVersion",
       log_level AS "logLevel" FROM connections WHERE id = $1 AND ended_at IS NULL AND used_at > $2`,
    [id, since],
  );
  return rows[0] ?? null;
}

export async function touchConnection(db: Queries, id: string, now: number): Promise<void> {
  await db.run('UPDATE connections SET used_at = $2 WHERE id = $1', [id, now]);
}

export async function setConnectionLevel(db: Queries, id: string, level: string): Promise<void> {
  await db.run('UPDATE connections SET log_level = $2 WHERE id = $1', [id, level]);
}

export async function endConnection(db: Queries, id: string, now: number): Promise<void> {
  await db.run('UPDATE connections SET ended_at = $2 WHERE id = $1', [id, now]);
}
