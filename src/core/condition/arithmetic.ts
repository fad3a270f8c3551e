// Arithmetic of ints (64 bits; an overflow fails) and doubles (IEEE 754). The two are never mixed, as in CEL.

import { BY_ZERO, double, doubleOf, Failure, integer, isInt, type Value, WRONG_TYPE } from './values.ts';

export type Arithmetic = (a: Value, b: Value) => Value;

interface Operation {
  short: (a: number, b: number) => number;
  long: (a: bigint, b: bigint) => bigint;
  /** Absent: doubles have no such operation. */
  double?: (a: number, b: number) => number;
  dividing?: boolean;
}

function arithmetic({ short, long, double: ofDoubles, dividing }: Operation): Arithmetic {
  return (a, b) => {
    if (isInt(a) && isInt(b)) {
      // biome-ignore lint/suspicious/noDoubleEquals: a bigint 0n equals 0 only by ==
      if (dividing && b == 0) return BY_ZERO;
      if (typeof a === 'number' && typeof b === 'number') {
        const result = short(a, b);
        if (Number.isSafeInteger(result)) return result;
      }
      return integer(long(BigInt(a), BigInt(b)));
    }
    if (a instanceof Failure) return a;
    if (b instanceof Failure) return b;
    const x = doubleOf(a);
    const y = doubleOf(b);
    if (x === null || y === null || ofDoubles === undefined) return WRONG_TYPE;
    return double(ofDoubles(x, y));
  };
}

export const add = arithmetic({
  short: (a, b) => a + b,
  long: (a, b) => a + b,
  double: (a, b) => a + b,
});

export const ARITHMETIC: Readonly<Record<'-' | '*' | '/' | '%', Arithmetic>> = {
  '-': arithmetic({ short: (a, b) => a - b, long: (a, b) => a - b, double: (a, b) => a - b }),
  '*': arithmetic({ short: (a, b) => a * b, long: (a, b) => a * b, double: (a, b) => a * b }),
  '/': arithmetic({
    short: (a, b) => Math.trunc(a / b),
    long: (a, b) => a / b,
    double: (a, b) => a / b,
    dividing: true,
  }),
  '%': arithmetic({ short: (a, b) => a % b, long: (a, b) => a % b, dividing: true }),
};

export function negate(value: Value): Value {
  if (isInt(value)) return typeof value === 'number' ? 0 - value : integer(-value);
  const x = doubleOf(value);
  if (x !== null) return double(-x);
  return value instanceof Failure ? value : WRONG_TYPE;
}
