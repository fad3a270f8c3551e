// The definitions of tools, as they were accepted and as they are now. They are kept under the id of their source: the tool
// server that several keys share, or the Connected Tool that carries its own definition.

import { IS_ALIKE, type Looked } from './definition-reviews.ts';
import { into, padded, placeholders, type Queries, type Transaction, type Value } from './engine/db.ts';
import { sized } from './engine/sized.ts';
import type { Trust } from './tool-servers.ts';

interface ToolDefinition {
  sourceId: string;
  toolName: string;
  digest: string;
  definition: string;
  changedDigest: string | null;
  changedDefinition: string | null;
  changedAt: number | null;
  seenAt: number;
}

const DEFINITION = `connected_tool_id AS "sourceId", tool_name AS "toolName", digest, definition,
  changed_digest AS "changedDigest", changed_definition AS "changedDefinition", changed_at AS "changedAt",
  seen_at AS "seenAt"`;

export function listDefinitions(db: Queries, sourceId: string): Promise<ToolDefinition[]> {
  return db.all(
    `SELECT ${DEFINITION} FROM tool_definitions WHERE connected_tool_id = $1 ORDER BY seen_at, tool_name`,
    [sourceId],
  );
}

/** The tools of a source; `drifted` is 1 for those whose present definition is not the pinned one. */
export function listToolStates(
  db: Queries,
  sourceId: string,
): Promise<{ toolName: string; drifted: number }[]> {
  return db.all(
    `SELECT tool_name AS "toolName", CASE WHEN changed_digest IS NULL THEN 0 ELSE 1 END AS drifted
     FROM tool_definitions WHERE connected_tool_id = $1 ORDER BY seen_at, tool_name`,
    [sourceId],
  );
}

/**
 * What a call through a Connected Tool depends on: to which server the Connected Tool leads now, and the digest of the
 * definition that the tool has there.
 */
export interface ShownDefinition {
  connectedToolId: string;
  keyId: string;
  serverName: string;
  toolServerId: string | null;
  /** When its server was last changed. */
  updatedAt: number | null;
  trust: Trust;
  /** The name of the tool server; of the Connected Tool, if that carries its own definition. */
  sourceName: string;
  /** Null, like what follows, where no definition of these tools is known. */
  toolName: string | null;
  /** The digest of the accepted definition. */
  digest: string | null;
  /** The digest of the present one, if it differs. */
  changedDigest: string | null;
  /** The digest of the definition that a person accepted. */
  acceptedDigest: string | null;
  /** What is known of the present definition. */
  look: string | null;
  skeleton: string | null;
  /** 1 if any source has a tool whose name looks like this one and is spelled differently. */
  isAlike: number;
}

/** Connected Tools that were removed are left out, even if their server still has other keys. */
export function shownDefinitions(
  db: Queries,
  connectedToolIds: readonly string[],
  toolNames: readonly string[],
): Promise<ShownDefinition[]> {
  const ids = padded(connectedToolIds);
  const names = padded(toolNames);
  return db.all(
    `SELECT t.id AS "connectedToolId", t.key_id AS "keyId", t.name AS "serverName", t.tool_server_id AS "toolServerId",
       CASE WHEN s.id IS NULL THEN t.updated_at ELSE s.updated_at END AS "updatedAt",
       COALESCE(s.trust, t.trust) AS trust, COALESCE(s.name, t.name) AS "sourceName",
       d.tool_name AS "toolName", d.digest, d.changed_digest AS "changedDigest", d.accepted_digest AS "acceptedDigest",
       d.look, d.skeleton, ${IS_ALIKE}
     FROM connected_tools t LEFT JOIN tool_servers s ON s.id = t.tool_server_id
       LEFT JOIN tool_definitions d ON d.connected_tool_id = COALESCE(t.tool_server_id, t.id)
         AND d.tool_name IN (${placeholders(names.length, ids.length)})
     WHERE t.id IN (${placeholders(ids.length)})`,
    [...ids, ...names],
  );
}

