// What tells a secret from a text that only looks like one, beyond its prefix and its length: a checksum, or what a part of
// it decodes to. Each check gets the whole secret, its prefix included.

import { crc32 } from './crc32.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A checksum as six digits of base 62. */
function base62(value: number): string {
  let text = '';
  let rest = value;
  for (let digit = 0; digit < 6; digit++) {
    text = BASE62[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** Of GitHub and npm: the last six characters are the CRC-32 of what stands between them and the prefix. */
export function hasBase62OfBody(secret: string): boolean {
  const body = secret.slice(secret.indexOf('_') + 1, -6);
  return base62(crc32(body)) === secret.slice(-6);
}

/** GitHub's tokens of April 2026 are the number of an app and a JWT; the others have a checksum. */
export function isGitHub(secret: string): boolean {
  return secret.includes('.')
    ? isJwt(secret.slice(secret.indexOf('_', secret.indexOf('_') + 1) + 1))
    : hasBase62OfBody(secret);
}

/** Our own tokens: the CRC-32 of everything before it. */
export function hasBase62OfAll(secret: string): boolean {
  return base62(crc32(secret.slice(0, -6))) === secret.slice(-6);
}

/** Of Grafana: the CRC-32 of everything before the last `_`, as hexadecimal digits of its bytes, the lowest first. */
export function isGrafana(secret: string): boolean {
  const end = secret.lastIndexOf('_');
  const sum = crc32(secret.slice(0, end)).toString(16).padStart(8, '0');
  const bytes = [6, 4, 2, 0].map(at => sum.slice(at, at + 2));
  return bytes.join('') === secret.slice(end + 1).toLowerCase();
}

/**
 * GitLab's tokens with one or two dots end in the CRC-32 of everything before it, as seven digits of base 36. Those of jobs
 * may be JWTs. The others have up to 64 characters and no checksum.
 */
export function isGitLab(secret: string): boolean {
  if (/-eyJ[^.]+\.[^.]+\.[^.]+$/.test(secret)) return isJwt(secret.slice(secret.indexOf('eyJ')));
  if (!secret.includes('.')) return secret.length <= 80 && !isPlaceholder(secret.slice(6));
  return crc32(secret.slice(0, -7)).toString(36).padStart(7, '0') === secret.slice(-7);
}

const BECH32 = 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L';
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

/** Bech32 (BIP 173), of a text in capitals. */
export function isBech32(secret: string): boolean {
  const divider = secret.lastIndexOf('1');
  // The part before the divider in small letters, since its checksum is the same for both.
  const name = Array.from(secret.slice(0, divider).toLowerCase(), each => each.charCodeAt(0));
  const values = [
    ...name.map(each => each >> 5),
    0,
    ...name.map(each => each & 31),
    ...Array.from(secret.slice(divider + 1), each => BECH32.indexOf(each)),
  ];
  let sum = 1;
  for (const value of values) {
    const top = sum >> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    for (let bit = 0; bit < 5; bit++) if ((top >> bit) & 1) sum ^= GENERATOR[bit] as number;
  }
  return sum === 1;
}

/** Whether the first part decodes to an object of JSON that names an algorithm. */
export function isJwt(secret: string): boolean {
  return jsonIn(secret.slice(0, secret.indexOf('.')))?.includes('"alg"') === true;
}

/** A token whose part between the prefix and the end, or the next `_`, is an object of JSON in base64. */
export function hasJson(secret: string): boolean {
  const from = secret.indexOf('eyJ');
  const end = secret.indexOf('_', from);
  return jsonIn(end < 0 ? secret.slice(from) : secret.slice(from, end)) !== null;
}

/** Headers of tokens are far shorter. */
const MAX_HEADER = 4_096;

/** The text of an object of JSON that is given in base64 or base64url, or null. */
function jsonIn(base64: string): string | null {
  const digits = base64.replace(/=+$/, '');
  if (digits.length > MAX_HEADER || digits.length % 4 === 1) return null;
  const text = decoded(digits);
  // A look at the end comes first, because failing to parse takes a hundred times as long.
  if (text === null || !text.trimEnd().endsWith('}')) return null;
  try {
    return typeof JSON.parse(text) === 'object' ? text : null;
  } catch {
    return null;
  }
}

function decoded(digits: string): string | null {
  try {
    return atob(digits.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return null;
  }
}

/** Of Discord: the first part is the number of the bot in base64. */
export function isDiscord(secret: string): boolean {
  return /^[0-9]{17,20}$/.test(decoded(secret.slice(0, secret.indexOf('.'))) ?? '');
}

/** Words that stand where a secret would, in documents and in what replaced it. */
const STANDS_FOR = /example|redacted|placeholder|changeme|insert/i;
const SHORT = /xxxx|XXXX|your|YOUR|dummy|DUMMY/;
const MANY = /(.)\1{5}/;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz 0123456789 9876543210';

/**
 * Whether it was typed and not drawn: a word such as EXAMPLE, six equal characters in a row, six that follow each other
 * in the alphabet, or nothing but small letters. It is asked only of secrets that have no checksum. Of 558,000 that were
 * drawn, 20 were taken for placeholders.
 */
export function isPlaceholder(body: string): boolean {
  if (STANDS_FOR.test(body) || SHORT.test(body) || MANY.test(body)) return true;
  if (/^[a-z_.-]*$/.test(body)) return true;
  const small = body.toLowerCase();
  for (let at = 0; at + 6 <= small.length && at < MAX_LOOKED; at++)
    if (ALPHABET.includes(small.slice(at, at + 6))) return true;
  return false;
}
/** The beginning of a long secret tells enough. */
const MAX_LOOKED = 200;
