// Where a character of a scalar is written: every character that is no blank is found exactly, in each style of YAML.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { isMap, parseDocument, type Scalar, stringify } from 'yaml';
import { placeInScalar } from '../../../src/core/policy-file/yaml-scalar.ts';

function scalarIn(text: string): Scalar {
  const { contents, errors } = parseDocument(text);
  if (errors.length > 0 || !isMap(contents)) throw new Error(`This is no map: ${text}`);
  return contents.get('a', true) as Scalar;
}

/** What stands in the text at the place of the character that is marked with @ in the value, up to the next blank. */
function found(text: string): string {
  const scalar = scalarIn(text);
  const at = String(scalar.value).indexOf('@');
  return text.slice(placeInScalar(text, scalar, at)).split(/[\s"']/)[0] ?? '';
}

test('in every style, over several lines too', () => {
  const texts = [
    'a: one two @here',
    'a: one\n   two\n\n   @here',
    "a: 'it''s ''@here'",
    "a: 'one\n  two ''x''\n\n  @here'",
    'a: "\\"one\\"\\t\\u00e9\\x41\\U0001F600 @here"',
    'a: "one \\\n  two\\\n  three\n\n  @here"',
    'a: "one\\n\\\\@here"',
    'a: &anchor !!str x @here',
    'a: |\n  one\n    two\n\n  @here\n',
    'a: |2- # a comment\n    one\n  @here',
    'a: >\n  one\n  two\n\n    more\n  @here\n',
    'a: >+\n\n  one\n  @here\n\n\nb: 1\n',
    'a: |\r\n  one\r\n  @here\r\n',
    '{"b": 1, "a": "x \\u0020 \\/ @here"}',
  ];
  for (const text of texts) expect([text, found(text)]).toEqual([text, '@here']);
});

test('the end is behind the last character, and a blank is where it stands', () => {
  const place = (text: string, at: number) => placeInScalar(text, scalarIn(text), at);
  expect(place('a: one', 3)).toBe(6);
  expect(place("a: 'one'", 3)).toBe(7);
  expect(place('a: |\n  one\n\nb: 1', 4)).toBe(10);
  expect(place('a: one  two', 4)).toBe(7);
  expect(place('a: ""', 0)).toBe(3);
  expect(place('a: one', 99)).toBe(6);
});

test('whatever the YAML library writes', () => {
  const part = fc.constantFrom(
    'a',
    "'",
    '"',
    '\\',
    ' ',
    '\n',
    '\t',
    'é',
    '😀',
    '#',
    ':',
    '- ',
    '{',
    '|',
    '\u0085',
    '%',
  );
  const style = fc.constantFrom('PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE', 'BLOCK_LITERAL', 'BLOCK_FOLDED');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), fc.nat(40), style, (parts, position, type) => {
      const value = [...parts.slice(0, position), '@', ...parts.slice(position)].join('');
      const text = stringify({ b: 1, a: value }, { defaultStringType: type as 'PLAIN', lineWidth: 20 });
      const scalar = scalarIn(text);
      fc.pre(scalar.value === value);
      expect(text[placeInScalar(text, scalar, value.indexOf('@'))]).toBe('@');
    }),
    { numRuns: 500 },
  );
});
