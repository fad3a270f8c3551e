// Who accepted which definition of a tool, what is known of the present one without its text, and which tools of a key look
// alike. tool-definitions.ts has the definitions themselves; both keep them under the id of their source.

import type { Queries, Transaction } from './engine/db.ts';
import type { Trust } from './tool-servers.ts';

/** The definition that a tool has now. */
export interface PresentDefinition {
  sourceId: string;
  toolName: string;
  digest: string;
  definition: string;
}

const PRESENT = `d.connected_tool_id AS "sourceId", d.tool_name AS "toolName",
  COALESCE(d.changed_digest, d.digest) AS digest, COALESCE(d.changed_definition, d.definition) AS definition`;

export async function findPresentDefinition(
  db: Queries,
  sourceId: string,
  toolName: string,
): Promise<PresentDefinition | null> {
  const [row] = await db.all<PresentDefinition>(
    `SELECT ${PRESENT} FROM tool_definitions d WHERE d.connected_tool_id = $1 AND d.tool_name = $2`,
    [sourceId, toolName],
  );
  return row ?? null;
}

/** Definitions that nobody has looked at with the lists of this version. */
export function listUnlooked(db: Queries, version: number, limit: number): Promise<PresentDefinition[]> {
  return db.all(`SELECT ${PRESENT} FROM tool_definitions d WHERE d.looked < $1 LIMIT $2`, [version, limit]);
}

export interface Looked {
  look: string;
  looked: number;
  skeleton: string;
}

/** What was found in this definition, if the tool still has it. */
export function keepLook(
  tx: Transaction,
  { sourceId, toolName, digest }: Pick<PresentDefinition, 'sourceId' | 'toolName' | 'digest'>,
  { look, looked, skeleton }: Looked,
): void {
  tx.defer(
    `UPDATE tool_definitions SET look = $3, looked = $4, skeleton = $5
     WHERE connected_tool_id = $1 AND tool_name = $2 AND COALESCE(changed_digest, digest) = $6`,
    [sourceId, toolName, look, looked, skeleton, digest],
  );
}

/** A tool with both of its definitions, and who accepted which one. */
export interface Reviewed extends PresentDefinition {
  skeleton: string | null;
  look: string | null;
  /** The pinned definition, if the tool has another one now. */
  pinnedDigest: string;
  pinnedDefinition: string | null;
  seenAt: number;
  acceptedBy: string | null;
  acceptedAt: number | null;
  acceptedDigest: string | null;
  /** 1 if any source has a tool whose name looks like this one and is spelled differently. */
  isAlike: number;
}

/**
 * For the tool `d`. Names before this one and after it are looked for separately, so that each is one step in the index,
 * however many servers have a tool of this very name.
 */
export const IS_ALIKE = `CASE
  WHEN EXISTS (SELECT 1 FROM tool_definitions o WHERE o.skeleton = d.skeleton AND o.tool_name < d.tool_name)
    OR EXISTS (SELECT 1 FROM tool_definitions o WHERE o.skeleton = d.skeleton AND o.tool_name > d.tool_name)
  THEN 1 ELSE 0 END AS "isAlike"`;

const REVIEWED = `${PRESENT}, ${IS_ALIKE}, d.skeleton, d.look, d.digest AS "pinnedDigest",
  CASE WHEN d.changed_digest IS NULL THEN NULL ELSE d.definition END AS "pinnedDefinition", d.seen_at AS "seenAt",
  d.accepted_by AS "acceptedBy", d.accepted_at AS "acceptedAt", d.accepted_digest AS "acceptedDigest"`;

/** The tools of a source after this name, in the order of their names. */
export function listReviewed(
  db: Queries,
  sourceId: string,
  limit: number,
  after: string,
): Promise<Reviewed[]> {
  return db.all(
    `SELECT ${REVIEWED} FROM tool_definitions d WHERE d.connected_tool_id = $1 AND d.tool_name > $2
     ORDER BY d.tool_name LIMIT $3`,
    [sourceId, after, limit],
  );
}

