// Which of several headers a key is read from.

import { expect, test } from 'bun:test';
import { mintToken } from '../../../src/guard/secrets.ts';
import { carriedKey } from '../../../src/http/serving/key-headers.ts';

const [KEY, OTHER] = [mintToken('key').token, mintToken('key').token];
const basic = (text: string) => `Basic ${btoa(text)}`;
const carried = (headers: Record<string, string>) => carriedKey(new Headers(headers));

test('a key is in x-api-key, or the password of the user toolgate', () => {
  expect(carried({ 'x-api-key': KEY })).toBe(KEY);
  expect(carried({ Authorization: basic(`toolgate:${KEY}`) })).toBe(KEY);
  expect(carried({ Authorization: `Bearer ${KEY}` })).toBe(KEY);
  expect(carried({ 'x-api-key': KEY, Authorization: `Bearer ${KEY}` })).toBe(KEY);
});

test('a credential for another service is nothing to us', () => {
  for (const Authorization of ['Bearer abc', basic('ann:secret'), 'Basic %%%', 'Digest x']) {
    expect(carried({ Authorization })).toBeNull();
    expect(carried({ 'x-api-key': KEY, Authorization })).toBe(KEY);
  }
  expect(carried({})).toBeNull();
});

test('two different keys are refused', () => {
  for (const Authorization of [`Bearer ${OTHER}`, basic(`toolgate:${OTHER}`)])
    expect(() => carried({ 'x-api-key': KEY, Authorization })).toThrow('different keys');
});
