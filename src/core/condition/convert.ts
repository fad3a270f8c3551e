// Conversions between int, double and string.

import type { Steps } from './steps.ts';
import {
  Double,
  double,
  doubleOf,
  Failure,
  integer,
  isInt,
  NO_CONVERSION,
  OVERFLOW,
  TOO_MUCH_WORK,
  type Value,
  WRONG_TYPE,
} from './values.ts';

const WHOLE = /^([+-]?)0*([0-9]+)$/;
const DECIMAL = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const NOT_FINITE: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  '+inf': Number.POSITIVE_INFINITY,
  '-inf': Number.NEGATIVE_INFINITY,
  infinity: Number.POSITIVE_INFINITY,
  '+infinity': Number.POSITIVE_INFINITY,
  '-infinity': Number.NEGATIVE_INFINITY,
};
const MAX_DIGITS = 19;

export function toInt(value: Value, steps: Steps): Value {
  if (isInt(value)) return value;
  const x = doubleOf(value);
  if (x !== null) {
    // The ends of the range are refused because a double there may stand for a value beyond it.
    if (!(Math.abs(x) < 2 ** 63)) return OVERFLOW;
    return integer(BigInt(Math.trunc(x)));
  }
  if (typeof value !== 'string') return WRONG_TYPE;
  if (!steps.characters(value.length)) return TOO_MUCH_WORK;
  const [, sign = '', digits = ''] = WHOLE.exec(value) ?? [];
  if (digits === '') return NO_CONVERSION;
  if (digits.length > MAX_DIGITS) return OVERFLOW;
  const whole = BigInt(digits);
  return integer(sign === '-' ? -whole : whole);
}

export function toDouble(value: Value, steps: Steps): Value {
  if (isInt(value)) return new Double(Number(value) + 0);
  if (doubleOf(value) !== null) return value;
  if (typeof value !== 'string') return WRONG_TYPE;
  if (!steps.characters(4 * value.length)) return TOO_MUCH_WORK;
  if (DECIMAL.test(value)) {
    const x = Number(value);
    return Number.isFinite(x) ? double(x) : NO_CONVERSION;
  }
  const name = value.length > 9 ? '' : value.toLowerCase();
  return Object.hasOwn(NOT_FINITE, name) ? new Double(NOT_FINITE[name]!) : NO_CONVERSION;
}

export function toText(value: Value): Value {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  return numberText(value) ?? WRONG_TYPE;
}

/** The exact decimal text of an int, and the shortest one of a double; null if it is neither. */
export function numberText(value: Value): string | Failure | null {
  if (isInt(value)) return String(value);
  const x = doubleOf(value);
  if (x === null) return null;
  // Implementations of CEL write these differently.
  if (!Number.isFinite(x)) return NO_CONVERSION;
  return Object.is(x, -0) ? '-0' : String(x);
}

/** An int, or a double; `decimalOf` gives its text. */
export type NumberResult = number | bigint | Double;

/**
 * The exact decimal text of a number: all digits of an int, the digits of an argument as they were written, and the
 * shortest form of every other double. Null if it has none.
 */
export function decimalOf(number: NumberResult): string | null {
  if (number instanceof Double && number.written !== null) return number.written;
  const text = numberText(number);
  return text instanceof Failure ? null : text;
}
