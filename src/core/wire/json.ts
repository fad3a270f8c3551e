// Strict JSON: no duplicate keys, bounded depth, no BOM, nothing after the value. `__proto__` is a key like any other.
// A number that a double would change is kept as it was written (exact-number.ts). Messages name a position and never
// quote the text, because the text may be the arguments of a call.

import { GuardError } from '../errors.ts';
import { ExactNumber } from './exact-number.ts';
import { BACKSLASH, type Json, type JsonObject, MAX_DEPTH, parseStrictly, QUOTE } from './json-parser.ts';

export type { Json, JsonObject } from './json-parser.ts';

/**
 * No other request is served while a body is parsed. Our parser took half a second for four megabytes of zeros and 2.7 s
 * for sixteen; this many values take a tenth of a second. Long strings are much faster.
 */
export const MAX_VALUES = 250_000;

/**
 * The same for what an agent asks about, since anybody with a key may send it, as often as they like. Members of an
 * object take longest: so many of them are read in 7 ms, and the digest that an approval needs takes 10 ms more.
 */
export const MAX_CHECK_VALUES = 20_000;

/**
 * Uses the runtime's parser where a scan of the text shows that it was strict enough, and otherwise ours, which finds
 * the fault or keeps the long number. For a check of 230 bytes our parser takes 6 µs, this way takes 2.
 */
export function parseJson(text: string, maxValues = MAX_VALUES): Json {
  const { depth, members, plainNumbers } = scan(text, maxValues);
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    return parseStrictly(text);
  }
  const strict = depth <= MAX_DEPTH && plainNumbers && members === countMembers(value);
  return strict ? value : parseStrictly(text);
}

const MAX_PLAIN_NUMBER = 15;

/**
 * The depth of a JSON text, the number of members that its objects are written with, and whether all its numbers are
 * short and have no exponent. It throws if the text has too many values: it counts the characters that stand before each
 * value but the first (a comma or an opening bracket). For this the text need not be valid, but the rest is then
 * without meaning.
 */
function scan(text: string, maxValues: number): { depth: number; members: number; plainNumbers: boolean } {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let values = 1;
  let run = 0;
  let plainNumbers = true;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      do {
        at = text.indexOf('"', at + 1);
        if (at < 0) return { depth: deepest, members, plainNumbers };
      } while (isEscaped(text, at));
    } else if ((code >= 0x30 && code <= 0x39) || code === DOT) {
      if (++run > MAX_PLAIN_NUMBER) plainNumbers = false;
      continue;
    } else if (run > 0 && (code === 0x45 || code === 0x65)) plainNumbers = false;
    else if (code === COLON) members++;
    else if (code === COMMA) {
      if (++values > maxValues) throw tooMany(maxValues);
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > deepest) deepest = depth;
      if (++values > maxValues) throw tooMany(maxValues);
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    run = 0;
  }
  return { depth: deepest, members, plainNumbers };
}

function tooMany(maxValues: number): GuardError {
  return new GuardError(
    'too_large',
    `The JSON has more than ${maxValues} values. A string is one value, however long it is: send fewer values.`,
  );
}

/** Whether an odd number of backslashes precedes the quote. */
function isEscaped(text: string, quote: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

/** The number of members in all objects: fewer than were written if a key was written twice. */
function countMembers(value: Json): number {
  if (value === null || typeof value !== 'object') return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item);
    return count;
  }
  for (const key of Object.keys(value)) {
    const member = (value as JsonObject)[key] as Json;
    count += 1 + (typeof member === 'object' ? countMembers(member) : 0);
  }
  return count;
}

/** Decodes UTF-8 strictly. A BOM stays in the text, so the parser refuses it. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function parseJsonBytes(bytes: Uint8Array, maxValues = MAX_VALUES): Json {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new GuardError('invalid_json', 'The body is not valid UTF-8.');
  }
  return parseJson(text, maxValues);
}

/** Whether a value is a JSON object: not an array and not an ExactNumber. */
export function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

/** All texts in a value, at any depth, without the names. */
export function textsIn(value: Json | undefined): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** Writes a parsed value as JSON; an ExactNumber is written with the digits that were read. */
export function writeJson(value: Json): string {
  return JSON.stringify(value);
}

const COLON = 0x3a;
const COMMA = 0x2c;
const DOT = 0x2e;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
