// Canonical JSON: the same value always gives the same text. Keys are sorted by UTF-16 code units, there is no white
// space, and a number is the shortest text that reads back the same (RFC 8785). The digest that binds an approval to
// its call is computed over this text.

import { ExactNumber } from './exact-number.ts';
import type { Json, JsonObject } from './json.ts';

export function canonicalJson(value: Json): string {
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const members = Object.keys(value)
      .sort()
      .map(key => `${JSON.stringify(key)}:${canonicalJson((value as JsonObject)[key] as Json)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value);
}
