// Whether a definition names a tool of another server of the same key in its texts. What is known of the definition says
// which servers that could be; only if the key has one of them, the text and the names of its tools are read.

import type { Look } from '../core/definitions/look.ts';
import { neighboursOf } from '../core/definitions/neighbours.ts';
import { placesOf } from '../core/definitions/places.ts';
import { shadowsIn } from '../core/definitions/shadows.ts';
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

/** A definition that the store does not have, because only one person was shown it, counts as one that names a tool. */
export async function namesTool(
  db: Queries,
  { sourceId, toolName, digest }: { sourceId: string; toolName: string; digest: string },
  neighbours: readonly Pick<Neighbour, 'sourceId' | 'serverName'>[],
): Promise<boolean> {
  const present = await findPresentDefinition(db, sourceId, toolName);
  if (present?.digest !== digest) return true;
  const servers = [];
  for (const { sourceId: other, serverName } of neighbours)
    servers.push({ serverName, toolNames: await listToolNames(db, other, MOST_TOOLS) });
  const definition = parseJson(present.definition) as JsonObject;
  const looked = { definition, places: placesOf(definition), neighbours: neighboursOf(servers) };
  for (const _ of shadowsIn(looked)) return true;
  return false;
}
