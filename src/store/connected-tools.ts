// Connected Tools: the MCP servers registered for a key. Headers that contain credentials are stored encrypted.

import { padded, placeholders, type Queries, type Transaction } from './engine/db.ts';
import { removeServerClients, removeToolSignIns } from './server-sign-ins.ts';

export const TRANSPORTS = ['http', 'sse', 'stdio'] as const;
export type TransportKind = (typeof TRANSPORTS)[number];

export interface ConnectedTool {
  id: string;
  keyId: string;
  name: string;
  transport: TransportKind;
  /** An address, or the name of a declared stdio server. */
  target: string;
  headersEncrypted: string | null;
  /** How we sign in to the server, encrypted; null if it wants no OAuth. */
  oauthEncrypted: string | null;
  /** For whom we sign in to the server; null if it wants no OAuth. */
  oauthAs: 'key' | 'person' | null;
  /** The authorization server of the first sign-in, as JSON; null if nobody has signed in, or it may be another. */
  authorizationServer: string | null;
  createdAt: number;
  /** When it was last changed; null if never. */
  updatedAt: number | null;
}

const COLUMNS = `id, key_id AS "keyId", name, transport, target, headers_sealed AS "headersEncrypted",
  oauth_sealed AS "oauthEncrypted", oauth_as AS "oauthAs", authorization_server AS "authorizationServer", created_at AS "createdAt", updated_at AS "updatedAt"`;

export async function insertConnectedTool(tx: Transaction, tool: ConnectedTool): Promise<void> {
  await tx.run(
    `INSERT INTO connected_tools (id, key_id, name, transport, target, headers_sealed, oauth_sealed, oauth_as, created_at)
     VALUES (${placeholders(9)})`,
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
    ],
  );
}

