// JSON numbers that a double cannot represent exactly (long integers, many digits) are kept as text, so that calls with
// different numbers stay different.

/** A number that a double cannot represent exactly. */
export class ExactNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  /** JSON.stringify writes the number as it was read. */
  toJSON(): unknown {
    return rawJson(this.text);
  }
}

/** JSON.rawJSON is ECMAScript 2026; TypeScript's library types do not include it yet. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON: (text: string) => unknown };

/** The double if it is exactly the number that was written, else an ExactNumber with the text. */
export function exactly(text: string): number | ExactNumber {
  const value = Number(text);
  return Number.isFinite(value) && decimal(String(value)) === decimal(text) ? value : new ExactNumber(text);
}

const PARTS = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
const ZERO = 0x30;
/** No double has an exponent with more characters than this. */
const MAX_EXPONENT = 9;

/** The normal form of a number: its digits without zeros at either end, and a power of ten. */
function decimal(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = PARTS.exec(text) ?? [];
  if (exponent.length > MAX_EXPONENT) return text;
  const digits = whole + fraction;
  // Two loops, because /0+$/ takes quadratic time: 160,000 zeros and a one took 36 s.
  let start = 0;
  let end = digits.length;
  while (start < end && digits.charCodeAt(start) === ZERO) start++;
  while (end > start && digits.charCodeAt(end - 1) === ZERO) end--;
  if (start === end) return '0';
  return `${sign}${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}
