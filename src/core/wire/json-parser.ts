// The strict JSON parser. It is slower than the runtime's, but it refuses duplicate keys, bounds the depth, keeps every
// digit of a number and says where a fault is. core/wire/json.ts decides when it is needed.

import { GuardError } from '../errors.ts';
import { type ExactNumber, exactly } from './exact-number.ts';

/** Nothing that was parsed is changed: what was checked is what is forwarded. */
export type Json = null | boolean | number | string | ExactNumber | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

export const MAX_DEPTH = 64;

/** Throws a GuardError that names the position of the fault. */
export function parseStrictly(text: string): Json {
  return new Parser(text).document();
}

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
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
    const object: Record<string, Json> = Object.create(null);
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

  /** Whether the container is empty; steps over its end if so. */
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