/** The definitions of these tools with their texts: the pinned ones, and those that the tools have now. */
export function bothDefinitions(
  db: Queries,
  connectedToolIds: readonly string[],
  toolNames: readonly string[],
): Promise<
  { digest: string; definition: string; changedDigest: string | null; changedDefinition: string | null }[]
> {
  const ids = padded(connectedToolIds);
  const names = padded(toolNames);
  return db.all(
    `SELECT d.digest, d.definition, d.changed_digest AS "changedDigest", d.changed_definition AS "changedDefinition"
     FROM connected_tools t
       JOIN tool_definitions d ON d.connected_tool_id = COALESCE(t.tool_server_id, t.id)
     WHERE t.id IN (${placeholders(ids.length)}) AND d.tool_name IN (${placeholders(names.length, ids.length)})`,
    [...ids, ...names],
  );
}

interface FoundDefinition {
  definition: string;
  drifted: boolean;
  connectedToolId: string;
  toolServerId: string | null;
}

/** The accepted definition of a tool, with its text, whether the tool has another one now, and what has it. */
export async function findDefinition(
  db: Queries,
  { keyId, serverName, toolName }: { keyId: string; serverName: string; toolName: string },
): Promise<FoundDefinition | null> {
  const [row] = await db.all<Omit<FoundDefinition, 'drifted'> & { changedDigest: string | null }>(
    `SELECT d.definition, d.changed_digest AS "changedDigest", t.id AS "connectedToolId",
       t.tool_server_id AS "toolServerId"
     FROM connected_tools t
       JOIN tool_definitions d ON d.connected_tool_id = COALESCE(t.tool_server_id, t.id)
     WHERE t.key_id = $1 AND t.name = $2 AND d.tool_name = $3`,
    [keyId, serverName, toolName],
  );
  if (row === undefined) return null;
  const { changedDigest, ...found } = row;
  return { ...found, drifted: changedDigest !== null };
}

/** A pinned (accepted) definition without its text, which may be large. */
export interface Pin {
  toolName: string;
  digest: string;
  changedDigest: string | null;
  /** What is known of the present definition. */
  look: string | null;
  looked: number;
  /** The number of characters of both definitions. */
  size: number;
}

const PINS = `SELECT tool_name AS "toolName", digest, changed_digest AS "changedDigest", look, looked,
    length(definition) + length(COALESCE(changed_definition, '')) AS size
  FROM tool_definitions WHERE connected_tool_id = $1`;

export function listPins(db: Queries, sourceId: string): Promise<Pin[]> {
  return db.all(PINS, [sourceId]);
}

export async function findPin(db: Queries, sourceId: string, toolName: string): Promise<Pin | null> {
  const [pin] = await db.all<Pin>(`${PINS} AND tool_name = $2`, [sourceId, toolName]);
  return pin ?? null;
}

/** How many tools of each of these keys differ from their accepted definitions; keys without any are left out. */
export async function countDrifted(db: Queries, keyIds: readonly string[]): Promise<Map<string, number>> {
  if (keyIds.length === 0) return new Map();
  const wanted = padded(keyIds);
  const rows = await db.all<{ keyId: string; count: number }>(
    `SELECT t.key_id AS "keyId", count(*) AS count FROM connected_tools t
       JOIN tool_definitions d ON d.connected_tool_id = COALESCE(t.tool_server_id, t.id)
     WHERE d.changed_digest IS NOT NULL AND t.key_id IN (${placeholders(wanted.length)}) GROUP BY t.key_id`,
    wanted,
  );
  return new Map(rows.map(({ keyId, count }) => [keyId, count]));
}

