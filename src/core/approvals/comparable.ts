// The values of a call that a grant can be bound to: those at the first paths of its arguments, broad before deep, each
// as a text that equals another's exactly if the values are equal. The work is bounded whatever the arguments are.

import type { Path } from '../text/argument-path.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { ExactNumber } from '../wire/exact-number.ts';
import { isObject, type Json } from '../wire/json.ts';

/** How many values of a call can be compared. */
const MAX_VALUES = 100;
/**
 * How many characters a list or an object may have, roughly, and all of them together. Lists and objects lie in each
 * other, so that without the second bound a deep one would be read a hundred times.
 */
const MAX_PARTS = 2048;
const MAX_ALL_PARTS = 16_384;

export interface Comparable {
  path: Path;
  text: string;
}

export function comparableValues(args: Json | undefined): Comparable[] {
  const found: { path: Path; value: Json }[] = [];
  const add = (path: Path, value: Json): boolean => found.push({ path, value }) < MAX_VALUES;
  addParts([], args ?? null, add);
  for (let at = 0; at < found.length && found.length < MAX_VALUES; at++) {
    const { path, value } = found[at] as { path: Path; value: Json };
    addParts(path, value, add);
  }
  const comparable: Comparable[] = [];
  let left = MAX_ALL_PARTS;
  for (const { path, value } of found) {
    const most = Math.min(MAX_PARTS, left);
    const room = hasParts(value) ? roomAfter(value, most) : most;
    left -= most - Math.max(room, 0);
    if (room >= 0) comparable.push({ path, text: canonicalJson(value) });
  }
  return comparable;
}

/** Calls `add` for each part of the value, while it returns true. */
function addParts(path: Path, value: Json, add: (path: Path, value: Json) => boolean): void {
  const steps = Array.isArray(value) ? value.keys() : isObject(value) ? Object.keys(value) : [];
  for (const step of steps) {
    if (!add([...path, step], (value as Record<string | number, Json>)[step] as Json)) return;
  }
}

/** The text by which a value is compared; null for a list or an object that is too large. */
export function comparableText(value: Json): string | null {
  return !hasParts(value) || roomAfter(value, MAX_PARTS) >= 0 ? canonicalJson(value) : null;
}

function hasParts(value: Json): value is Json[] | { [name: string]: Json } {
  return Array.isArray(value) || isObject(value);
}

/** How many of so many characters are left after a value, or a negative number; it stops counting there. */
function roomAfter(value: Json, room: number): number {
  if (typeof value === 'string') return room - value.length - 2;
  if (value instanceof ExactNumber) return room - value.text.length;
  if (!hasParts(value)) return room - String(value).length;
  let left = room - 2;
  for (const [name, part] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    if (left < 0) break;
    left = roomAfter(part, left - (typeof name === 'string' ? name.length + 4 : 1));
  }
  return left;
}
