// The hidden characters of random texts, against a model that looks at one character after another with a table of its own.

import { expect, test } from 'bun:test';
import { hidesText, withoutUnseen } from '../../../src/core/definitions/hidden.ts';
import { skeletonOf } from '../../../src/core/definitions/skeleton.ts';
import { sized } from '../../support/when-changed.ts';

const PERSON = '\u{1F469}';
const HEART = '\u2764';
/** Each with whether it is hidden after the one before it and before the one after it. */
const PIECES: [piece: string, hidden: (before: string, after: string) => boolean][] = [
  ['a', () => false],
  ['\n', () => false],
  ['\t', () => false],
  ['1', () => false],
  ['\u6F22', () => false],
  ['\u20E3', () => false],
  [PERSON, () => false],
  [HEART, () => false],
  ['\u200B', () => true],
  ['\u202E', () => true],
  ['\u0007', () => true],
  ['\u{E0041}', () => true],
  ['\u{E0100}', () => true],
  ['\u3164', () => true],
  ['\uFE00', before => before !== '\u6F22'],
  [
    '\uFE0F',
    (before, after) => (before === '1' ? after !== '\u20E3' : before !== PERSON && before !== HEART),
  ],
  [
    '\u200D',
    (before, after) => (before !== PERSON && before !== HEART) || (after !== PERSON && after !== HEART),
  ],
];

let seed = 11;
const random = (below: number) => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor((seed / 2147483648) * below);
};

test('random texts: what is hidden is what the model says', () => {
  for (let round = 0; round < sized(30_000, 4000, 2000); round++) {
    const chosen = Array.from({ length: 1 + random(6) }, () => PIECES[random(PIECES.length)]!);
    const text = chosen.map(([piece]) => piece).join('');
    const piece = (at: number) => chosen[at]?.[0] ?? '';
    // After an emoji with its selector, a joiner joins like after the emoji alone.
    const before = (at: number) =>
      piece(at) === '\u200D' && piece(at - 1) === '\uFE0F' ? piece(at - 2) : piece(at - 1);
    const hidden = chosen.some(([, is], at) => is(before(at), piece(at + 1)));
    expect([shown(text), hidesText({ name: 'a', description: text })]).toEqual([shown(text), hidden]);
  }
});

test('skeletons: equal for what looks alike, and for all ways to write the same text', () => {
  for (const [one, other] of [
    ['paypal', 'раураl'],
    ['list', '1ist'],
    ['modern', 'rnodern'],
    ['ｐａｙ', 'pay'],
    ['café', 'cafe\u0301'],
    ['a\u200Bb', 'ab'],
  ])
    expect([one, skeletonOf(one!)]).toEqual([one, skeletonOf(other!)]);
  for (const [one, other] of [
    ['list', 'List'],
    ['search', 'serach'],
    ['a_b', 'a-b'],
  ])
    expect(skeletonOf(one!)).not.toBe(skeletonOf(other!));
  for (let round = 0; round < sized(20_000, 4000, 2000); round++) {
    const text = String.fromCodePoint(...Array.from({ length: 3 }, () => random(0xd800)));
    expect([shown(text), skeletonOf(text.normalize('NFC'))]).toEqual([shown(text), skeletonOf(text)]);
  }
});

test('what a reader sees has nothing hidden left', () => {
  expect(withoutUnseen('a\u200Bb\u{E0041}c\n')).toBe('abc\n');
});

const shown = (text: string) =>
  JSON.stringify(text).replace(/[^ -~]/gu, each => `<${each.codePointAt(0)!.toString(16)}>`);