/** The names of the tools of a source whose definitions are known. */
export async function listToolNames(db: Queries, sourceId: string, limit: number): Promise<string[]> {
  const rows = await db.all<{ toolName: string }>(
    `SELECT tool_name AS "toolName" FROM tool_definitions WHERE connected_tool_id = $1
     ORDER BY tool_name LIMIT $2`,
    [sourceId, limit],
  );
  return rows.map(row => row.toolName);
}

interface FirstDefinition {
  sourceId: string;
  toolName: string;
  digest: string;
  definition: string;
  seenAt: number;
}

const PINNED = into(
  'tool_definitions',
  {
    connected_tool_id: 'text',
    tool_name: 'text',
    digest: 'text',
    definition: 'text',
    seen_at: 'bigint',
    look: 'text',
    looked: 'bigint',
    skeleton: 'text',
  },
  'ON CONFLICT DO NOTHING',
);

/** Pins definitions that are seen first, with what is known of them; those of tools that have one stay. */
export function pinDefinitions(
  tx: Transaction,
  pins: readonly (FirstDefinition & { [Field in keyof Looked]: Looked[Field] | null })[],
): void {
  const values = pins.flatMap(pin => [
    pin.sourceId,
    pin.toolName,
    pin.digest,
    pin.definition,
    pin.seenAt,
    pin.look,
    pin.looked ?? 0,
    pin.skeleton,
  ]);
  tx.insert(PINNED, values);
}

/** Pins one at which nobody has looked. */
export function pinDefinition(tx: Transaction, pin: FirstDefinition): void {
  pinDefinitions(tx, [{ ...pin, look: null, looked: null, skeleton: null }]);
}

/** Records that a tool has another definition than the pinned one, or (null) that it has the pinned one again. */
export function markDrift(
  tx: Transaction,
  sourceId: string,
  toolName: string,
  changed: { digest: string; definition: string; at: number } | null,
): void {
  tx.defer(
    `UPDATE tool_definitions SET changed_digest = $3, changed_definition = $4, changed_at = $5
     WHERE connected_tool_id = $1 AND tool_name = $2`,
    [sourceId, toolName, changed?.digest ?? null, changed?.definition ?? null, changed?.at ?? null],
  );
}

/** A definition that somebody has looked at. */
export interface LookedAt {
  name: string;
  digest: string;
}

/**
 * A person accepts the definitions that tools have now, which are pinned from then on. Returns those that were not accepted,
 * because the tool has another definition than the person has looked at, or none.
 */
export async function acceptDefinitions(
  tx: Transaction,
  sourceId: string,
  tools: readonly LookedAt[],
  { by, at }: { by: string; at: number },
): Promise<LookedAt[]> {
  const accepted = new Set<string>();
  for (let from = 0; from < tools.length; from += ACCEPTED_AT_ONCE) {
    const some = tools.slice(from, from + ACCEPTED_AT_ONCE);
    const params: Value[] = [some.length, sourceId, by, at];
    const sql = acceptance(some, ({ name, digest }) => params.push(name, digest));
    for (const each of await tx.all<LookedAt>(sql, params)) accepted.add(`${each.digest} ${each.name}`);
  }
  return tools.filter(({ name, digest }) => !accepted.has(`${digest} ${name}`));
}

/** Few statements, because calls of the server wait until all are accepted, and a transaction must not take long. */
const ACCEPTED_AT_ONCE = 256;

const acceptance = sized(
  2,
  4,
  rows => `WITH wanted (at, tool, shown) AS (VALUES ${rows})
    UPDATE tool_definitions SET digest = COALESCE(changed_digest, digest),
      definition = COALESCE(changed_definition, definition),
      changed_digest = NULL, changed_definition = NULL, changed_at = NULL,
      accepted_by = $3, accepted_at = $4, accepted_digest = COALESCE(changed_digest, digest)
    WHERE connected_tool_id = $2
      AND (tool_name, COALESCE(changed_digest, digest)) IN (SELECT tool, shown FROM wanted WHERE at < $1)
    RETURNING tool_name AS name, digest`,
);
