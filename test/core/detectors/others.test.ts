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
import { marked, seeded } from './made.ts';

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

const rounds = sized(20_000, 4_000, 2_000);

/** The share of drawn texts that are found as a whole, in texts of several kinds. */
function share(name: DetectorName, drawn: () => string): number {
  const around: [string, string][] = [
    ['', ''],
    ['The number is ', '.'],
    ['"', '",'],
    ['\\n', '\\n'],
    ['%3D', '&'],
    ['\t', '\t12'],
    ['(', ')'],
  ];
  let found = 0;
  for (let round = 0; round < rounds; round++) {
    const text = drawn();
    const [before, after] = around[round % around.length] as [string, string];
    const finds = findsOf(name, before + text + after);
    if (finds.some(({ from, to }) => from === before.length && to === from + text.length)) found++;
  }
  return found / rounds;
}

const random = seeded(23);
const digits = (count: number) => Array.from({ length: count }, () => String(random(10))).join('');
const grouped = (text: string, sizes: readonly number[], divider: string) => {
  const starts = sizes.map((_, at) => sizes.slice(0, at).reduce((so, size) => so + size, 0));
  return sizes.map((size, at) => text.slice(starts[at], (starts[at] as number) + size)).join(divider);
};

/** The digit that makes a number valid, by trying all. */
function withLuhn(start: string): string {
  for (let last = 0; last < 10; last++) {
    const all = [...start, String(last)].reverse().map(Number);
    const sum = all.reduce((so, digit, at) => {
      const twice = digit * (at % 2 === 0 ? 1 : 2);
      return so + Math.floor(twice / 10) + (twice % 10);
    }, 0);
    if (sum % 10 === 0) return start + last;
  }
  throw new Error('One of ten digits is right.');
}

test('98 of 100 cards of all issuers are found, in one piece and in groups', () => {
  const starts: [string, number][] = [
    ['4', 16],
    ['51', 16],
    ['55', 16],
    ['2221', 16],
    ['2720', 16],
    ['34', 15],
    ['37', 15],
    ['36', 14],
    ['6011', 16],
    ['65', 16],
    ['3528', 16],
    ['62', 16],
    ['62', 19],
    ['6759', 16],
    ['2204', 16],
  ];
  const card = () => {
    const [start, length] = starts[random(starts.length)] as [string, number];
    const number = withLuhn(start + digits(length - start.length - 1));
    const divider = [' ', '-', '', '\u00a0', '%20'][random(5)] as string;
    const sizes = { 14: [4, 6, 4], 15: [4, 6, 5], 16: [4, 4, 4, 4], 19: [4, 4, 4, 4, 3] }[length] as number[];
    return grouped(number, sizes, divider);
  };
  expect(share('card', card)).toBeGreaterThanOrEqual(0.98);
});

test('of cards with another last digit, none is found', () => {
  for (let round = 0; round < rounds; round++) {
    const card = withLuhn(`4${digits(14)}`);
    const wrong = card.slice(0, -1) + ((Number(card.at(-1)) + 1 + random(9)) % 10);
    expect([wrong, findsOf('card', wrong)]).toEqual([wrong, []]);
  }
});

test('98 of 100 IBANs are found, in one piece and in groups', () => {
  const iban = () => {
    const [country, size] = [
      ['DE', 18],
      ['FR', 23],
      ['GB', 0],
      ['NL', 0],
      ['ES', 20],
      ['PL', 24],
      ['NO', 11],
    ][random(7)] as [string, number];
    const bban =
      country === 'GB' ? `NWBK${digits(14)}` : country === 'NL' ? `ABNA${digits(10)}` : digits(size);
    const value = [...`${bban}${country}00`].map(each => Number.parseInt(each, 36)).join('');
    const check = String(98n - (BigInt(value) % 97n)).padStart(2, '0');
    const text = country + check + bban;
    const divider = [' ', '', '\u00a0', '-', '+'][random(5)] as string;
    return (text.match(/.{1,4}/g) as string[]).join(divider);
  };
  expect(share('iban', iban)).toBeGreaterThanOrEqual(0.98);
});

test('98 of 100 telephone numbers are found', () => {
  const forms = [
    () => `+1 (${2 + random(8)}${digits(2)}) ${2 + random(8)}${digits(2)}-${digits(4)}`,
    () => `+49 ${digits(3)} ${digits(7)}`,
    () => `+44 20 ${digits(4)} ${digits(4)}`,
    () => `+33 ${1 + random(9)} ${digits(2)} ${digits(2)} ${digits(2)} ${digits(2)}`,
    () => `+353${digits(9)}`,
    () => `+81-${digits(2)}-${digits(4)}-${digits(4)}`,
    () => `+7 ${3 + random(7)}${digits(2)} ${digits(3)}-${digits(2)}-${digits(2)}`,
  ];
  const phone = () => (forms[random(forms.length)] as () => string)();
  expect(share('phone', phone)).toBeGreaterThanOrEqual(0.98);
});

test('98 of 100 addresses of IPv4 and of IPv6 in use are found', () => {
  const four = () => Array.from({ length: 4 }, () => random(256)).join('.');
  expect(share('ip', four)).toBeGreaterThanOrEqual(0.98);
  const group = () => random(0x10000).toString(16);
  const six = () => {
    const first = ['2001', '2a02', 'fd00', 'fe80'][random(4)] as string;
    const groups = [first, ...Array.from({ length: 7 }, group)];
    const from = 1 + random(6);
    return random(2) === 0
      ? groups.join(':')
      : `${groups.slice(0, from).join(':')}::${groups.slice(from + 1 + random(7 - from)).join(':')}`;
  };
  expect(share('ip', six)).toBeGreaterThanOrEqual(0.98);
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
