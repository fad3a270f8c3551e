// Our own questions to the person at a client: what is taken out of their answers, and how long a call waits for them, with a
// clock that the test turns.

import { afterEach, expect, jest, test } from 'bun:test';
import { forAWhile, takeOwnAnswers, withoutOwn } from '../../src/mcp/own-questions.ts';

afterEach(() => {
  jest.useRealTimers();
});

function begun(signal = new AbortController().signal) {
  jest.useFakeTimers();
  const seen = { stopped: 0, done: () => {} };
  const answer = forAWhile(done => {
    seen.done = done;
    return () => {
      seen.stopped++;
    };
  }, signal);
  return { seen, answer };
}

test('nobody waits for longer than 25 seconds, which is less than clients wait for an answer', async () => {
  const { seen, answer } = begun();
  jest.advanceTimersByTime(24_999);
  expect(seen.stopped).toBe(0);
  jest.advanceTimersByTime(1);
  expect(await answer).toBe(false);
  expect(seen.stopped).toBe(1);
});

test('whoever is told, or is not wanted any more, waits no longer and leaves nothing behind', async () => {
  const told = begun();
  told.seen.done();
  expect(await told.answer).toBe(true);
  const cancel = new AbortController();
  const cancelled = begun(cancel.signal);
  cancel.abort();
  expect(await cancelled.answer).toBe(false);
  expect(await begun(cancel.signal).answer).toBe(false);
  expect([told.seen.stopped, cancelled.seen.stopped]).toEqual([1, 1]);
  expect(jest.getTimerCount()).toBe(0);
});

test('what is for us is taken out of the answers to a tool server, and the rest is left as it is', () => {
  const theirs = { q: { action: 'accept', content: { 'toolgate/approval': 1 } } };
  const ours = { 'toolgate/approval': { action: 'accept' }, 'toolgate/sign-in': 5 };
  expect(withoutOwn({ ...theirs, ...ours })).toEqual(theirs);
  expect(withoutOwn(ours)).toBeNull();
  const taken = takeOwnAnswers({ name: 'a', requestState: 's', inputResponses: { ...theirs, ...ours } });
  expect(taken).toEqual({
    params: { name: 'a', requestState: 's', inputResponses: theirs },
    answers: { approval: 'accept', signIn: 'refuse' },
  });
  expect(takeOwnAnswers({ inputResponses: theirs })).toBeNull();
});
