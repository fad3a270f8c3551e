// Digests of what a run knows: the hash against the vectors of its authors and a model in whole numbers, and its key.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { digestKey, digestOf } from '../../../src/core/flows/digests.ts';
import { sipHash } from '../../../src/core/flows/sip-hash.ts';

const KEY = Uint8Array.from({ length: 16 }, (_, at) => at);

/** Of the bytes 0, 1, 2, … under the bytes 0 to 15 as the key, by their number: vectors.h of the reference implementation. */
const VECTORS: [number, string][] = [
  [0, '726fdb47dd0e0e31'],
  [2, '0d6c8009d9a94f5a'],
  [4, 'cf2794e0277187b7'],
  [6, 'cbc9466e58fee3ce'],
  [8, '93f5f5799a932462'],
  [14, 'f723ca908e7af2ee'],
  [16, '3f2acc7f57c29bdb'],
  [62, 'e51b38608ef25f57'],
];

test('the hash is that of the reference implementation', () => {
  for (const [length, hash] of VECTORS) {
    const bytes = Buffer.from(Array.from({ length }, (_, at) => at));
    expect([length, hashOf(KEY, bytes.toString('utf16le'))]).toEqual([length, hash]);
  }
});

test('it is that of the definition, whatever the key and the text', () => {
  const key = fc.uint8Array({ minLength: 16, maxLength: 16 });
  const text = fc.string({ unit: 'binary', maxLength: 40 });
  fc.assert(fc.property(key, text, (bytes, value) => hashOf(bytes, value) === modelOf(bytes, value)));
});

test('another key gives another digest, and so does another text', () => {
  const key = digestKey(KEY);
  expect(digestOf(key, 'bob')).toMatch(/^[\w-]{12}$/);
  expect(digestOf(digestKey(new Uint8Array(16)), 'bob')).not.toBe(digestOf(key, 'bob'));
  const texts = Array.from({ length: 20_000 }, (_, at) => `value ${at}`);
  expect(new Set(texts.map(each => digestOf(key, each))).size).toBe(texts.length);
});

function hashOf(key: Uint8Array, text: string): string {
  return sipHash(digestKey(key), text)
    .map(half => (half >>> 0).toString(16).padStart(8, '0'))
    .join('');
}

const LOW = (1n << 64n) - 1n;
const turned = (value: bigint, by: bigint) => ((value << by) | (value >> (64n - by))) & LOW;

/** SipHash-2-4 as its authors define it, over the bytes of UTF-16. */
function modelOf(key: Uint8Array, text: string): string {
  const bytes = Buffer.from(text, 'utf16le');
  const [k0, k1] = [Buffer.from(key).readBigUInt64LE(0), Buffer.from(key).readBigUInt64LE(8)];
  let [a, b, c, d] = [
    k0 ^ 0x736f6d6570736575n,
    k1 ^ 0x646f72616e646f6dn,
    k0 ^ 0x6c7967656e657261n,
    k1 ^ 0x7465646279746573n,
  ];
  const rounds = (count: number) => {
    for (let round = 0; round < count; round++) {
      a = (a + b) & LOW;
      b = turned(b, 13n) ^ a;
      a = turned(a, 32n);
      c = (c + d) & LOW;
      d = turned(d, 16n) ^ c;
      a = (a + d) & LOW;
      d = turned(d, 21n) ^ a;
      c = (c + b) & LOW;
      b = turned(b, 17n) ^ c;
      c = turned(c, 32n);
    }
  };
  const padded = Buffer.concat([bytes, Buffer.alloc(8 - (bytes.length % 8))]);
  padded[padded.length - 1] = bytes.length & 0xff;
  for (let at = 0; at < padded.length; at += 8) {
    const block = padded.readBigUInt64LE(at);
    d ^= block;
    rounds(2);
    a ^= block;
  }
  c ^= 0xffn;
  rounds(4);
  return (a ^ b ^ c ^ d).toString(16).padStart(16, '0');
}
