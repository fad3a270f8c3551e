// The matcher against the table that defines it: every short text, and many random pairs.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { compilePattern, matches } from '../../../src/core/text/pattern.ts';
import { sized } from '../../support/when-changed.ts';
import { oracleMatches, randomText, seeded } from '../oracle.ts';

const ours = (pattern: string, name: string) => matches(compilePattern(pattern), name);

/** Every text of the alphabet up to a length. */
function* texts(alphabet: string, maxLength: number): Generator<string> {
  yield '';
  if (maxLength === 0) return;
  for (const rest of texts(alphabet, maxLength - 1)) {
    if (rest.length === maxLength - 1) for (const char of alphabet) yield char + rest;
  }
  for (const shorter of texts(alphabet, maxLength - 1)) if (shorter !== '') yield shorter;
}

test('agrees with the oracle on every short pattern and name', () => {
  const patterns = new Set(texts('ab*', 5));
  const names = new Set(texts('ab', 5));
  expect(patterns.size).toBe(364);
  expect(names.size).toBe(63);
  for (const pattern of patterns) {
    for (const name of names) {
      if (ours(pattern, name) !== oracleMatches(pattern, name)) throw new Error(`${pattern} on ${name}`);
    }
  }
});

const PAIRS = sized(1_000_000, 1_000_000, 100_000);

test('agrees with the oracle on random pairs, many of which match', () => {
  const random = seeded(14);
  let matched = 0;
  for (let pair = 0; pair < PAIRS; pair++) {
    const pattern = randomText(random, 'ab_*', 7);
    const name = randomText(random, 'ab_*', 8);
    const got = ours(pattern, name);
    if (got !== oracleMatches(pattern, name)) throw new Error(`${pattern} on ${name}: ${got}`);
    if (got) matched++;
  }
  expect(matched).toBeGreaterThan(PAIRS / 20);
});

test('agrees with the oracle on Unicode', () => {
  const char = fc.constantFrom('*', 'é', 'e', '\u0301', '😀', '😁', '検', '_');
  const text = fc.array(char, { maxLength: 10 }).map(chars => chars.join(''));
  fc.assert(
    fc.property(text, text, (pattern, name) => ours(pattern, name) === oracleMatches(pattern, name)),
    { numRuns: 5000, seed: 1 },
  );
});

test('a pattern made from a name by putting stars over parts of it matches that name', () => {
  const cut = fc.tuple(fc.string({ maxLength: 20 }), fc.array(fc.nat(20), { maxLength: 8 }));
  fc.assert(
    fc.property(cut, ([name, cuts]) => {
      const points = [...new Set(cuts.map(each => Math.min(each, name.length)))].sort((a, b) => a - b);
      const kept = [...points, name.length].map((end, i) => name.slice(i === 0 ? 0 : points[i - 1], end));
      expect(ours(kept.map((part, i) => (i % 2 === 0 ? part : '')).join('*'), name)).toBe(true);
    }),
    { numRuns: 2000, seed: 2 },
  );
});

test('many stars against a long name that almost matches come to an end', () => {
  expect(ours(`${'*a'.repeat(200)}b`, 'a'.repeat(100_000))).toBe(false);
});