/** The tools of all sources after this one, each with the name and the trust of its source. Revoked keys are left out. */
export function listAllReviewed(
  db: Queries,
  limit: number,
  after: { sourceId: string; toolName: string },
): Promise<(Reviewed & { server: string; trust: Trust })[]> {
  return db.all(
    `SELECT ${REVIEWED}, COALESCE(s.name, t.name) AS server, COALESCE(s.trust, t.trust) AS trust
     FROM tool_definitions d LEFT JOIN tool_servers s ON s.id = d.connected_tool_id
       LEFT JOIN connected_tools t ON t.id = d.connected_tool_id LEFT JOIN keys k ON k.id = t.key_id
     WHERE (d.connected_tool_id, d.tool_name) > ($1, $2)
       AND (s.id IS NOT NULL OR (k.id IS NOT NULL AND k.revoked_at IS NULL))
     ORDER BY d.connected_tool_id, d.tool_name LIMIT $3`,
    [after.sourceId, after.toolName, limit],
  );
}

const SOURCE = (tool: string) => `COALESCE(${tool}.tool_server_id, ${tool}.id)`;
const ALIKE = `connected_tools c JOIN tool_definitions o
  ON o.connected_tool_id = ${SOURCE('c')} AND o.skeleton = $2 AND o.tool_name <> $3`;

/** Whether a key has a tool of another source that looks like this one and is spelled differently. */
export async function readHasLookAlike(
  db: Queries,
  keyId: string,
  { sourceId, toolName, skeleton }: { sourceId: string; toolName: string; skeleton: string },
): Promise<boolean> {
  const rows = await db.all(
    `SELECT 1 AS one FROM ${ALIKE} WHERE c.key_id = $1 AND ${SOURCE('c')} <> $4 LIMIT 1`,
    [keyId, skeleton, toolName, sourceId],
  );
  return rows.length > 0;
}

/** The Connected Tools through which keys use a source. Keys that are revoked are left out. */
const USES = `connected_tools t JOIN keys k ON k.id = t.key_id AND k.revoked_at IS NULL
  WHERE (t.tool_server_id = $1 OR (t.id = $1 AND t.tool_server_id IS NULL))`;

/** The keys that use a source, in the order of their ids. */
export async function listKeysUsing(db: Queries, sourceId: string, limit: number): Promise<string[]> {
  const rows = await db.all<{ keyId: string }>(
    `SELECT DISTINCT t.key_id AS "keyId" FROM ${USES} ORDER BY t.key_id LIMIT $2`,
    [sourceId, limit],
  );
  return rows.map(each => each.keyId);
}

/** Another source of a key, under the name that it has there. */
export interface Neighbour {
  keyId: string;
  sourceId: string;
  serverName: string;
}

/** The other sources of a key. */
export function listNeighbours(db: Queries, keyId: string, sourceId: string): Promise<Neighbour[]> {
  return db.all(
    `SELECT c.key_id AS "keyId", ${SOURCE('c')} AS "sourceId", c.name AS "serverName" FROM connected_tools c
     WHERE c.key_id = $1 AND ${SOURCE('c')} <> $2 ORDER BY c.name`,
    [keyId, sourceId],
  );
}

/** The other sources of all keys that use a source. */
export function listAllNeighbours(db: Queries, sourceId: string, limit: number): Promise<Neighbour[]> {
  return db.all(
    `SELECT c.key_id AS "keyId", ${SOURCE('c')} AS "sourceId", c.name AS "serverName"
     FROM connected_tools c WHERE ${SOURCE('c')} <> $1 AND c.key_id IN (SELECT t.key_id FROM ${USES})
     ORDER BY c.key_id, c.name LIMIT $2`,
    [sourceId, limit],
  );
}

/** A tool that looks like another one of the same key. */
export interface LookAlike extends Neighbour {
  toolName: string;
}

/** The tools that look like this one, of all keys that use its source. */
export function listLookAlikes(
  db: Queries,
  { sourceId, toolName, skeleton }: { sourceId: string; toolName: string; skeleton: string },
  limit: number,
): Promise<LookAlike[]> {
  return db.all(
    `SELECT c.key_id AS "keyId", ${SOURCE('c')} AS "sourceId", c.name AS "serverName", o.tool_name AS "toolName"
     FROM ${ALIKE} WHERE ${SOURCE('c')} <> $1 AND c.key_id IN (SELECT t.key_id FROM ${USES})
     ORDER BY c.key_id, c.name, o.tool_name LIMIT $4`,
    [sourceId, skeleton, toolName, limit],
  );
}
