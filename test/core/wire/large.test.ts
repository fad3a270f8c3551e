// From which size arguments are large: by their characters, and 128 for each value.

import { expect, test } from 'bun:test';
import { isLarge } from '../../../src/core/wire/large.ts';

const MOST = 65_536;
const VALUE = 128;

test('what has room is not large, and one character more is', () => {
  const text = (length: number) => 'x'.repeat(length);
  for (const [of, beside] of [
    [(length: number) => text(length), 0],
    [(length: number) => [text(length)], VALUE],
    [(length: number) => [text(length), 7, null], 3 * VALUE],
    [(length: number) => ({ name: text(length) }), VALUE + 4],
    [(length: number) => ({ a: [true, {}], b: text(length) }), 4 * VALUE + 2],
  ] as const) {
    const room = MOST - VALUE - beside;
    expect([isLarge(of(room)), isLarge(of(room + 1))]).toEqual([false, true]);
  }
  expect([isLarge(undefined), isLarge(null), isLarge({})]).toEqual([false, false, false]);
  expect([isLarge(Array(511).fill(0)), isLarge(Array(512).fill(0))]).toEqual([false, true]);
});
