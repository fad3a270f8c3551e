// Decimal numbers without rounding, as limits add them up: amounts are whole multiples of a unit, or they are not counted.

/** A number without rounding: digits × 10^exponent. The digits end in no zero, unless they are 0. */
export interface Decimal {
  digits: bigint;
  exponent: number;
}

const NUMBER = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
/** A double has at most 17 digits and an int 19. Reading more would take long. */
const MAX_TEXT = 1000;
/** Larger powers of ten make no difference: no unit has this many factors 2 or 5, and each exceeds every limit. */
const MAX_POWER = 80;

/** More than every limit allows. Larger amounts are counted as this one. */
const TOO_MANY_UNITS = 2 ** 53;

/** How many units an amount is, or null if it is negative, no multiple of the unit or no number. */
export function unitsIn(amount: Decimal | null, unit: Decimal | null): number | null {
  if (amount === null || unit === null || amount.digits < 0n) return null;
  if (amount.digits === 0n) return 0;
  const power = amount.exponent - unit.exponent;
  // The digits of the amount end in no zero, so they are no multiple of ten.
  if (power < 0) return null;
  const scaled = amount.digits * 10n ** BigInt(Math.min(power, MAX_POWER));
  if (scaled % unit.digits !== 0n) return null;
  const units = scaled / unit.digits;
  return units > BigInt(TOO_MANY_UNITS) ? TOO_MANY_UNITS : Number(units);
}

/** So many units as a number, which is rounded only if a double cannot hold it. */
export function numberOf(units: number, { digits, exponent }: Decimal): number {
  return Number(`${BigInt(units) * digits}e${exponent}`);
}

/** Reads a JSON number. */
export function readDecimal(text: string): Decimal | null {
  if (text.length > MAX_TEXT) return null;
  const [, sign, whole, fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  if (whole === undefined) return null;
  const written = whole + fraction;
  let end = written.length;
  while (end > 1 && written[end - 1] === '0') end--;
  const digits = BigInt(written.slice(0, end));
  const power = Number(exponent) - fraction.length + written.length - end;
  return { digits: sign === '-' ? -digits : digits, exponent: power };
}