export async function updateConnectedTool(tx: Transaction, tool: ConnectedTool): Promise<void> {
  await tx.run(
    `UPDATE connected_tools SET name = $2, target = $3, headers_sealed = $4, oauth_sealed = $5, oauth_as = $6,
       updated_at = $7, authorization_server = $8
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
    ],
  );
}

export async function pinAuthorizationServer(tx: Transaction, id: string, server: string): Promise<void> {
  await tx.run('UPDATE connected_tools SET authorization_server = $2 WHERE id = $1', [id, server]);
}

export async function removeConnectedTool(tx: Transaction, id: string): Promise<void> {
  await tx.run('DELETE FROM tool_definitions WHERE connected_tool_id = $1', [id]);
  await removeToolSignIns(tx, id);
  await removeServerClients(tx, id);
  await tx.run('DELETE FROM connected_tools WHERE id = $1', [id]);
}

/** Sorted by name, which is the order in which their tools are listed. */
export function listConnectedTools(db: Queries, keyId: string): Promise<ConnectedTool[]> {
  return db.all(`SELECT ${COLUMNS} FROM connected_tools WHERE key_id = $1 ORDER BY name`, [keyId]);
}

export async function findConnectedTool(
  db: Queries,
  keyId: string,
  id: string,
): Promise<ConnectedTool | null> {
  const rows = await db.all<ConnectedTool>(
    `SELECT ${COLUMNS} FROM connected_tools WHERE key_id = $1 AND id = $2`,
    [keyId, id],
  );
  return rows[0] ?? null;
}

/** A tool of any key. */
export async function findTool(db: Queries, id: string): Promise<ConnectedTool | null> {
  const rows = await db.all<ConnectedTool>(`SELECT ${COLUMNS} FROM connected_tools WHERE id = $1`, [id]);
  return rows[0] ?? null;
}

/** The tools of all keys that are not revoked, with the names of the keys. */
export function listToolsInUse(db: Queries, limit: number): Promise<(ConnectedTool & { keyName: string })[]> {
  return db.all(
    `SELECT ${COLUMNS}, (SELECT keys.name FROM keys WHERE keys.id = key_id) AS "keyName" FROM connected_tools
     WHERE EXISTS (SELECT 1 FROM keys WHERE keys.id = key_id AND revoked_at IS NULL)
     ORDER BY name, id LIMIT $1`,
    [limit],
  );
}

/** The tools of all keys that people sign in to for themselves. */
export function listPersonalTools(db: Queries): Promise<ConnectedTool[]> {
  return db.all(`SELECT ${COLUMNS} FROM connected_tools WHERE oauth_as = 'person' ORDER BY name, id`);
}

interface ToolDefinition {
  connectedToolId: string;
  toolName: string;
  digest: string;
  definition: string;
  changedDigest: string | null;
  changedDefinition: string | null;
  changedAt: number | null;
  seenAt: number;
}

const DEFINITION = `connected_tool_id AS "connectedToolId", tool_name AS "toolName", digest, definition,
  changed_digest AS "changedDigest", changed_definition AS "changedDefinition", changed_at AS "changedAt",
  seen_at AS "seenAt"`;

export function listDefinitions(db: Queries, connectedToolId: string): Promise<ToolDefinition[]> {
  return db.all(
    `SELECT ${DEFINITION} FROM tool_definitions WHERE connected_tool_id = $1 ORDER BY seen_at, tool_name`,
    [connectedToolId],
  );
}

/** The digest of the definition that a tool has now, and whether it differs from the accepted one. */
export interface ShownDefinition {
  connectedToolId: string;
  toolName: string;
  digest: string;
  changedDigest: string | null;
}

export function shownDefinitions(
  db: Queries,
  connectedToolIds: readonly string[],
  toolNames: readonly string[],
): Promise<ShownDefinition[]> {
  const ids = padded(connectedToolIds);
  const names = padded(toolNames);
  return db.all(
    `SELECT connected_tool_id AS "connectedToolId", tool_name AS "toolName", digest, changed_digest AS "changedDigest"
     FROM tool_definitions WHERE connected_tool_id IN (${placeholders(ids.length)})
       AND tool_name IN (${placeholders(names.length, ids.length)})`,
    [...ids, ...names],
  );
}

/** The accepted definitions with their texts. */
export function acceptedDefinitions(
  db: Queries,
  connectedToolIds: readonly string[],
  toolNames: readonly string[],
): Promise<{ digest: string; definition: string }[]> {
  const ids = padded(connectedToolIds);
  const names = padded(toolNames);
  return db.all(
    `SELECT digest, definition FROM tool_definitions WHERE connected_tool_id IN (${placeholders(ids.length)})
       AND tool_name IN (${placeholders(names.length, ids.length)})`,
    [...ids, ...names],
  );
}

/** The accepted definition of a tool, with its text, and whether the tool has another one now. */
export async function findDefinition(
  db: Queries,
  { keyId, serverName, toolName }: { keyId: string; serverName: string; toolName: string },
): Promise<{ definition: string; drifted: boolean } | null> {
  const [row] = await db.all<{ definition: string; changedDigest: string | null }>(
    `SELECT definition, changed_digest AS "changedDigest" FROM tool_definitions
     JOIN connected_tools ON connected_tools.id = tool_definitions.connected_tool_id
     WHERE key_id = $1 AND name = $2 AND tool_name = $3`,
    [keyId, serverName, toolName],
  );
  return row === undefined ? null : { definition: row.definition, drifted: row.changedDigest !== null };
}

/** A pinned (accepted) definition without its text, which may be large. */
export interface Pin {
  toolName: string;
  digest: string;
  changedDigest: string | null;
  /** The number of characters of both definitions. */
  size: number;
}

export function listPins(db: Queries, connectedToolId: string): Promise<Pin[]> {
  return db.all(
    `SELECT tool_name AS "toolName", digest, changed_digest AS "changedDigest",
       length(definition) + length(COALESCE(changed_definition, '')) AS size
     FROM tool_definitions WHERE connected_tool_id = $1`,
    [connectedToolId],
  );
}

/** How many tools of each of these keys differ from their accepted definitions; keys without any are left out. */
export async function countDrifted(db: Queries, keyIds: readonly string[]): Promise<Map<string, number>> {
  if (keyIds.length === 0) return new Map();
  const wanted = padded(keyIds);
  const rows = await db.all<{ keyId: string; count: number }>(
    `SELECT t.key_id AS "keyId", count(*) AS count FROM tool_definitions d
     JOIN connected_tools t ON t.id = d.connected_tool_id
     WHERE d.changed_digest IS NOT NULL AND t.key_id IN (${placeholders(wanted.length)}) GROUP BY t.key_id`,
    wanted,
  );
  return new Map(rows.map(({ keyId, count }) => [keyId, count]));
}

/** The names of the tools of a Connected Tool whose definitions are known. */
export async function listToolNames(db: Queries, connectedToolId: string, limit: number): Promise<string[]> {
  const rows = await db.all<{ toolName: string }>(
    `SELECT tool_name AS "toolName" FROM tool_definitions WHERE connected_tool_id = $1
     ORDER BY tool_name LIMIT $2`,
    [connectedToolId, limit],
  );
  return rows.map(row => row.toolName);
}

/** Pins the definition that is seen first; one that is already pinned stays. */
export function pinDefinition(
  tx: Transaction,
  pin: { connectedToolId: string; toolName: string; digest: string; definition: string; seenAt: number },
): void {
  tx.defer(
    `INSERT INTO tool_definitions (connected_tool_id, tool_name, digest, definition, seen_at)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (connected_tool_id, tool_name) DO NOTHING`,
    [pin.connectedToolId, pin.toolName, pin.digest, pin.definition, pin.seenAt],
  );
}

/** Records that a tool has another definition than the pinned one, or (null) that it has the pinned one again. */
export function markDrift(
  tx: Transaction,
  connectedToolId: string,
  toolName: string,
  changed: { digest: string; definition: string; at: number } | null,
): void {
  tx.defer(
    `UPDATE tool_definitions SET changed_digest = $3, changed_definition = $4, changed_at = $5
     WHERE connected_tool_id = $1 AND tool_name = $2`,
    [connectedToolId, toolName, changed?.digest ?? null, changed?.definition ?? null, changed?.at ?? null],
  );
}

/** Pins the changed definition with this digest; false when the tool does not have it now. */
export async function acceptDefinition(
  tx: Transaction,
  connectedToolId: string,
  toolName: string,
  digest: string,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE tool_definitions SET digest = changed_digest, definition = changed_definition, changed_digest = NULL,
       changed_definition = NULL, changed_at = NULL
     WHERE connected_tool_id = $1 AND tool_name = $2 AND changed_digest = $3`,
    [connectedToolId, toolName, digest],
  );
  return changed === 1;
}
