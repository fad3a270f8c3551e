// How many attempts to sign in may be under way from one address at a time.

import { expect, test } from 'bun:test';
import { oneOfFew } from '../../../src/guard/people/throttle.ts';

const AT_ONCE = 10;
const IN_ALL = 50;

test('an address has only a few attempts at a time; other addresses do not wait, and an attempt that ends makes room', async () => {
  const held = Promise.withResolvers<string>();
  const attempt = (ip: string) => oneOfFew(ip, () => held.promise).catch(error => error.code as string);
  const first = Array.from({ length: AT_ONCE }, () => attempt('10.0.0.1'));
  const more = oneOfFew('10.0.0.1', async () => 'let in').catch(error => error.code as string);
  expect(await more).toBe('rate_limited');
  expect(await oneOfFew('10.0.0.2', async () => 'done')).toBe('done');
  held.resolve('done');
  expect(await Promise.all(first)).toEqual(Array(AT_ONCE).fill('done'));
  expect(await attempt('10.0.0.1')).toBe('done');
});

test('an attempt that fails makes room too', async () => {
  for (let n = 0; n <= AT_ONCE; n++) {
    const failed = oneOfFew('10.0.0.3', () => Promise.reject(new Error('wrong')));
    await expect(failed).rejects.toThrow('wrong');
  }
});

test('in all, too, a bounded number is under way: one more, of an address that has none, is refused', async () => {
  const held = Promise.withResolvers<string>();
  const all = Array.from({ length: IN_ALL }, (_, n) => oneOfFew(`10.1.0.${n}`, () => held.promise));
  const more = oneOfFew('10.2.0.1', async () => 'let in').catch(error => error.code as string);
  expect(await more).toBe('overloaded');
  held.resolve('done');
  await Promise.all(all);
  expect(await oneOfFew('10.2.0.1', async () => 'let in')).toBe('let in');
});
