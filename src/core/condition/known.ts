// known(x): whether somebody who is trusted has named a value. The language says which values it takes, and what a list of
// them comes to. Whether one is known, the evaluator's caller says, by a function in the scope.

import { codePoints } from '../text/text-length.ts';
import { decimalOf, type NumberResult } from './convert.ts';
import type { Scope } from './frame.ts';
import type { Steps } from './steps.ts';
import { adopt, Failure, NO_UNICODE, numberOf, TOO_MUCH_WORK, type Value } from './values.ts';

/** Where the scope has the answer for single values. No variable can have this name. */
export const KNOWN = 'known()';

/**
 * Says of one value whether it is known: of a text as it is, or of a number in decimal digits. In place of the function, a
 * scope may have a failure; without either, nothing is known.
 */
export type Knows = (kind: 'text' | 'number', written: string) => boolean | Failure;

/** The fewest and the most characters of a text that it takes; nobody can ask about others. */
export const SHORTEST = 2;
export const LONGEST = 512;
/** To compare a text costs more than to read it. */
const WEIGHT = 8;

const UNFIT = new Failure(
  `known() takes texts of ${SHORTEST} to ${LONGEST} characters, numbers, and lists of those.`,
);

/**
 * Of a list every value is asked for before there is an answer, so that whoever looks them up finds all in one go. As in
 * `all()`, one that is not known outweighs those that fail.
 */
export function known([value]: readonly Value[], steps: Steps, scope: Scope): Value {
  if (!Array.isArray(value)) return knownOne(value, steps, scope);
  let result: boolean | Failure = true;
  for (const each of value) {
    const one = knownOne(adopt(each), steps, scope);
    if (one === TOO_MUCH_WORK) return one;
    if (one !== true && result !== false) result = one;
  }
  return result;
}

function knownOne(value: Value, steps: Steps, scope: Scope): boolean | Failure {
  if (value instanceof Failure) return value;
  if (!steps.spend(1)) return TOO_MUCH_WORK;
  const isText = typeof value === 'string';
  const written = isText ? fitting(value) : digitsOf(value);
  if (written === null) return UNFIT;
  // Two different texts could become one when they are written as bytes.
  if (!written.isWellFormed()) return NO_UNICODE;
  if (!steps.characters(WEIGHT * written.length)) return TOO_MUCH_WORK;
  const knows = scope[KNOWN] as Knows | Failure | undefined;
  if (knows === undefined) return false;
  return knows instanceof Failure ? knows : knows(isText ? 'text' : 'number', written);
}

function fitting(text: string): string | null {
  if (text.length < SHORTEST || text.length > 2 * LONGEST) return null;
  const length = codePoints(text);
  return length >= SHORTEST && length <= LONGEST ? text : null;
}

function digitsOf(value: Value): string | null {
  return numberOf(value) === null ? null : decimalOf(value as NumberResult);
}
