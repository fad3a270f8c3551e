// E-mail addresses, telephone numbers, IBANs, cards and addresses of the network: the vectors, drawn ones with valid check
// digits, and comparisons with what the runtime knows.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { isIPv4, isIPv6 } from 'node:net';
import { join } from 'node:path';
import { parse } from 'yaml';
import { DETECTORS, type DetectorName } from '../../../src/core/detectors/detectors.ts';
import type { Find } from '../../../src/core/detectors/find.ts';
import { sized } from '../../support/when-changed.ts';
import { DRAWN, shareFound, withLuhn } from './drawn.ts';
import { made, marked, seeded } from './made.ts';

const VECTORS: Record<string, (string | object)[]> = parse(
  readFileSync(join(import.meta.dir, '../../vectors/detectors/others.yaml'), 'utf8'),
);

const findsOf = (name: DetectorName, text: string): readonly Find[] => DETECTORS[name](text) as Find[];

describe.each(Object.entries(VECTORS))('%s', (name, texts) => {
  test.each(
    texts.map(each => (typeof each === 'string' ? each : (Object.entries(each)[0]?.join(': ') ?? ''))),
  )('%s', text => {
    const { text: plain, finds } = marked(text);
    const expected = text.includes('«') ? finds : [];
    const found = findsOf(name as DetectorName, plain);
    expect(found.map(({ from, to }) => plain.slice(from, to))).toEqual(
      expected.map(({ from, to }) => plain.slice(from, to)),
    );
    expect(found as Find[]).toEqual(expected);
  });
});

const random = seeded(23);
const rounds = sized(20_000, 4_000, 2_000);

test.each(Object.keys(DRAWN) as (keyof typeof DRAWN)[])('%s: 98 of 100 that are drawn are found', name => {
  expect(shareFound(name, rounds)).toBeGreaterThanOrEqual(0.98);
});

test('of cards with another last digit, none is found', () => {
  for (let round = 0; round < rounds; round++) {
    const card = withLuhn(made('4{D14}', random));
    const wrong = card.slice(0, -1) + ((Number(card.at(-1)) + 1 + random(9)) % 10);
    expect([wrong, findsOf('card', wrong)]).toEqual([wrong, []]);
  }
});

test('no text is found that the runtime does not take for an address, and none of IPv4 is missed', () => {
  const alphabet = '0123456789abf:.::..';
  for (let round = 0; round < 5 * rounds; round++) {
    const text = Array.from({ length: 3 + random(16) }, () => alphabet[random(alphabet.length)]).join('');
    for (const { from, to } of findsOf('ip', text)) {
      const address = text.slice(from, to);
      expect([text, address, isIPv4(address.replace(/(^|\.)0+(?=\d)/g, '$1')) || isIPv6(address)]).toEqual([
        text,
        address,
        true,
      ]);
    }
    if (isIPv4(text) && !/^2\.5\.(?:4|29)\./.test(text))
      expect([text, findsOf('ip', text).length]).toEqual([text, 1]);
  }
});
