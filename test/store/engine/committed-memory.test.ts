// What is remembered as surely in the store: only what was committed, the newest of it, and not without end.

import { expect, test } from 'bun:test';
import { CommittedMemory } from '../../../src/store/engine/committed-memory.ts';

/** As many are remembered at most. */
const REMEMBERED = 10_000;

function commit(memory: CommittedMemory<string, number>, entries: Record<string, number>): void {
  memory.begin();
  for (const [key, value] of Object.entries(entries)) memory.set(key, value);
  memory.committed();
}

test('a transaction sees what it wrote; others see it once it is committed', () => {
  const memory = new CommittedMemory<string, number>();
  commit(memory, { a: 1, b: 1 });
  memory.begin();
  memory.set('a', 2);
  expect([memory.get('a'), memory.get('b'), memory.get('c')]).toEqual([2, 1, undefined]);
  // It was rolled back.
  memory.begin();
  expect(memory.get('a')).toBe(1);
  memory.set('a', 3);
  memory.committed();
  memory.begin();
  expect(memory.get('a')).toBe(3);
});

test('beyond so many it starts anew with what was written last', () => {
  const memory = new CommittedMemory<string, number>();
  commit(memory, Object.fromEntries(Array.from({ length: REMEMBERED - 1 }, (_, n) => [`${n}`, n])));
  commit(memory, { last: 1 });
  expect([memory.get('0'), memory.get('last')]).toEqual([0, 1]);
  commit(memory, { more: 2 });
  expect([memory.get('0'), memory.get('last'), memory.get('more')]).toEqual([undefined, undefined, 2]);
});
