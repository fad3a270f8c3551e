// Equality and order of values. Values of different types are different, never an error; ints and doubles are compared
// by their exact values.

import { entryOf, keysOf, sizeOf } from './maps.ts';
import type { Steps } from './steps.ts';
import { adopt, Failure, isMap, numberOf, TOO_MUCH_WORK, type Value, WRONG_TYPE } from './values.ts';

export function equal(a: Value, b: Value, steps: Steps): boolean | Failure {
  if (typeof a === 'string') {
    if (typeof b !== 'string') return b instanceof Failure ? b : false;
    if (a.length !== b.length) return false;
    return steps.characters(a.length) ? a === b : TOO_MUCH_WORK;
  }
  if (a instanceof Failure) return a;
  if (b instanceof Failure) return b;
  const x = numberOf(a);
  if (x !== null) {
    const y = numberOf(b);
    // biome-ignore lint/suspicious/noDoubleEquals: between a number and a bigint only == compares the values
    return y !== null && x == y;
  }
  if (Array.isArray(a)) return Array.isArray(b) ? equalLists(a, b, steps) : false;
  if (isMap(a)) return isMap(b) ? equalMaps(a, b, steps) : false;
  return a === b;
}

function equalLists(a: readonly unknown[], b: readonly unknown[], steps: Steps): boolean | Failure {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) {
    if (!steps.spend(1)) return TOO_MUCH_WORK;
    const same = equal(adopt(a[at]), adopt(b[at]), steps);
    if (same !== true) return same;
  }
  return true;
}

function equalMaps(a: object, b: object, steps: Steps): boolean | Failure {
  if (sizeOf(a, steps) !== sizeOf(b, steps)) return false;
  for (const key of keysOf(a, steps)) {
    if (!steps.spend(1)) return TOO_MUCH_WORK;
    const other = entryOf(b, key);
    if (other === undefined) return false;
    const same = equal(adopt(entryOf(a, key)), adopt(other), steps);
    if (same !== true) return same;
  }
  return true;
}

/** `a < b` of numbers, bools or strings of one type; NaN is neither less nor greater. */
export function less(a: Value, b: Value, orEqual: boolean, steps: Steps): boolean | Failure {
  if (a instanceof Failure) return a;
  if (b instanceof Failure) return b;
  const x = numberOf(a);
  const y = numberOf(b);
  if (x !== null && y !== null) return orEqual ? x <= y : x < y;
  if (typeof a === 'boolean' && typeof b === 'boolean') return orEqual ? a <= b : a < b;
  if (typeof a !== 'string' || typeof b !== 'string') return WRONG_TYPE;
  if (!steps.characters(Math.min(a.length, b.length))) return TOO_MUCH_WORK;
  const order = compareText(a, b);
  return orEqual ? order <= 0 : order < 0;
}

/** Compares by code points: UTF-16 sorts the characters from U+E000 to U+FFFF after those beyond them. */
export function compareText(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  let at = 0;
  while (at < shared && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === shared) return a.length - b.length;
  // If the difference is in the second half of a pair, the whole pair decides.
  if (at > 0 && isLead(a.charCodeAt(at - 1)) && (isTrail(a.charCodeAt(at)) || isTrail(b.charCodeAt(at))))
    at--;
  return a.codePointAt(at)! - b.codePointAt(at)!;
}

const isLead = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;
const isTrail = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;

/** Whether a list has an element that equals the value. A failure counts only if no element equals it. */
export function isIn(value: Value, list: readonly unknown[], steps: Steps): boolean | Failure {
  let failed: Failure | null = null;
  for (let at = 0; at < list.length; at++) {
    if (!steps.spend(1)) return TOO_MUCH_WORK;
    const same = equal(value, adopt(list[at]), steps);
    if (same === true) return true;
    if (same !== false) failed ??= same;
  }
  return failed ?? false;
}
