// The order of texts, searching in them and in lists, against plain versions of the same.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { compareText, equal, isIn } from '../../../src/core/condition/compare.ts';
import { indexIn } from '../../../src/core/condition/search.ts';
import { Steps } from '../../../src/core/condition/steps.ts';
import { OVERFLOW } from '../../../src/core/condition/values.ts';
import { codePoints } from '../../../src/core/text/text-length.ts';
import { parseJson } from '../../../src/core/wire/json.ts';

const SEED = { seed: 14, numRuns: 2_000 };
// Both halves of pairs, also alone, and their neighbours.
const units = ['a', '\ud7ff', '\ud800', '\ud83d', '\udbff', '\udc00', '\ude00', '\udfff', '\ue000', '\uffff'];
const texts = fc.string({ unit: fc.constantFrom(...units), maxLength: 5 });

const points = (text: string) => Array.from(text, each => each.codePointAt(0)!);

function plainOrder(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((each, place) => each !== b[place]);
  if (at < 0) return a.length - b.length;
  return b[at] === undefined ? 1 : a[at]! - b[at];
}

test('texts are ordered by code points', () => {
  fc.assert(
    fc.property(texts, texts, (a, b) => {
      expect(Math.sign(compareText(a, b))).toBe(Math.sign(plainOrder(points(a), points(b))));
      expect(codePoints(a)).toBe(points(a).length);
    }),
    SEED,
  );
});

test('a long text is found where the runtime finds it', () => {
  const few = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 120 });
  const needles = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 15, maxLength: 20 });
  fc.assert(
    fc.property(few, needles, few, fc.nat(60), (before, needle, after, from) => {
      const text = before + needle + after;
      expect(indexIn(text, needle, from)).toBe(text.indexOf(needle, from));
      expect(indexIn(before, needle, from)).toBe(before.indexOf(needle, from));
    }),
    SEED,
  );
});

test('in a list, a failure counts only where nothing equals the value', () => {
  const list = parseJson('[1e30, 2, "a"]') as unknown[];
  expect(isIn('a', list, new Steps())).toBe(true);
  expect(isIn(3, list, new Steps())).toBe(OVERFLOW);
  expect(isIn(3, [...list].reverse(), new Steps())).toBe(OVERFLOW);
  expect(isIn(3, [1, 2], new Steps())).toBe(false);
});

test('equality costs a step for each element, and none for texts of different lengths', () => {
  const cost = (a: unknown, b: unknown) => {
    const steps = new Steps();
    equal(a, b, steps);
    return 5_000 - steps.left;
  };
  expect(cost([1, 2, 3], [1, 2, 3])).toBe(3);
  expect(cost([1, 2, 3], [1, 4, 3])).toBe(2);
  expect(cost([1], [1, 2])).toBe(0);
  expect(cost({ a: 1, b: 2 }, { a: 1, b: 2 })).toBe(2);
  expect(cost({ a: 1 }, { a: 1, b: 2 })).toBe(0);
  expect(cost('a'.repeat(2_560), 'a'.repeat(2_560))).toBe(10);
  expect(cost('a'.repeat(2_560), 'a'.repeat(2_561))).toBe(0);
});
