// The part of a line that was changed.

import { expect, test } from 'bun:test';
import { changedPart, otherVersions } from '../../../src/core/text/changed-part.ts';
import { diffLines } from '../../../src/core/text/diff.ts';

const parts = (before: string, after: string) => {
  const found = changedPart(before, after);
  expect(found.start + found.before + found.end).toBe(before);
  expect(found.start + found.after + found.end).toBe(after);
  return [found.start, found.before, found.after, found.end];
};

test('is what lies between the beginning and the end that both have, in whole words', () => {
  expect(parts('Reads one page.', 'Reads all pages.')).toEqual(['Reads ', 'one page.', 'all pages.', '']);
  expect(parts('to read a page', 'to send a page')).toEqual(['to ', 'read', 'send', ' a page']);
  expect(parts('to read a page', 'to read and send a page')).toEqual([
    'to read ',
    'a',
    'and send a',
    ' page',
  ]);
  // The letters around a changed one belong to its word, by which it is seen to be of another script.
  expect(parts('pay раypal now', 'pay paypal now')).toEqual(['pay ', 'раypal', 'paypal', ' now']);
});

test('is all of it where nothing is the same, and nothing where all is', () => {
  expect(parts('', '')).toEqual(['', '', '', '']);
  expect(parts('', 'a b')).toEqual(['', '', 'a b', '']);
  expect(parts('a b', 'c d')).toEqual(['', 'a b', 'c d', '']);
  const [, before, after] = parts('a b', 'a b');
  expect(before).toBe(after as string);
});

test('holds for any two texts', () => {
  const words = ['a', 'ab', ' ', 'b', '  ', '😀', 'а'];
  let seed = 7;
  const next = () => {
    seed = (seed * 48271) % 2147483647;
    return seed;
  };
  const text = () => Array.from({ length: next() % 9 }, () => words[next() % words.length]).join('');
  for (let round = 0; round < 2000; round++) {
    const [start = '', , , end = ''] = parts(text(), text());
    expect(start === '' || start.endsWith(' ')).toBe(true);
    expect(end === '' || end.startsWith(' ')).toBe(true);
  }
});

test('lines are versions of one another if they stand alone together, or are the same member of an object', () => {
  const versions = (before: string[], after: string[]) => {
    const lines = diffLines(before, after);
    return [...otherVersions(lines)].map(([at, other]) => [lines[at], other] as never);
  };
  expect(versions(['a', 'b', 'c'], ['a', 'd', 'c'])).toEqual([
    [{ mark: '-', text: 'b' }, 'd'],
    [{ mark: '+', text: 'd' }, 'b'],
  ] as never);
  const [before, after] = ['  "description": "Reads."', '  "description": "Reads and sends."'];
  expect(versions(['{', before], ['{', '  "title": "x",', after])).toEqual([
    [{ mark: '-', text: before }, after],
    [{ mark: '+', text: after }, before],
  ] as never);
  // Of several with one name, nobody knows which is which.
  expect(versions([before, before], [after, after])).toEqual([]);
  expect(versions(['a', 'b'], ['c', 'd'])).toEqual([]);
  expect(versions(['a'], ['a', 'b'])).toEqual([]);
});
