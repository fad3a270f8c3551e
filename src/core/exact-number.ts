// Numbers of JSON that a double would change (a long integer, too many digits): kept as their text, so that two
// different calls never look the same.

/** A number whose text says more than a double can hold. */
export class ExactNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  /** Written by JSON.stringify as it was read. */
  toJSON(): unknown {
    return rawJson(this.text);
  }
}

/** ECMAScript 2026; the library's types do not know it yet. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON: (text: string) => unknown };

/** A double when it stands for the very number that was written; else the text itself. */
export function exactly(text: string): number | ExactNumber {
  const value = Number(text);
  return Number.isFinite(value) && decimal(String(value)) === decimal(text) ? value : new ExactNumber(text);
}

const PARTS = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
const ZERO = 0x30;
/** No double has an exponent of more digits. */
const MAX_EXPONENT = 9;

/** A number's one spelling: its digits without zeros at either end, and the power of ten behind them. */
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
