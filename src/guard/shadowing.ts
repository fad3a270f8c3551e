// Whether a definition names a tool of another server of the same key in its texts. What is known of the definition says
// which servers that could be; only if the key has one of them, the text and the names of its tools are read.

import { createHash } from 'node:crypto';
import type { Look } from '../core/definitions/look.ts';
import type { ToolNames } from '../core/definitions/neighbours.ts';
import { hasFullName } from '../core/definitions/shadows.ts';
import { type JsonObject, parseJson } from '../core/wire/json.ts';
import { findPresentDefinition, type Neighbour } from '../store/definition-reviews.ts';
import type { Queries } from '../store/engine/db.ts';
import { listToolNames } from '../store/tool-definitions.ts';

/** As many names as a source may have. */
export const MOST_TOOLS = 5000;

/** Those of the other sources whose name stands before a `__` in the definition. */
export function mayBeNamed({ servers }: Look, neighbours: readonly Neighbour[]): Neighbour[] {
  return neighbours.filter(each => servers === null || servers.includes(each.serverName));
}

/** How many answers are remembered. */
const MOST_ANSWERS = 10_000;
/**
 * Answers by a digest of all that they depend on. A hostile definition of 256 KiB took 60 ms to be read, and the transaction
 * in which it was read kept the calls of all keys waiting, at every call.
 */
const answers = new Map<string, boolean>();

/** A definition that the store does not have, because only one person was shown it, counts as one that names a tool. */
export async function namesTool(
  db: Queries,
  { sourceId, toolName, digest }: { sourceId: string; toolName: string; digest: string },
  neighbours: readonly Pick<Neighbour, 'sourceId' | 'serverName'>[],
): Promise<boolean> {
  const servers: ToolNames[] = [];
  for (const { sourceId: other, serverName } of neighbours)
    servers.push({ serverName, toolNames: await listToolNames(db, other, MOST_TOOLS) });
  const asked = questionOf(digest, servers);
  const known = answers.get(asked);
  if (known !== undefined) return known;
  const present = await findPresentDefinition(db, sourceId, toolName);
  if (present?.digest !== digest) return true;
  const answer = hasFullName(parseJson(present.definition) as JsonObject, servers);
  const [oldest] = answers.keys();
  if (oldest !== undefined && answers.size >= MOST_ANSWERS) answers.delete(oldest);
  answers.set(asked, answer);
  return answer;
}

function questionOf(digest: string, servers: readonly ToolNames[]): string {
  const hash = createHash('sha256').update(digest);
  for (const { serverName, toolNames } of servers) hash.update(JSON.stringify([serverName, toolNames]));
  return hash.digest('base64');
}
