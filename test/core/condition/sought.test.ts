// The texts that a condition looks for in a list, for warnings about names that are misspelt.

import { expect, test } from 'bun:test';
import { textsSought } from '../../../src/core/condition/condition.ts';

test.each<[string, [text: string, offset: number][]]>([
  ['"a" in marks', [['a', 0]]],
  ['args.x == "no" && !("a" in marks)', [['a', 20]]],
  [
    'marks.exists(m, m == "a" || "b" != m)',
    [
      ['a', 21],
      ['b', 28],
    ],
  ],
  [
    '["a", "b"].all(m, m in marks)',
    [
      ['a', 1],
      ['b', 6],
    ],
  ],
  [
    'marks == ["a"] ? true : ["b"] != marks',
    [
      ['a', 10],
      ['b', 25],
    ],
  ],
  [
    'marks.all(m, m in ["x", "y"])',
    [
      ['x', 19],
      ['y', 24],
    ],
  ],
  ['args.to.exists(a, "c" in marks)', [['c', 18]]],
  ['marks.exists(marks, marks == "w")', [['w', 29]]],
  ['{"k": "d" in marks}["k"]', [['d', 6]]],
  ['size(marks.filter(m, m == "e")) == 1', [['e', 26]]],
  ['args.l.map(x, "f" in marks, x).size() > 0', [['f', 14]]],
  // Other lists, and what only looks like the variable.
  ['"a" in args.marks', []],
  ['args.marks == "a"', []],
  ['args.l.exists(marks, "a" in marks)', []],
  ['marks.exists(m, args.l.exists(m, m == "a"))', []],
  ['size(marks) > 1', []],
  ['args.name in marks', []],
])('%s', (source, wanted) => {
  expect(textsSought(source, 'marks').map(({ text, offset }) => [text, offset])).toEqual(wanted as never);
});
