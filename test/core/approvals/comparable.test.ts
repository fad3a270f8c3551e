// Which values of a call a grant can be bound to, and that finding them is bounded.

import { expect, test } from 'bun:test';
import { comparableText, comparableValues } from '../../../src/core/approvals/comparable.ts';
import { type Json, parseJson } from '../../../src/core/wire/json.ts';

const shown = (args: Json | undefined) =>
  comparableValues(args).map(({ path, text }) => [path.join('/'), text]);

test('lists, objects and what they hold, broad before deep', () => {
  expect(shown({ b: { c: [1, { d: null }] }, a: 'x', e: [] })).toEqual([
    ['b', '{"c":[1,{"d":null}]}'],
    ['a', '"x"'],
    ['e', '[]'],
    ['b/c', '[1,{"d":null}]'],
    ['b/c/0', '1'],
    ['b/c/1', '{"d":null}'],
    ['b/c/1/d', 'null'],
  ]);
  for (const none of [undefined, null, {}, [], 'text', 1]) expect(shown(none)).toEqual([]);
  expect(shown(['a', true])).toEqual([
    ['0', '"a"'],
    ['1', 'true'],
  ]);
});

test('equal values have equal texts, and others have not', () => {
  expect(comparableText({ b: 1, a: [1.0] })).toBe(comparableText({ a: [1], b: 1 }) as string);
  const different = [1, '1', true, 'true', null, 'null', [], {}, [1], { 1: 1 }, '', ' ', 'é', 'e\u0301'];
  expect(new Set(different.map(comparableText)).size).toBe(different.length);
  const exact = (text: string) => comparableText(parseJson(text));
  expect(exact('9007199254740993')).not.toBe(exact('9007199254740992'));
});

test('only the first hundred values, also of arguments that are broad or deep', () => {
  const broad = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`k${index}`, index]));
  expect(shown(broad).at(-1)).toEqual(['k99', '99']);
  expect(shown({ list: Array(5000).fill(0), amount: 1 }).slice(0, 2)).toEqual([
    ['amount', '1'],
    ['list/0', '0'],
  ]);
  let deep: Json = 'end';
  for (let level = 0; level < 150; level++) deep = { deep };
  // What is left of the room for lists and objects after the outer ones is too little for more of them.
  expect(shown(deep)).toHaveLength(11);
  expect(
    shown({ deep, amount: 1, tag: ['a'] })
      .slice(0, 3)
      .map(([path]) => path),
  ).toEqual(['deep', 'amount', 'tag']);
});

test('a list or an object that is too large is left out; a text never is', () => {
  const long = 'x'.repeat(100_000);
  expect(comparableText(long)).toBe(JSON.stringify(long));
  expect(comparableText([long])).toBeNull();
  expect(comparableText({ [long]: 1 })).toBeNull();
  expect(comparableText(Array(3000).fill(1))).toBeNull();
  expect(comparableText([Array(3000).fill([[]])])).toBeNull();
  expect(comparableText(Array(900).fill(1))).not.toBeNull();
});
