// Differences between two texts: they turn the one into the other, with as few lines as possible; only texts too
// large to compare pair by pair are shown as wholly replaced.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { diffLines, type Line, nearChanges } from '../../../src/core/text/diff.ts';

const sideOf = (lines: readonly Line[], gone: '-' | '+') =>
  lines.filter(({ mark }) => mark !== gone).map(({ text }) => text);
const shown = (before: string, after: string) =>
  diffLines(before.split(''), after.split(''))
    .map(({ mark, text }) => mark + text)
    .join(' ');

/** The length of the longest common subsequence, by trying everything. */
function longest(a: readonly string[], b: readonly string[]): number {
  const [first, ...rest] = a;
  if (first === undefined || b.length === 0) return 0;
  const at = b.indexOf(first);
  const taken = at < 0 ? 0 : 1 + longest(rest, b.slice(at + 1));
  return Math.max(taken, longest(rest, b));
}

test('they give both texts back, and keep as many lines as can be kept', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 9 });
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before, after);
      expect(sideOf(lines, '+')).toEqual(before);
      expect(sideOf(lines, '-')).toEqual(after);
      expect(lines.filter(({ mark }) => mark === ' ').length).toBe(longest(before, after));
    }),
    { numRuns: 2000 },
  );
});

test('what goes stands before what comes in its place', () => {
  expect(shown('abc', 'axc')).toBe(' a -b +x  c');
  expect(shown('abcd', 'axyd')).toBe(' a -b -c +x +y  d');
  expect(shown('ab', 'abc')).toBe(' a  b +c');
  expect(shown('abc', 'bc')).toBe('-a  b  c');
});

test('four million pairs of lines are compared, and more are not', () => {
  const side = (name: string, length: number) =>
    Array.from({ length }, (_, at) => (at === 1000 ? 'shared' : `${name}${at}`));
  const kept = (before: number, after: number) =>
    diffLines(side('a', before), side('b', after)).filter(({ mark }) => mark === ' ').length;
  expect(kept(2000, 2000)).toBe(1);
  expect(kept(2001, 2000)).toBe(0);
});

test('what both ends share is set aside, however long it is', () => {
  const shared = Array.from({ length: 5000 }, (_, at) => `line ${at}`);
  const changed = (before: readonly string[], after: readonly string[]) =>
    diffLines(before, after).filter(({ mark }) => mark !== ' ');
  const [gone, came] = [
    { mark: '-', text: 'old' },
    { mark: '+', text: 'new' },
  ] as const;
  expect(changed(['old', ...shared], ['new', ...shared])).toEqual([gone, came]);
  expect(changed([...shared, 'old'], [...shared, 'new'])).toEqual([gone, came]);
  expect(changed([...shared, 'old', ...shared], [...shared, 'new', ...shared])).toEqual([gone, came]);
  expect(changed([...shared, ...shared], [...shared, 'new', ...shared])).toEqual([came]);
});

test('equal lines far from every change are counted', () => {
  const near = (marks: string, around: number) =>
    nearChanges(
      marks.split('').map((mark, at) => ({ mark: mark === '.' ? ' ' : mark, text: `${at}` }) as Line),
      around,
    )
      .map(line => (line.mark === '…' ? `(${line.count})` : line.text))
      .join(' ');
  expect(near('......+..-.......', 2)).toBe('(4) 4 5 6 7 8 9 10 11 (5)');
  expect(near('+....-', 1)).toBe('0 1 (2) 4 5');
  expect(near('+..-', 1)).toBe('0 1 2 3');
  expect(near('...', 1)).toBe('(3)');
  expect(near('-+', 3)).toBe('0 1');
});
