// Whether somebody who is trusted has named a value that approvers are shown: the answer that known() gives to a condition.

import { Failure } from '../condition/condition.ts';
import { LONGEST, SHORTEST } from '../condition/known.ts';
import { comparable, comparableNumber } from '../flows/words.ts';
import { codePoints } from '../text/text-length.ts';
import { ExactNumber } from '../wire/exact-number.ts';
import type { Json } from '../wire/json.ts';

/** Says of one value, in the form in which values are compared, whether it is known; it fails if that was not read yet. */
export type KnowsForm = (comparable: string) => boolean | Failure;

/** How many values may still be looked up. Further ones count as not known. */
export interface Room {
  left: number;
}

/**
 * Undefined for what known() does not take, such as `true`, and for what was not read yet. A text that is too long was not
 * named. Of a list each value has to be known; one that is not outweighs those that known() does not take.
 */
export function knownValue(value: Json | undefined, knows: KnowsForm, room: Room): boolean | undefined {
  if (!Array.isArray(value)) return knownOne(value, knows, room);
  let result: boolean | undefined = true;
  for (const each of value) {
    const one = knownOne(each, knows, room);
    if (one === false) return false;
    if (one === undefined) result = undefined;
  }
  return result;
}

function knownOne(value: Json | undefined, knows: KnowsForm, room: Room): boolean | undefined {
  if (!isTaken(value)) return undefined;
  if (--room.left < 0) return false;
  const form = formOf(value);
  const known = form !== null && knows(form);
  return known instanceof Failure ? undefined : known;
}

type Taken = string | number | ExactNumber;

function isTaken(value: Json | undefined): value is Taken {
  if (typeof value !== 'string') return typeof value === 'number' || value instanceof ExactNumber;
  return value.length > SHORTEST || codePoints(value) >= SHORTEST;
}

/** Null for what nobody can have named. */
function formOf(value: Taken): string | null {
  if (typeof value !== 'string') return comparableNumber(value instanceof ExactNumber ? value.text : value);
  return value.length > 2 * LONGEST || codePoints(value) > LONGEST ? null : comparable(value);
}
