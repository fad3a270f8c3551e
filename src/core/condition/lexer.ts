// Cuts a condition into tokens, as the CEL specification writes them. What CEL has and this subset lacks (unsigned
// integers, bytes, quoted fields, optional syntax) is refused here by name.

import { ConditionFault } from './fault.ts';
import { readString, STRING_START } from './string-literal.ts';
import { double, type Value } from './values.ts';

export interface Token {
  kind: 'name' | 'int' | 'literal' | 'symbol' | 'end';
  /** As it stands in the condition. */
  text: string;
  /** The value of a double or a string. Ints stay text, because their range depends on the sign before them. */
  value?: Value;
  type?: 'double' | 'string';
  offset: number;
}

const SPACE = /(?:[ \t\n\f\r]+|\/\/[^\n]*)+/y;
const NAME = /[_a-zA-Z][_a-zA-Z0-9]*/y;
const DOUBLE = /(?:[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)/y;
const INT = /(?:0x[0-9a-fA-F]+|[0-9]+)/y;
const CURLY_QUOTE = /[\u2018-\u201f]/;
const SYMBOL = /(?:&&|\|\||[<>=!]=|[-+*/%<>!?:.,()[\]{}])/y;

export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found === null) return null;
    at = pattern.lastIndex;
    return found[0];
  };
  for (;;) {
    take(SPACE);
    const offset = at;
    if (at >= source.length) {
      tokens.push({ kind: 'end', text: '', offset });
      return tokens;
    }
    STRING_START.lastIndex = at;
    if (STRING_START.test(source)) {
      const { value, end } = readString(source, at);
      at = end;
      tokens.push({ kind: 'literal', text: source.slice(offset, end), value, type: 'string', offset });
      continue;
    }
    const name = take(NAME);
    if (name !== null) {
      tokens.push({ kind: 'name', text: name, offset });
      continue;
    }
    const number = take(DOUBLE);
    if (number !== null) {
      const value = Number(number);
      if (!Number.isFinite(value)) throw new ConditionFault(`the number ${number} is too large`, offset);
      tokens.push({ kind: 'literal', text: number, value: double(value), type: 'double', offset });
    } else {
      const int = take(INT);
      if (int === null) {
        tokens.push({ kind: 'symbol', text: symbolAt(source, offset, take(SYMBOL)), offset });
        continue;
      }
      if (/[uU]/.test(source[at] ?? '')) {
        throw new ConditionFault('unsigned integers are not supported; leave out the "u"', at);
      }
      tokens.push({ kind: 'int', text: int, offset });
    }
    if (take(NAME) !== null) throw new ConditionFault('a name cannot follow a number directly', offset);
  }
}

function symbolAt(source: string, offset: number, symbol: string | null): string {
  if (symbol !== null) return symbol;
  const [character = ''] = source.slice(offset, offset + 2);
  switch (character) {
    case '=':
      throw new ConditionFault('"=" is not an operator; equality is "=="', offset);
    case '&':
    case '|':
      throw new ConditionFault(`"${character}" is not an operator; use "${character}${character}"`, offset);
    case '`':
      throw new ConditionFault('fields in backticks are not supported; write ["name"]', offset);
  }
  const code = character.codePointAt(0)!;
  const shown =
    code > 0x20 && code < 0x7f ? `"${character}"` : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  const hint = CURLY_QUOTE.test(character) ? '; strings have straight quotes, " or \'' : '';
  throw new ConditionFault(`unexpected character ${shown}${hint}`, offset);
}
