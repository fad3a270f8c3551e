// Looks at definitions: what of them would hold a tool is found once, and kept beside them. Those that were recorded by a
// version without looks, or with older lists, are looked at before the service serves.

import { LOOK_VERSION, lookAt, writeLook } from '../../core/definitions/look.ts';
import { skeletonOf } from '../../core/definitions/skeleton.ts';
import { type Json, type JsonObject, parseJson } from '../../core/wire/json.ts';
import { keepLook, type Looked, listUnlooked } from '../../store/definition-reviews.ts';
import type { Deps } from '../deps.ts';

/** A definition has 256 KiB at most, and mostly less than two. */
const AT_A_TIME = 100;

export function lookedAt({
  toolName,
  digest,
  definition,
}: {
  toolName: string;
  digest: string;
  definition: Json;
}): Looked {
  const look = writeLook(digest, lookAt(definition as JsonObject));
  return { look, looked: LOOK_VERSION, skeleton: skeletonOf(toolName) };
}

/**
 * Looks at some definitions that nobody has looked at yet, and returns true if there may be more. It takes no lock: a look
 * says which definition it is about, and a tool is held until there is one.
 */
export async function lookAtSome({ db }: Deps): Promise<boolean> {
  const found = await listUnlooked(db, LOOK_VERSION, AT_A_TIME);
  if (found.length === 0) return false;
  const looks = found.map(each => lookedAt({ ...each, definition: parseJson(each.definition) }));
  await db.transaction({}, async tx => {
    for (const [index, each] of found.entries()) keepLook(tx, each, looks[index] as Looked);
  });
  return true;
}
