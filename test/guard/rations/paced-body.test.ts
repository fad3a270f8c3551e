import { expect, test } from 'bun:test';
import { type Paced, pacedAnswer, pacedBody } from '../../../src/guard/rations/paced-body.ts';

const PIECE = 64 * 1024;

test('an answer is handed out piece by piece as it is read, and given back after the last', async () => {
  let [freed, read] = [0, 0];
  const bytes = new Uint8Array(2 * PIECE + 10).fill(7);
  const reader = pacedAnswer(
    bytes,
    () => freed++,
    () => read++,
  ).getReader();
  const sizes: number[] = [];
  for (let each = await reader.read(); !each.done; each = await reader.read()) {
    sizes.push(each.value.length);
    // One piece is handed out before it is asked for.
    expect(read).toBeLessThanOrEqual(sizes.length + 1);
  }
  expect(sizes).toEqual([PIECE, PIECE, 10]);
  expect(freed).toBe(1);
});

test('an answer whose client goes is given back', async () => {
  let freed = 0;
  const body = pacedAnswer(
    new Uint8Array(5 * PIECE),
    () => freed++,
    () => {},
  );
  const reader = body.getReader();
  await reader.read();
  expect(freed).toBe(0);
  await reader.cancel();
  expect(freed).toBe(1);
});

test('parts follow each other, each given back when it is read, and a client may go while the next is awaited', async () => {
  const freed: number[] = [];
  const parts: Paced[] = [1, 2].map(n => ({ bytes: Uint8Array.of(n), free: () => freed.push(n) }));
  let gone = 0;
  const told: string[] = [];
  const next = () => parts.shift() ?? new Promise<null>(() => {});
  const waiting = () => told.push('waiting');
  const reading = () => told.push('reading');
  const reader = pacedBody({ next, waiting, reading, gone: () => gone++ }).getReader();
  expect([(await reader.read()).value, (await reader.read()).value]).toEqual([
    Uint8Array.of(1),
    Uint8Array.of(2),
  ]);
  expect(freed).toEqual([1, 2]);
  await new Promise(setImmediate);
  // Its time to read does not run while there is nothing to read.
  expect(told).toEqual(['waiting', 'reading', 'waiting', 'reading', 'waiting']);
  await reader.cancel();
  expect(gone).toBe(1);
});
