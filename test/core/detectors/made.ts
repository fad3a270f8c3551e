// Draws texts of the forms of test/vectors/detectors/secrets.txt. What has a checksum gets it here, by the runtime's own
// functions, so that a mistake of the detectors is not made twice.

import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

const DIGITS = '0123456789';
const SMALL = 'abcdefghijklmnopqrstuvwxyz';
const CAPITALS = SMALL.toUpperCase();
const ALL = DIGITS + CAPITALS + SMALL;
const BECH32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';

const ALPHABETS: Record<string, string> = {
  A: ALL,
  U: `${ALL}-_`,
  B: `${ALL}+/`,
  H: '0123456789abcdef',
  F: '0123456789abcdefABCDEF',
  CX: '0123456789ABCDEF',
  D: DIGITS,
  L: SMALL + CAPITALS,
  C: CAPITALS + DIGITS,
  T: `${CAPITALS}234567`,
  S: SMALL + DIGITS,
  Q: BECH32.toUpperCase(),
};

export interface Vector {
  readonly name: string;
  readonly found: readonly string[];
  readonly not: readonly string[];
}

export const VECTORS: readonly Vector[] = readFileSync(
  join(import.meta.dir, '../../vectors/detectors/secrets.txt'),
  'utf8',
)
  .split('\n')
  .filter(line => line !== '' && !line.startsWith('#'))
  .map(line => {
    const [left = '', right = ''] = line.split(' !! ');
    const [name = '', ...found] = left.split(' | ');
    return { name, found, not: right === '' ? [] : right.split(' | ') };
  });

/** A generator of numbers below a bound that gives the same ones each time. */
export function seeded(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export type Random = (below: number) => number;

const drawn = (random: Random, alphabet: string, count: number): string =>
  Array.from({ length: count }, () => alphabet[random(alphabet.length)]).join('');

function inBase(value: number, digits: string, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / digits.length))
    text = digits[rest % digits.length] + text;
  return text;
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

/** A text of a form. */
export function made(form: string, random: Random): string {
  let text = '';
  let start = 0;
  for (const part of form.split(
    /(\{(?:[A-Z]{1,2}\d+|github|ours|grafana|gitlab|bech32|discord|jwt:\w+|pem:[ A-Z]+|b64:.*?;)\})/,
  )) {
    // A mark begins what a checksum is computed of.
    const mark = part.lastIndexOf('«');
    if (!part.startsWith('{') || part.startsWith('{"')) {
      if (mark >= 0) start = text.length + mark + 1;
      text += part;
      continue;
    }
    text += filled(part.slice(1, -1), text.slice(start), random);
  }
  return text;
}

function filled(what: string, before: string, random: Random): string {
  const [, kind, count] = /^([A-Z]{1,2})(\d+)$/.exec(what) ?? [];
  if (kind !== undefined) return drawn(random, ALPHABETS[kind] as string, Number(count));
  if (what === 'github') return inBase(crc32(before.slice(before.indexOf('_') + 1)), ALL, 6);
  if (what === 'ours') return inBase(crc32(before), ALL, 6);
  if (what === 'gitlab') return inBase(crc32(before), DIGITS + SMALL, 7);
  if (what === 'grafana') {
    const sum = Buffer.alloc(4);
    sum.writeUInt32LE(crc32(before));
    return `_${sum.toString('hex')}`;
  }
  if (what === 'discord') return base64url(String(1 + random(9)) + drawn(random, DIGITS, 17));
  if (what === 'bech32') return bech32Of(before);
  if (what.startsWith('jwt:')) return jwt(what.slice(4), random);
  if (what.startsWith('b64:')) return Buffer.from(made(what.slice(4, -1), random)).toString('base64');
  return pem(what.slice(5).trim(), random);
}

function jwt(alg: string, random: Random): string {
  const header = base64url(JSON.stringify({ alg, typ: 'JWT' }));
  const claims = base64url(JSON.stringify({ sub: drawn(random, DIGITS, 10), exp: 1_800_000_000 }));
  return `${header}.${claims}.${alg === 'none' ? '' : drawn(random, ALPHABETS['U'] as string, 43)}`;
}

function pem(label: string, random: Random): string {
  const lines = Array.from({ length: 1 + random(20) }, () => drawn(random, ALPHABETS['B'] as string, 64));
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`].join('\n');
}

/** The checksum of BIP 173, which works on numbers of five bits. */
function bech32Of(before: string): string {
  const at = before.lastIndexOf('1');
  const name = before.slice(0, at).toLowerCase();
  const data = [...before.slice(at + 1).toLowerCase()].map(each => BECH32.indexOf(each));
  const values = [...name].map(each => each.charCodeAt(0) >> 5);
  values.push(0, ...[...name].map(each => each.charCodeAt(0) & 31), ...data, 0, 0, 0, 0, 0, 0);
  let sum = 1n;
  for (const value of values) {
    const top = sum >> 25n;
    sum = ((sum & 0x1ffffffn) << 5n) ^ BigInt(value);
    const generator = [0x3b6a57b2n, 0x26508e6dn, 0x1ea119fan, 0x3d4233ddn, 0x2a1462b3n];
    generator.forEach((each, bit) => {
      if ((top >> BigInt(bit)) & 1n) sum ^= each;
    });
  }
  sum ^= 1n;
  return [25n, 20n, 15n, 10n, 5n, 0n]
    .map(bits => BECH32[Number((sum >> bits) & 31n)]?.toUpperCase())
    .join('');
}

/** A private key that nobody uses, as the runtime writes it. */
export function realKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

export const realBytes = (count: number): Buffer => randomBytes(count);

/** A text without its marks, and what stood between them; all of it where there were none. */
export function marked(text: string): { text: string; finds: { from: number; to: number }[] } {
  const finds: { from: number; to: number }[] = [];
  let plain = '';
  for (const unit of text) {
    if (unit === '«') finds.push({ from: plain.length, to: -1 });
    else if (unit === '»') (finds.at(-1) as { to: number }).to = plain.length;
    else plain += unit;
  }
  return { text: plain, finds: finds.length === 0 ? [{ from: 0, to: plain.length }] : finds };
}
