// Digests of what a run knows, against another implementation of HMAC.

import { expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { digestOf, digestsOf } from '../../../src/core/flows/digests.ts';

const KEY = new Uint8Array(32).fill(7);
const VALUES = ['bob', 'zoë', '👍🏽', '', 'x'.repeat(1000)];

test('a digest is the first 8 bytes of the HMAC', () => {
  for (const value of VALUES) {
    const whole = createHmac('sha256', KEY).update(value).digest();
    expect(digestOf(KEY, value)).toBe(whole.subarray(0, 8).toString('base64url'));
  }
  expect(digestOf(KEY, 'bob')).toMatch(/^[\w-]{11}$/);
});

test('another key gives another digest', () => {
  expect(digestOf(new Uint8Array(32).fill(8), 'bob')).not.toBe(digestOf(KEY, 'bob'));
});

test('digests of many are those of each', () => {
  expect([...digestsOf(KEY, VALUES)]).toEqual(VALUES.map(value => digestOf(KEY, value)));
});
