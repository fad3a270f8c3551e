// What people see of a definition: what they would not see stands apart, with its number.

import { expect, test } from 'bun:test';
import { type Part, partsOf } from '../../../src/core/definitions/signs.ts';

/** Boxes as a reader sees them. */
const read = (part: Part): string =>
  typeof part === 'string' ? part : `[${part.names.join(' ')} ${part.count}]`;
const shown = (text: string): string => partsOf(text).map(read).join('');

test('what is not seen, or passes for another letter, stands apart with its number', () => {
  expect(shown('pays \u202E001\u202C euros')).toBe('pays [U+202E 1]001[U+202C 1] euros');
  expect(shown('ig\u200B\u2060nore')).toBe('ig[U+200B U+2060 2]nore');
  expect(shown('раypal')).toBe('[U+0440 U+0430 2]ypal');
  expect(shown('a\u0000\u001Bb\uD800')).toBe('a[U+0000 U+001B 2]b[U+D800 1]');
  expect(shown('Get.\u{E0049}\u{E0067}')).toBe('Get.[U+E0049 U+E0067 2]');
});

test('of many in a row, the first ones are named and all are counted', () => {
  expect(partsOf('\u200B'.repeat(5000))).toEqual([{ names: Array(8).fill('U+200B'), count: 5000 }]);
});

test('what a reader can tell stays: line breaks, tabs, emoji, other scripts, and escapes that somebody typed', () => {
  for (const text of ['', 'a\n\n\tb', '⚠️ 👩‍💻 1️⃣', 'Ελλάδα перевод 東京', 'a \\u{202E} b', '\\u{200B}'])
    expect(partsOf(text)).toEqual(text === '' ? [] : [text]);
  expect(partsOf('a\r\nb\rc')).toEqual(['a\nb\nc']);
  // An emoji keeps its joiner; the same joiner between letters does not.
  expect(shown('a\u200Db 👩‍💻')).toBe('a[U+200D 1]b 👩‍💻');
});

test('after an escape that somebody typed, positions are still right', () => {
  expect(shown('\\u{202E}\u202E⚠️\u200Bx')).toBe('\\u{202E}[U+202E 1]⚠️[U+200B 1]x');
});
