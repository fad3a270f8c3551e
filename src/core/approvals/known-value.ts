// Whether somebody who is trusted has named a value that approvers are shown: the answer that known() gives to a condition.

import { Failure, type Knows } from '../condition/condition.ts';
import { LONGEST, SHORTEST } from '../condition/known.ts';
import { codePoints } from '../text/text-length.ts';
import { ExactNumber } from '../wire/exact-number.ts';
import type { Json } from '../wire/json.ts';

/** How many values may still be looked up. Further ones count as not known. */
export interface Room {
  left: number;
}

/**
 * Undefined for what known() does not take, such as `true`, and for what was not read yet. A text that is too long was not
 * named. Of a list each value has to be known; one that is not outweighs those that known() does not take.
 */
export function knownValue(value: Json | undefined, knows: Knows, room: Room): boolean | undefined {
  if (!Array.isArray(value)) return knownOne(value, knows, room);
  let result: boolean | undefined = true;
  for (const each of value) {
    const one = knownOne(each, knows, room);
    if (one === false) return false;
    if (one === undefined) result = undefined;
  }
  return result;
}

function knownOne(value: Json | undefined, knows: Knows, room: Room): boolean | undefined {
  if (!isTaken(value)) return undefined;
  if (--room.left < 0) return false;
  const known =
    typeof value === 'string' ? !isLong(value) && knows('text', value) : knows('number', textOf(value));
  return known instanceof Failure ? undefined : known;
}

type Taken = string | number | ExactNumber;

function isTaken(value: Json | undefined): value is Taken {
  if (typeof value !== 'string') return typeof value === 'number' || value instanceof ExactNumber;
  return value.length > SHORTEST || codePoints(value) >= SHORTEST;
}

/** Nobody can have named it. */
const isLong = (text: string): boolean => text.length > 2 * LONGEST || codePoints(text) > LONGEST;

const textOf = (value: number | ExactNumber): string =>
  value instanceof ExactNumber ? value.text : String(value);
