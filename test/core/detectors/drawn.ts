// Draws what the detectors other than `secrets` look for, with valid check digits, and measures how much of it they find.

import { DETECTORS, type DetectorName } from '../../../src/core/detectors/detectors.ts';
import { made, type Random, seeded } from './made.ts';

const digits = (random: Random, count: number): string => made(`{D${count}}`, random);
const pick = <T>(random: Random, all: readonly T[]): T => all[random(all.length)] as T;

/** The digit that makes a number valid, by trying all. */
export function withLuhn(start: string): string {
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

const GROUPS: Readonly<Record<number, readonly number[]>> = {
  14: [4, 6, 4],
  15: [4, 6, 5],
  16: [4, 4, 4, 4],
  19: [4, 4, 4, 4, 3],
};
const STARTS: readonly (readonly [string, number])[] = [
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

function card(random: Random): string {
  const [start, length] = pick(random, STARTS);
  let rest = withLuhn(start + digits(random, length - start.length - 1));
  const groups = (GROUPS[length] as readonly number[]).map(size => {
    const group = rest.slice(0, size);
    rest = rest.slice(size);
    return group;
  });
  return groups.join(pick(random, [' ', '-', '', '\u00a0', '%20']));
}

function iban(random: Random): string {
  const [country, form] = pick(random, [
    ['DE', '{D18}'],
    ['FR', '{D10}{D11}{D2}'],
    ['GB', 'NWBK{D14}'],
    ['NL', 'ABNA{D10}'],
    ['ES', '{D20}'],
    ['PL', '{D24}'],
    ['NO', '{D11}'],
  ] as const);
  const bban = made(form, random);
  const value = [...`${bban}${country}00`].map(each => Number.parseInt(each, 36)).join('');
  const check = String(98n - (BigInt(value) % 97n)).padStart(2, '0');
  const groups = (country + check + bban).match(/.{1,4}/g) as string[];
  return groups.join(pick(random, [' ', '', '\u00a0', '-', '+']));
}

const phone = (random: Random): string =>
  pick(random, [
    () =>
      `+1 (${2 + random(8)}${digits(random, 2)}) ${2 + random(8)}${digits(random, 2)}-${digits(random, 4)}`,
    () => made('+49 {D3} {D7}', random),
    () => made('+44 20 {D4} {D4}', random),
    () => made(`+33 ${1 + random(9)} {D2} {D2} {D2} {D2}`, random),
    () => made('+353{D9}', random),
    () => made('+81-{D2}-{D4}-{D4}', random),
    () => made(`+7 ${3 + random(7)}{D2} {D3}-{D2}-{D2}`, random),
  ])();

const email = (random: Random): string =>
  made(
    `${pick(random, ['{L1}{S8}', '{L3}.{L6}', '{L4}+{S3}', '{L1}_{L5}'])}@${pick(random, ['mail.', ''])}{L1}{S6}.${pick(random, ['com', 'org', 'de', 'co.uk', 'example'])}`,
    random,
  );

function ip(random: Random): string {
  if (random(2) === 0) return Array.from({ length: 4 }, () => random(256)).join('.');
  const first = pick(random, ['2001', '2a02', 'fd00', 'fe80']);
  const groups = [first, ...Array.from({ length: 7 }, () => random(0x10000).toString(16))];
  if (random(2) === 0) return groups.join(':');
  const from = 1 + random(6);
  return `${groups.slice(0, from).join(':')}::${groups.slice(from + 1 + random(7 - from)).join(':')}`;
}

export const DRAWN: Readonly<Record<Exclude<DetectorName, 'secrets'>, (random: Random) => string>> = {
  email,
  phone,
  iban,
  card,
  ip,
};

const AROUND: readonly (readonly [string, string])[] = [
  ['', ''],
  ['The number is ', '.'],
  ['"', '",'],
  ['\\n', '\\n'],
  ['%3D', '&'],
  ['\t', '\t12'],
  ['(', ')'],
];

/** The share of drawn texts that are found as a whole, in texts of several kinds. */
export function shareFound(name: keyof typeof DRAWN, rounds: number): number {
  const random = seeded(23);
  let found = 0;
  for (let round = 0; round < rounds; round++) {
    const text = DRAWN[name](random);
    const [before, after] = AROUND[round % AROUND.length] as (typeof AROUND)[number];
    const finds = DETECTORS[name](before + text + after) ?? [];
    if (finds.some(({ from, to }) => from === before.length && to === from + text.length)) found++;
  }
  return found / rounds;
}
