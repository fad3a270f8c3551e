import { expect, test } from 'bun:test';
import { GuardError } from '../../../src/core/errors.ts';
import { Shares } from '../../../src/guard/rations/shares.ts';

const forever = new AbortController().signal;

test('a caller holds its share and no more, and others hold theirs', () => {
  const shares = new Shares(100, 'Your requests');
  const first = shares.part('a');
  first.grow(60);
  const second = shares.part('a');
  second.grow(40);
  const third = shares.part('a');
  expect(() => third.grow(1)).toThrow('Your requests hold as much memory as they may at once: 100 bytes');
  shares.part('b').grow(100);
  first.free();
  third.grow(60);
  expect(shares.held).toBe(200);
});

test('who is refused is told to try again', () => {
  const shares = new Shares(10, 'Your requests');
  shares.part('a').grow(10);
  try {
    shares.part('a').grow(1);
    expect.unreachable();
  } catch (error) {
    expect((error as GuardError).code).toBe('rate_limited');
    expect((error as GuardError).retryAfter).toBe(1);
  }
});

test('one piece alone is within every share', () => {
  const shares = new Shares(10, 'Your requests');
  const alone = shares.part('a');
  alone.grow(8);
  alone.grow(8);
  expect(() => shares.part('a').grow(1)).toThrow(GuardError);
});

test('what was freed twice counts once, and a refused part leaves nothing behind', () => {
  const shares = new Shares(10, 'Your requests');
  const part = shares.part('a');
  part.grow(10);
  const refused = shares.part('a');
  expect(() => refused.grow(1)).toThrow(GuardError);
  refused.free();
  part.free();
  part.free();
  expect(shares.held).toBe(0);
  const next = shares.part('a');
  next.grow(10);
  expect(shares.held).toBe(10);
});

test('a part waits for room, but the oldest does not, so that it can end', async () => {
  const shares = new Shares(10, 'Answers');
  const oldest = shares.part('a');
  await oldest.growWithRoom(6, forever);
  const second = shares.part('a');
  await second.growWithRoom(4, forever);
  let grown = false;
  const waiting = second.growWithRoom(4, forever).then(() => {
    grown = true;
  });
  await oldest.growWithRoom(20, forever);
  expect(grown).toBe(false);
  oldest.free();
  await waiting;
  expect(shares.held).toBe(8);
});

test('a part that waits in vain is given up with its signal, and another takes its place', async () => {
  const shares = new Shares(10, 'Answers');
  const oldest = shares.part('a');
  await oldest.growWithRoom(10, forever);
  const cancel = new AbortController();
  const part = shares.part('a');
  const waiting = part.growWithRoom(1, cancel.signal);
  cancel.abort(new Error('nobody waits'));
  expect(waiting).rejects.toThrow('nobody waits');
  await waiting.catch(() => part.free());
  oldest.free();
  expect(shares.held).toBe(0);
  await shares.part('a').growWithRoom(10, forever);
});
