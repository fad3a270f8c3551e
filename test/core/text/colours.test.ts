// Colours for values that approvers read: the parts are the text itself, and take time in proportion to it.

import { describe, expect, test } from 'bun:test';
import { type Language, languageOf, partsOf } from '../../../src/core/text/colours.ts';

const LANGUAGES: Language[] = ['json', 'sql', 'shell', 'diff'];
const textOf = (text: string, language: Language | null) =>
  partsOf(text, language)
    .map(part => part.text)
    .join('');

describe('whatever a text is, its parts are all of it', () => {
  const pieces = [
    '"',
    "'",
    '\\',
    '`',
    '/*',
    '*/',
    '--',
    '#',
    '\n',
    '$(',
    '+',
    '-',
    '@@ ',
    '{',
    ':',
    'é',
    '😀',
    ' ',
    'drop',
    '0x',
    ';',
  ];
  // A small generator with a seed, so that a failure comes again.
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  for (const language of LANGUAGES)
    test(language, () => {
      for (let round = 0; round < 500; round++) {
        const text = Array.from({ length: random(40) }, () => pieces[random(pieces.length)]).join('');
        expect(textOf(text, language)).toBe(text);
      }
    });

  test('hostile and long ones too, in their time', () => {
    for (const language of LANGUAGES)
      for (const piece of [
        '"',
        "'",
        '\\"',
        '/*',
        '*',
        '`',
        '"a" ',
        '{"',
        '$',
        '-',
        '--',
        '#',
        ' ',
        '\n',
        '0',
      ])
        for (const length of [60_000, 300_000]) {
          const text = piece.repeat(length / piece.length);
          expect(textOf(text, language) === text).toBe(true);
        }
  });
});

const kinds = (text: string, language: Language) =>
  partsOf(text, language)
    .filter(part => part.kind !== null)
    .map(part => `${part.kind} ${part.text}`);

test('each language has its colours', () => {
  expect(kinds('{"a": ["x\\"y", -1.5e3, null]}', 'json')).toEqual([
    'name "a"',
    'string "x\\"y"',
    'number -1.5e3',
    'word null',
  ]);
  expect(kinds("DELETE FROM t1 -- all\nWHERE a = 'it''s' /* b */;", 'sql')).toEqual([
    'word DELETE',
    'word FROM',
    'comment -- all',
    'word WHERE',
    "string 'it'",
    "string 's'",
    'comment /* b */',
    'sign ;',
  ]);
  expect(kinds('rm -rf "$HOME/a" && echo $X # gone', 'shell')).toEqual([
    'name -rf',
    'string "$HOME/a"',
    'sign &&',
    'word $X',
    'comment # gone',
  ]);
  expect(kinds('--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same', 'diff')).toEqual([
    'part --- a\n',
    'part +++ b\n',
    'part @@ -1 +1 @@\n',
    'removed -old\n',
    'added +new\n',
  ]);
});

test('the language is known by the name of an argument and the beginning of its value', () => {
  for (const [path, value, language] of [
    ['command', 'ls', 'shell'],
    ['steps[0].cmd', 'ls', 'shell'],
    ['query', 'select 1', 'sql'],
    ['text', 'SELECT 1', 'sql'],
    ['text', 'Select the best', null],
    ['query', 'weather in Rome', null],
    ['body', '{"a":1}', 'json'],
    ['body', '{a}', null],
    ['patch', '*** Begin Patch\n', 'diff'],
    ['text', 'some words', null],
  ] as const)
    expect([path, value, languageOf(path, value)]).toEqual([path, value, language]);
});
