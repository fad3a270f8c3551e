// String literals of CEL: four kinds of quotes, raw strings, and escapes.

import { ConditionFault } from './fault.ts';

export const STRING_START = /(?:[rR][bB]?|[bB][rR]?)?["']/y;
const PREFIX = /[rRbB]*/y;
const SIMPLE: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '?': '?',
  '"': '"',
  "'": "'",
  '`': '`',
};
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, X: 2, u: 4, U: 8 };
const UNKNOWN_ESCAPE = 'unknown escape in a string; in r"…", a backslash is a backslash';
const OCTAL = /[0-3][0-7]{2}/y;

export function readString(source: string, offset: number): { value: string; end: number } {
  PREFIX.lastIndex = offset;
  const prefix = PREFIX.exec(source)![0];
  if (/b/i.test(prefix)) throw new ConditionFault('bytes are not supported', offset);
  const raw = prefix !== '';
  let at = offset + prefix.length;
  const one = source[at]!;
  const quote = source.startsWith(one.repeat(3), at) ? one.repeat(3) : one;
  at += quote.length;
  let value = '';
  while (!source.startsWith(quote, at)) {
    const character = source[at];
    if (character === undefined || (quote.length === 1 && character === '\n')) {
      throw new ConditionFault('the string has no end', offset);
    }
    // Implementations of CEL disagree on whether it becomes a line feed.
    if (character === '\r') throw new ConditionFault('a string must not contain a carriage return', at);
    if (character === '\\' && !raw) {
      const escaped = readEscape(source, at);
      value += escaped.value;
      at = escaped.end;
    } else {
      value += character;
      at++;
    }
  }
  return { value, end: at + quote.length };
}

function readEscape(source: string, at: number): { value: string; end: number } {
  const kind = source[at + 1] ?? '';
  const simple = Object.hasOwn(SIMPLE, kind) ? SIMPLE[kind] : undefined;
  if (simple !== undefined) return { value: simple, end: at + 2 };
  OCTAL.lastIndex = at + 1;
  const octal = OCTAL.exec(source);
  if (octal !== null) return { value: String.fromCharCode(Number.parseInt(octal[0], 8)), end: at + 4 };
  const length = Object.hasOwn(HEX_DIGITS, kind) ? HEX_DIGITS[kind] : undefined;
  if (length === undefined) throw new ConditionFault(UNKNOWN_ESCAPE, at);
  const digits = source.slice(at + 2, at + 2 + length);
  const code = Number.parseInt(digits, 16);
  if (
    digits.length < length ||
    /[^0-9a-fA-F]/.test(digits) ||
    code > 0x10ffff ||
    (code >= 0xd800 && code < 0xe000)
  ) {
    throw new ConditionFault('this escape names no character', at);
  }
  return { value: String.fromCodePoint(code), end: at + 2 + length };
}
