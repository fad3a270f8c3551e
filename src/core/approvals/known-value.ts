// Whether somebody who is trusted has named a value that approvers are shown: the answer that known() gives to a condition.

import { Failure } from '../condition/condition.ts';
import { comparable, comparableNumber } from '../flows/words.ts';
import { codePoints } from '../text/text-length.ts';
import { ExactNumber } from '../wire/exact-number.ts';
import type { Json } from '../wire/json.ts';

/** Says of one value, in the form in which values are compared, whether it is known; it fails if that was not read yet. */
export type KnowsForm = (comparable: string) => boolean | Failure;

/** In characters; known() takes no shorter and no longer texts. */
const SHORTEST = 2;
const LONGEST = 512;

/**
 * Undefined for what known() does not take, such as `true`, and for what was not read yet. A text that is too long was not
 * named. Of a list each value has to be known; one that is not outweighs those that known() does not take.
 */
export function knownValue(value: Json | undefined, knows: KnowsForm): boolean | undefined {
  if (!Array.isArray(value)) return knownOne(value, knows);
  let result: boolean | undefined = true;
  for (const each of value) {
    const one = knownOne(each, knows);
    if (one === false) return false;
    if (one === undefined) result = undefined;
  }
  return result;
}

function knownOne(value: Json | undefined, knows: KnowsForm): boolean | undefined {
  const form = formOf(value);
  if (form === undefined) return undefined;
  const known = form !== null && knows(form);
  return known instanceof Failure ? undefined : known;
}

/** Null for what nobody can have named; undefined for what known() does not take. */
function formOf(value: Json | undefined): string | null | undefined {
  if (typeof value === 'number') return comparableNumber(value);
  if (value instanceof ExactNumber) return comparableNumber(value.text);
  if (typeof value !== 'string') return undefined;
  if (value.length > 2 * LONGEST) return null;
  const length = codePoints(value);
  if (length < SHORTEST) return undefined;
  return length > LONGEST ? null : comparable(value);
}
