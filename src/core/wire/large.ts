// Whether the arguments of a call are so large that their digest takes a while. It stops counting where the answer is
// known, so that it costs little for small and for large arguments.

import type { Json } from './json.ts';

/** The size, in characters, from which arguments are large. The digest of so long a text takes 0.2 ms. */
const LARGE = 65_536;
/** What a value or a name counts beside its characters: the digest of 500 members takes as long as that of the text. */
const VALUE = 128;

export function isLarge(value: Json | undefined): boolean {
  return value !== undefined && roomAfter(value, LARGE) < 0;
}

function roomAfter(value: Json, room: number): number {
  let left = room - VALUE;
  if (typeof value === 'string') return left - value.length;
  if (typeof value !== 'object' || value === null) return left;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at++) left = roomAfter(value[at] as Json, left);
    return left;
  }
  for (const name in value) {
    if (left < 0) break;
    left = roomAfter((value as Record<string, Json>)[name] as Json, left - name.length);
  }
  return left;
}
