// The values of conditions. Arguments are used as they were parsed, without a copy:
//
//   null, bool, string   as in JavaScript
//   int                  a number, or a bigint beyond 2^53
//   double               a number that is not integral; a Double where the value is integral, NaN, infinite or rounded
//   list                 an array
//   map                  an object as parsed from JSON, or a Map where the condition itself made it
//   type                 a TypeName
//
// Whatever is read from a list or a map passes through `adopt`, because arguments hold numbers that are neither.
// Errors are values too: CEL's `&&`, `||`, `all` and `exists` absorb them, and exceptions would be slow.

import { ExactNumber } from '../wire/exact-number.ts';

export class Double {
  readonly value: number;
  /** The digits of an argument that a double rounds; null for every other double. */
  readonly written: string | null;
  constructor(value: number, written: string | null = null) {
    this.value = value;
    this.written = written;
  }
}

export class TypeName {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A condition that could not be evaluated. The sentence is one of a finite set and tells nothing of the arguments. */
export class Failure {
  readonly why: string;
  constructor(why: string) {
    this.why = why;
  }
}

export const ABSENT = new Failure('It reads a field or a key that is absent.');
export const WRONG_TYPE = new Failure('A value has a type that the operation does not take.');
export const OVERFLOW = new Failure('A whole number is beyond 64 bits.');
export const TOO_LARGE = new Failure('A number is too large.');
export const BY_ZERO = new Failure('It divides by zero.');
export const OUT_OF_RANGE = new Failure('An index is out of range.');
export const NO_CONVERSION = new Failure('A value cannot be converted.');
export const DUPLICATE_KEY = new Failure('A map has the same key twice.');
export const NO_UNICODE = new Failure('A text is not valid Unicode.');
export const TOO_MUCH_WORK = new Failure('It needs more steps than a check may use.');
export const BROKEN = new Failure('It could not be evaluated.');
export const NO_BOOL = new Failure('Its result is neither true nor false.');
export const NO_NUMBER = new Failure('Its result is not a number.');

export type Value = unknown;

const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 63n - 1n;

/** A double as a value. */
export function double(value: number): number | Double {
  return Number.isInteger(value) || !Number.isFinite(value) ? new Double(value) : value;
}

/** An int as a value, or a failure beyond 64 bits. */
export function integer(value: bigint): number | bigint | Failure {
  const short = Number(value);
  if (Number.isSafeInteger(short)) return short;
  return value >= MIN_INT && value <= MAX_INT ? value : OVERFLOW;
}

/** What was parsed from JSON, or made by a condition, as a value. */
export function adopt(raw: unknown): Value {
  if (typeof raw === 'number') {
    if (Number.isSafeInteger(raw) || !Number.isInteger(raw)) return raw;
    return integer(BigInt(raw));
  }
  if (raw === undefined) return ABSENT;
  return raw instanceof ExactNumber ? fromExact(raw) : raw;
}

/** Long numbers are converted once, because a condition may read the same one in a loop. */
const converted = new WeakMap<ExactNumber, Value>();

function fromExact(number: ExactNumber): Value {
  let value = converted.get(number);
  if (value === undefined) {
    value = fromText(number.text);
    converted.set(number, value);
  }
  return value;
}

const PARTS = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
const ZERO = 0x30;
/** 2^63 has this many digits. */
const MAX_DIGITS = 19;

function fromText(text: string): Value {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = PARTS.exec(text) ?? [];
  const digits = whole + fraction;
  let start = 0;
  let end = digits.length;
  while (start < end && digits.charCodeAt(start) === ZERO) start++;
  while (end > start && digits.charCodeAt(end - 1) === ZERO) end--;
  if (start === end) return 0;
  const power = Number(exponent) - fraction.length + digits.length - end;
  if (power >= 0) {
    if (end - start + power > MAX_DIGITS) return OVERFLOW;
    return integer(BigInt(sign + digits.slice(start, end) + '0'.repeat(power)));
  }
  const value = Number(text);
  return Number.isFinite(value) ? new Double(value, text) : TOO_LARGE;
}

/** The number behind an int or a double, or null. JavaScript compares numbers and bigints exactly. */
export function numberOf(value: Value): number | bigint | null {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  return value instanceof Double ? value.value : null;
}

/** The number of a double, or null for everything else, ints included. */
export function doubleOf(value: Value): number | null {
  if (typeof value === 'number') return Number.isInteger(value) ? null : value;
  return value instanceof Double ? value.value : null;
}

export function isInt(value: Value): value is number | bigint {
  return typeof value === 'number' ? Number.isInteger(value) : typeof value === 'bigint';
}

export function isMap(value: Value): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isSpecial(value);
}

/** Objects that stand for something else than a map. */
function isSpecial(value: object): boolean {
  return (
    value instanceof Double ||
    value instanceof Failure ||
    value instanceof TypeName ||
    value instanceof ExactNumber
  );
}

/** The name of a value's type. */
export function kindOf(value: Value): string {
  if (value === null) return 'null_type';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  if (isInt(value)) return 'int';
  if (doubleOf(value) !== null) return 'double';
  if (value instanceof TypeName) return 'type';
  return Array.isArray(value) ? 'list' : 'map';
}

export const TYPE_NAMES: ReadonlyMap<string, TypeName> = new Map(
  ['bool', 'int', 'double', 'string', 'list', 'map', 'null_type', 'type'].map(name => [
    name,
    new TypeName(name),
  ]),
);
