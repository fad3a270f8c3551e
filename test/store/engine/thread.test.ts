// A thread answers in order, says why it refused, and tells everybody who waits when it has ended.

import { expect, test } from 'bun:test';
import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
// @ts-expect-error: the compiler does not know that a module can be imported as text.
import syncThread from '../../../src/store/engine/sync-thread.ts' with { type: 'text' };
import { Thread } from '../../../src/store/engine/thread.ts';
import { newDataDir } from '../../support/faults.ts';
import { refusal } from '../../support/refusal.ts';

/** Doubles a number; refuses 0, breaks at -1, ends at -2, and is silent at -3. */
const DOUBLING = `self.onmessage = ({ data }) => {
  if (data === 0) postMessage({ refusal: { message: 'nothing to double', code: 'EZERO' } });
  else if (data === -1) throw new Error('broken');
  else if (data === -2) process.exit();
  else if (data !== -3) postMessage({ result: 2 * data });
};`;

/** No process has so many files open. */
const NOT_OPEN = 2 ** 30;

test('orders are answered in their order, refusals too', async () => {
  const thread = new Thread<number, number>(DOUBLING);
  const answers = await Promise.allSettled([1, 0, 2].map(order => thread.ask(order)));
  expect(answers).toEqual([
    { status: 'fulfilled', value: 2 },
    { status: 'rejected', reason: expect.objectContaining({ message: 'nothing to double', code: 'EZERO' }) },
    { status: 'fulfilled', value: 4 },
  ]);
  expect(thread.ended).toBe(false);
  thread.end();
});

test('callers that wait for a thread that is ended get an error, and so do later ones', async () => {
  const thread = new Thread<number, number>(DOUBLING);
  const waiting = thread.ask(-3);
  thread.end();
  expect(thread.ended).toBe(true);
  expect(String(await refusal(waiting))).toContain('the thread was ended');
  expect(String(await refusal(thread.ask(1)))).toContain('the thread was ended');
});

for (const [what, order, message] of [
  ['breaks', -1, 'a thread ended: '],
  ['ends by itself', -2, 'a thread ended'],
] as const) {
  test(`callers that wait for a thread that ${what} get an error`, async () => {
    const thread = new Thread<number, number>(DOUBLING);
    const told = expect.objectContaining({ message: expect.stringContaining(message) });
    expect(await Promise.allSettled([thread.ask(order), thread.ask(-3)])).toEqual([
      { status: 'rejected', reason: told },
      { status: 'rejected', reason: told },
    ]);
    expect(thread.ended).toBe(true);
    expect(String(await refusal(thread.ask(1)))).toContain('a thread ended');
  });
}

test('the thread that syncs answers once the disk has it, or why it has not', async () => {
  const thread = new Thread<number, null>(syncThread);
  const folder = newDataDir();
  const file = openSync(join(folder, 'file'), 'w');
  expect(await thread.ask(file)).toBeNull();
  expect(await thread.ask(NOT_OPEN).catch(error => error.code)).toBe('EBADF');
  closeSync(file);
  thread.end();
  rmSync(folder, { recursive: true });
});
