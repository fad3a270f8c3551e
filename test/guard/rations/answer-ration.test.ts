import { expect, test } from 'bun:test';
import { SMALL_ANSWER_BYTES } from '../../../src/guard/rations/answer-ration.ts';
import { ANSWER_BYTES, Rations } from '../../../src/guard/rations/rations.ts';

const forever = new AbortController().signal;
const LARGE = SMALL_ANSWER_BYTES + 1;

test('a small answer neither counts nor waits; one that becomes large counts whole', async () => {
  const rations = new Rations();
  const ration = rations.answer('a');
  expect(ration.grow(SMALL_ANSWER_BYTES, forever)).toBeNull();
  expect([ration.isLarge, rations.held.answers]).toEqual([false, 0]);
  expect(ration.turn(SMALL_ANSWER_BYTES)).toBeNull();
  await ration.grow(1, forever);
  expect([ration.isLarge, rations.held.answers]).toEqual([true, LARGE]);
  const turn = ration.turn(LARGE);
  expect(turn).not.toBeNull();
  await turn;
  ration.shrink(2);
  expect([ration.isLarge, ration.bytes, rations.held.answers]).toEqual([false, LARGE - 2, LARGE - 2]);
  ration.free();
  ration.free();
  expect(rations.held.answers).toBe(0);
});

test('what it keeps is given back with it, once, and at once if it was given back before', () => {
  const ration = new Rations().answer('a');
  let given = 0;
  ration.keep(() => given++);
  expect(given).toBe(0);
  ration.free();
  ration.free();
  expect(given).toBe(1);
  ration.keep(() => given++);
  expect(given).toBe(2);
});

test('an answer that nobody wants any more takes nothing, not even what it was waiting for', async () => {
  const rations = new Rations();
  const [oldest, waiting] = [rations.answer('a'), rations.answer('a')];
  await oldest.grow(ANSWER_BYTES, forever);
  const room = waiting.grow(LARGE, forever);
  waiting.free();
  oldest.free();
  await room;
  expect(rations.held.answers).toBe(0);
  expect(waiting.grow(LARGE, forever)).toBeNull();
  expect(rations.held.answers).toBe(0);
});

test('an answer takes over what was counted for it, and keeps its age', async () => {
  const rations = new Rations();
  const [message, call, other] = [rations.answer('a'), rations.answer('a'), rations.answer('a')];
  await message.grow(ANSWER_BYTES, forever);
  let grown = false;
  const waiting = other.grow(LARGE, forever)?.then(() => {
    grown = true;
  });
  call.adopt(message);
  expect([call.bytes, rations.held.answers]).toEqual([ANSWER_BYTES, ANSWER_BYTES]);
  // It is still the oldest, so it does not wait.
  await call.grow(10, forever);
  expect(grown).toBe(false);
  call.free();
  await waiting;
  other.free();
  expect(rations.held.answers).toBe(0);
});

test('an answer of several messages gives all of them back; one that came too late is given back at once', async () => {
  const rations = new Rations();
  const call = rations.answer('a');
  for (let n = 0; n < 2; n++) {
    const message = rations.answer('a');
    await message.grow(LARGE, forever);
    call.adopt(message);
  }
  expect(rations.held.answers).toBe(2 * LARGE);
  call.free();
  expect(rations.held.answers).toBe(0);
  for (let n = 0; n < 2; n++) {
    const late = rations.answer('a');
    await late.grow(LARGE, forever);
    call.adopt(late);
    expect(rations.held.answers).toBe(0);
  }
});
