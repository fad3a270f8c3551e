// The attributes of a session: what its owner says of it, which conditions read as `session.attributes`.

import { canonicalJson } from '../wire/canonical.ts';
import { ExactNumber } from '../wire/exact-number.ts';
import type { Json, JsonObject } from '../wire/json.ts';

export const MAX_ATTRIBUTES_BYTES = 4_096;
export const MAX_ATTRIBUTES_DEPTH = 4;

/** What is wrong with them, or null. The object itself is the first level. */
export function attributesFault(attributes: JsonObject): string | null {
  if (depthOf(attributes) > MAX_ATTRIBUTES_DEPTH)
    return `must have at most ${MAX_ATTRIBUTES_DEPTH} levels of objects and lists`;
  const { length } = new TextEncoder().encode(canonicalJson(attributes));
  return length > MAX_ATTRIBUTES_BYTES ? `must have at most ${MAX_ATTRIBUTES_BYTES} bytes as JSON` : null;
}

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
