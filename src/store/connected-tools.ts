// Connected Tools: the tool servers of a key. One either carries its own definition or names a tool server that several
// keys share; whoever reads it sees the server's fields either way. Headers that contain credentials are stored encrypted.

import { placeholders, type Queries, type Transaction } from './engine/db.ts';
import { removeKept, type ToolSource } from './tool-servers.ts';

export interface ConnectedTool extends ToolSource {
  keyId: string;
}

/** What a Connected Tool that names a tool server has in place of a transport; whoever reads it sees the server's. */
const SHARED = 'shared';

const COLUMNS = `t.id AS id, COALESCE(t.tool_server_id, t.id) AS "sourceId", t.tool_server_id AS "toolServerId",
  t.key_id AS "keyId", t.name AS name, COALESCE(s.transport, t.transport) AS transport, COALESCE(s.target, t.target) AS target,
  COALESCE(s.headers_sealed, t.headers_sealed) AS "headersEncrypted",
  COALESCE(s.oauth_sealed, t.oauth_sealed) AS "oauthEncrypted", COALESCE(s.oauth_as, t.oauth_as) AS "oauthAs",
  COALESCE(s.authorization_server, t.authorization_server) AS "authorizationServer",
  COALESCE(s.trust, t.trust) AS trust, t.created_at AS "createdAt",
  CASE WHEN s.id IS NULL THEN t.updated_at ELSE s.updated_at END AS "updatedAt"`;
const TOOLS = 'connected_tools t LEFT JOIN tool_servers s ON s.id = t.tool_server_id';

export async function insertConnectedTool(tx: Transaction, tool: ConnectedTool): Promise<void> {
  await tx.run(
    `INSERT INTO connected_tools (id, key_id, name, transport, target, headers_sealed, oauth_sealed, oauth_as, created_at,
       trust)
     VALUES (${placeholders(10)})`,
    [
      tool.id,
      tool.keyId,
      tool.name,
      tool.transport,
      tool.target,
      tool.headersEncrypted,
      tool.oauthEncrypted,
      tool.oauthAs,
      tool.createdAt,
      tool.trust,
    ],
  );
}

interface Link {
  id: string;
  keyId: string;
  name: string;
  toolServerId: string;
  createdAt: number;
}

/** A Connected Tool that names a tool server. */
export async function insertLink(tx: Transaction, link: Link): Promise<void> {
  await tx.run(
    `INSERT INTO connected_tools (id, key_id, name, transport, target, tool_server_id, created_at)
     VALUES ($1, $2, $3, '${SHARED}', '', $4, $5)`,
    [link.id, link.keyId, link.name, link.toolServerId, link.createdAt],
  );
}

export async function renameLink(tx: Transaction, id: string, name: string): Promise<void> {
  await tx.run('UPDATE connected_tools SET name = $2 WHERE id = $1', [id, name]);
}

/**
 * Turns a Connected Tool with its own definition into one that names a tool server. `updatedAt` is only for replicas of
 * the version before, which then close their connection.
 */
export async function turnIntoLink(
  tx: Transaction,
  id: string,
  toolServerId: string,
  updatedAt: number,
): Promise<void> {
  await tx.run(
    `UPDATE connected_tools SET tool_server_id = $2, updated_at = $3, transport = '${SHARED}', target = '',
       headers_sealed = NULL, oauth_sealed = NULL, oauth_as = NULL, authorization_server = NULL, trust = 'first'
     WHERE id = $1`,
    [id, toolServerId, updatedAt],
  );
}

/** For a Connected Tool with its own definition. */
export async function updateConnectedTool(tx: Transaction, tool: ConnectedTool): Promise<void> {
  await tx.run(
    `UPDATE connected_tools SET name = $2, target = $3, headers_sealed = $4, oauth_sealed = $5, oauth_as = $6,
       updated_at = $7, authorization_server = $8, trust = $9
     WHERE id = $1`,
    [
      tool.id,
      tool.name,
      tool.target,
      tool.headersEncrypted,
      tool.oauthEncrypted,
      tool.oauthAs,
      tool.updatedAt,
      tool.authorizationServer,
      tool.trust,
    ],
  );
}

export async function pinAuthorizationServer(
  tx: Transaction,
  { sourceId, toolServerId }: Pick<ToolSource, 'sourceId' | 'toolServerId'>,
  server: string,
): Promise<void> {
  const table = toolServerId === null ? 'connected_tools' : 'tool_servers';
  await tx.run(`UPDATE ${table} SET authorization_server = $2 WHERE id = $1`, [sourceId, server]);
}

/** Of one that names a tool server, nothing else is removed: the server stays as it is. */
export async function removeConnectedTool(
  tx: Transaction,
  { id, toolServerId }: Pick<ConnectedTool, 'id' | 'toolServerId'>,
): Promise<void> {
  if (toolServerId === null) await removeKept(tx, id);
  await tx.run('DELETE FROM connected_tools WHERE id = $1', [id]);
}

/** Sorted by name, which is the order in which their tools are listed. */
export function listConnectedTools(db: Queries, keyId: string): Promise<ConnectedTool[]> {
  return db.all(`SELECT ${COLUMNS} FROM ${TOOLS} WHERE t.key_id = $1 ORDER BY t.name`, [keyId]);
}

export async function findConnectedTool(
  db: Queries,
  keyId: string,
  id: string,
): Promise<ConnectedTool | null> {
  const rows = await db.all<ConnectedTool>(
    `SELECT ${COLUMNS} FROM ${TOOLS} WHERE t.key_id = $1 AND t.id = $2`,
    [keyId, id],
  );
  return rows[0] ?? null;
}

/** A tool of any key. */
export async function findTool(db: Queries, id: string): Promise<ConnectedTool | null> {
  const rows = await db.all<ConnectedTool>(`SELECT ${COLUMNS} FROM ${TOOLS} WHERE t.id = $1`, [id]);
  return rows[0] ?? null;
}

/**
 * The tools of all keys that are not revoked, with the names of the keys. Of those that name the same tool server, the one
 * with the first id stands for all.
 */
export function listToolsInUse(db: Queries, limit: number): Promise<(ConnectedTool & { keyName: string })[]> {
  return db.all(
    `SELECT ${COLUMNS}, k.name AS "keyName" FROM ${TOOLS} JOIN keys k ON k.id = t.key_id
     WHERE k.revoked_at IS NULL AND (t.tool_server_id IS NULL OR NOT EXISTS (
       SELECT 1 FROM connected_tools o JOIN keys ok ON ok.id = o.key_id
       WHERE o.tool_server_id = t.tool_server_id AND o.id < t.id AND ok.revoked_at IS NULL))
     ORDER BY t.name, t.id LIMIT $1`,
    [limit],
  );
}

/** The tools of all keys that people sign in to for themselves. */
export function listPersonalTools(db: Queries): Promise<ConnectedTool[]> {
  return db.all(
    `SELECT ${COLUMNS} FROM ${TOOLS} WHERE t.oauth_as = 'person'
     UNION ALL
     SELECT ${COLUMNS} FROM tool_servers s JOIN connected_tools t ON t.tool_server_id = s.id WHERE s.oauth_as = 'person'
     ORDER BY name, id`,
  );
}
