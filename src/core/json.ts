// Strict JSON: no duplicate keys, bounded depth, no BOM, nothing after the value. `__proto__` is a key like
// any other. A number that a double would change is kept as it was written (exact-number.ts). Messages name a
// position, never a part of the text: what is parsed may be somebody's arguments.

import { GuardError } from './errors.ts';
import { type ExactNumber, exactly } from './exact-number.ts';

export type Json = null | boolean | number | string | ExactNumber | Json[] | { [key: string]: Json };

export const MAX_DEPTH = 64;
/**
 * Nobody else is answered while a text is parsed. Four megabytes of zeros took half a second where ours had to parse
 * them, sixteen took 2.7 s; as many values as this take a tenth of a second, and a long string takes none of that.
 */
export const MAX_VALUES = 250_000;

/**
 * The runtime's parser, where a scan of the text shows that it was strict enough; else ours, which finds the
 * fault or keeps the long number. On a check of 230 bytes ours alone took 6 µs, this way takes 2.
 */
export function parseJson(text: string, maxValues = MAX_VALUES): Json {
  if (text.length > maxValues) wantFewValues(text, maxValues);
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    return new Parser(text).document();
  }
  const { depth, members, plainNumbers } = scan(text);
  const strict = depth <= MAX_DEPTH && plainNumbers && members === countMembers(value);
  return strict ? value : new Parser(text).document();
}

/** Each value but the first stands behind one of these; the text may be any, so it need not be JSON. */
function wantFewValues(text: string, atMost: number): void {
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      do {
        at = text.indexOf('"', at + 1);
        if (at < 0) return;
      } while (isEscaped(text, at));
    } else if (code === COMMA || code === OPEN_BRACE || code === OPEN_BRACKET) values++;
    if (values > atMost) {
      throw new GuardError('too_large', `The JSON has more than ${atMost} values.`);
    }
  }
}

const MAX_PLAIN_NUMBER = 15;

/**
 * How deep a valid text nests, how many members its objects are written with, whether all numbers are short
 * and without an exponent.
 */
function scan(text: string): { depth: number; members: number; plainNumbers: boolean } {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let run = 0;
  let plainNumbers = true;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      do {
        at = text.indexOf('"', at + 1);
      } while (isEscaped(text, at));
    } else if ((code >= 0x30 && code <= 0x39) || code === DOT) {
      if (++run > MAX_PLAIN_NUMBER) plainNumbers = false;
      continue;
    } else if (run > 0 && (code === 0x45 || code === 0x65)) plainNumbers = false;
    else if (code === COLON) members++;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > deepest) deepest = depth;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    run = 0;
  }
  return { depth: deepest, members, plainNumbers };
}

/** Whether the quote stands behind an odd number of backslashes. */
function isEscaped(text: string, quote: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

/** Fewer than were written, when a key was written twice. */
function countMembers(value: Json): number {
  if (value === null || typeof value !== 'object') return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item);
    return count;
  }
  for (const key of Object.keys(value)) {
    const member = (value as { [key: string]: Json })[key] as Json;
    count += 1 + (typeof member === 'object' ? countMembers(member) : 0);
  }
  return count;
}

/** Decodes UTF-8 strictly, a BOM included in the text (and so refused by the parser). */
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

/** Writes a parsed value back; an ExactNumber as the very digits that were read. */
export function writeJson(value: Json): string {
  return JSON.stringify(value);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const DOT = 0x2e;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const UNICODE_ESCAPE = /[0-9a-fA-F]{4}/y;
const ESCAPES: Record<string, string> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Json {
    const value = this.#value(1);
    this.#space();
    if (this.#at < this.#text.length) throw this.#fault('unexpected text after the value');
    return value;
  }

  #value(depth: number): Json {
    this.#space();
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string();
      case 't':
        return this.#word('true', true);
      case 'f':
        return this.#word('false', false);
      case 'n':
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #object(depth: number): Json {
    this.#enter(depth);
    const object: { [key: string]: Json } = Object.create(null);
    if (this.#ends('}')) return object;
    do {
      this.#space();
      const start = this.#at;
      if (this.#text.charCodeAt(start) !== QUOTE) throw this.#fault('expected a key in double quotes');
      const key = this.#string();
      if (key in object) {
        this.#at = start;
        throw this.#fault('duplicate key');
      }
      this.#space();
      if (this.#text[this.#at] !== ':') throw this.#fault('expected ":"');
      this.#at++;
      object[key] = this.#value(depth + 1);
    } while (this.#more('}'));
    return object;
  }

  #array(depth: number): Json {
    this.#enter(depth);
    const array: Json[] = [];
    if (this.#ends(']')) return array;
    do array.push(this.#value(depth + 1));
    while (this.#more(']'));
    return array;
  }

  #enter(depth: number): void {
    if (depth > MAX_DEPTH) throw this.#fault(`nested deeper than ${MAX_DEPTH} levels`);
    this.#at++;
  }

  /** An empty container: steps over its end when it comes next. */
  #ends(close: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== close) return false;
    this.#at++;
    return true;
  }

  /** Steps over `,` (true) or the container's end (false). */
  #more(close: string): boolean {
    this.#space();
    const char = this.#text[this.#at];
    if (char !== ',' && char !== close) throw this.#fault(`expected "," or "${close}"`);
    this.#at++;
    return char === ',';
  }

  #string(): string {
    const text = this.#text;
    const start = ++this.#at;
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = at + 1;
        return text.slice(start, at);
      }
      if (code === BACKSLASH || code < 0x20) return this.#escapedString(start, at);
    }
    throw this.#fault('unterminated string');
  }

  #escapedString(start: number, firstOdd: number): string {
    const text = this.#text;
    let out = text.slice(start, firstOdd);
    for (let at = firstOdd; at < text.length; at++) {
      const code = text.charCodeAt(at);
      this.#at = at;
      if (code === QUOTE) {
        this.#at = at + 1;
        return out;
      }
      if (code < 0x20) throw this.#fault('control character in a string');
      if (code !== BACKSLASH) {
        out += text[at];
        continue;
      }
      const kind = text[++at] ?? '';
      if (kind === 'u') {
        UNICODE_ESCAPE.lastIndex = at + 1;
        const hex = UNICODE_ESCAPE.exec(text);
        if (hex === null) throw this.#fault('bad \\u escape');
        out += String.fromCharCode(Number.parseInt(hex[0], 16));
        at += 4;
      } else {
        const char = ESCAPES[kind];
        if (char === undefined) throw this.#fault('unknown escape');
        out += char;
      }
    }
    throw this.#fault('unterminated string');
  }

  #word<T extends Json>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#fault('unexpected text');
    this.#at += word.length;
    return value;
  }

  #number(): Json {
    NUMBER.lastIndex = this.#at;
    const found = NUMBER.exec(this.#text);
    if (found === null) {
      throw this.#fault(this.#at >= this.#text.length ? 'unexpected end' : 'unexpected character');
    }
    this.#at = NUMBER.lastIndex;
    return exactly(found[0]);
  }

  #space(): void {
    const text = this.#text;
    for (;;) {
      const code = text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at++;
    }
  }

  #fault(what: string): GuardError {
    return new GuardError('invalid_json', `Not valid JSON: ${what}, at character ${this.#at + 1}.`);
  }
}
