// Tool servers that several keys share. What is kept of one (definitions, sign-ins, our clients at its authorization servers)
// belongs to its source: the tool server, or a Connected Tool that carries its own definition.

import { placeholders, type Queries, type Transaction } from './engine/db.ts';
import { removeServerClients, removeToolSignIns } from './server-sign-ins.ts';

export const TRANSPORTS = ['http', 'sse', 'stdio'] as const;
export type TransportKind = (typeof TRANSPORTS)[number];

/** `first`: the first definition that a tool shows is accepted. `reviewed`: somebody has to accept it. */
export const TRUSTS = ['first', 'reviewed'] as const;
export type Trust = (typeof TRUSTS)[number];

/** How a server is reached and signed in to, whether several keys share it or one Connected Tool carries it. */
export interface ToolSource {
  id: string;
  /** The id under which definitions, sign-ins, clients and secrets are kept: of the tool server, or of the Connected Tool. */
  sourceId: string;
  /** The tool server that this is or names; null for a Connected Tool with its own definition. */
  toolServerId: string | null;
  /** Null for a tool server. */
  keyId: string | null;
  name: string;
  transport: TransportKind;
  /** An address, or the name of a declared stdio server. */
  target: string;
  headersEncrypted: string | null;
  /** How we sign in to the server, encrypted; null if it wants no OAuth. */
  oauthEncrypted: string | null;
  /** For whom we sign in to the server; null if it wants no OAuth. A shared server has one sign-in for all its keys. */
  oauthAs: 'key' | 'person' | null;
  /** The authorization server of the first sign-in, as JSON; null if nobody has signed in, or it may be another. */
  authorizationServer: string | null;
  trust: Trust;
  createdAt: number;
  /** When the server was last changed; null if never. */
  updatedAt: number | null;
}

export interface ToolServer extends ToolSource {
  keyId: null;
  toolServerId: string;
}

/** Names a source, and says who shares it. */
export type SourceRef = Pick<ToolSource, 'sourceId' | 'toolServerId' | 'keyId'>;

const COLUMNS = `id, id AS "sourceId", id AS "toolServerId", NULL AS "keyId", name, transport, target,
  headers_sealed AS "headersEncrypted", oauth_sealed AS "oauthEncrypted", oauth_as AS "oauthAs",
  authorization_server AS "authorizationServer", trust, created_at AS "createdAt", updated_at AS "updatedAt"`;

export async function insertToolServer(tx: Transaction, server: ToolServer): Promise<void> {
  await tx.run(
    `INSERT INTO tool_servers (id, name, transport, target, headers_sealed, oauth_sealed, oauth_as, authorization_server,
       trust, created_at, updated_at)
     VALUES (${placeholders(11)})`,
    [
      server.id,
      server.name,
      server.transport,
      server.target,
      server.headersEncrypted,
      server.oauthEncrypted,
      server.oauthAs,
      server.authorizationServer,
      server.trust,
      server.createdAt,
      server.updatedAt,
    ],
  );
}

export async function updateToolServer(tx: Transaction, server: ToolServer): Promise<void> {
  await tx.run(
    `UPDATE tool_servers SET name = $2, target = $3, headers_sealed = $4, oauth_sealed = $5, oauth_as = $6,
       updated_at = $7, authorization_server = $8, trust = $9
     WHERE id = $1`,
    [
      server.id,
      server.name,
      server.target,
      server.headersEncrypted,
      server.oauthEncrypted,
      server.oauthAs,
      server.updatedAt,
      server.authorizationServer,
      server.trust,
    ],
  );
}

/** Also removes all that is kept of it, and the Connected Tools of revoked keys that name it. */
export async function removeToolServer(tx: Transaction, id: string): Promise<void> {
  await removeKept(tx, id);
  await tx.run('DELETE FROM connected_tools WHERE tool_server_id = $1', [id]);
  await tx.run('DELETE FROM tool_servers WHERE id = $1', [id]);
}

/** Removes the definitions, sign-ins and clients of a source. */
export async function removeKept(tx: Transaction, sourceId: string): Promise<void> {
  await tx.run('DELETE FROM tool_definitions WHERE connected_tool_id = $1', [sourceId]);
  await removeToolSignIns(tx, sourceId);
  await removeServerClients(tx, sourceId);
}

/** The page after this name, in the order of the names. */
export function listToolServers(db: Queries, limit: number, after: string): Promise<ToolServer[]> {
  return db.all(`SELECT ${COLUMNS} FROM tool_servers WHERE name > $1 ORDER BY name LIMIT $2`, [after, limit]);
}

export async function findToolServer(db: Queries, id: string): Promise<ToolServer | null> {
  const rows = await db.all<ToolServer>(`SELECT ${COLUMNS} FROM tool_servers WHERE id = $1`, [id]);
  return rows[0] ?? null;
}

export async function findToolServerByName(db: Queries, name: string): Promise<ToolServer | null> {
  const rows = await db.all<ToolServer>(`SELECT ${COLUMNS} FROM tool_servers WHERE name = $1`, [name]);
  return rows[0] ?? null;
}

/** A Connected Tool that names a tool server, with its key. */
export interface ToolServerUse {
  keyId: string;
  keyName: string;
  connectedToolId: string;
  name: string;
}

const USES = `FROM connected_tools t JOIN keys k ON k.id = t.key_id
  WHERE t.tool_server_id = $1 AND k.revoked_at IS NULL`;

/** The uses by keys that are not revoked, in the order of the ids. */
export function listToolServerUses(db: Queries, id: string, limit: number): Promise<ToolServerUse[]> {
  return db.all(
    `SELECT k.id AS "keyId", k.name AS "keyName", t.id AS "connectedToolId", t.name ${USES} ORDER BY t.id LIMIT $2`,
    [id, limit],
  );
}

/** A key may have the same server under several names. */
export async function countKeysOf(db: Queries, id: string): Promise<number> {
  const [row] = await db.all<{ count: number }>(`SELECT count(DISTINCT k.id) AS count ${USES}`, [id]);
  return Number(row?.count ?? 0);
}

/** Whatever names a command of the server file: a tool server, or a Connected Tool of a key with its own definition. */
export interface CommandUse {
  command: string;
  id: string;
  name: string;
  /** Null for a tool server. */
  keyId: string | null;
}

/** In the order of the names; Connected Tools of revoked keys are left out. */
export function listCommandUses(db: Queries, limit: number): Promise<CommandUse[]> {
  return db.all(
    `SELECT target AS command, id, name, NULL AS "keyId" FROM tool_servers WHERE transport = 'stdio'
     UNION ALL
     SELECT t.target, t.id, t.name, t.key_id FROM connected_tools t JOIN keys k ON k.id = t.key_id
     WHERE t.transport = 'stdio' AND k.revoked_at IS NULL
     ORDER BY name, id LIMIT $1`,
    [limit],
  );
}
