// Reads JSON with comments and with commas before a closing bracket, and remembers where everything stands. It is for
// files of other programs, so it is as lenient as they are; core/wire/json.ts is for what strangers send.

import type { Json } from '../../core/wire/json.ts';
import { Fault } from './fault.ts';

export interface Child {
  /** Where its key begins, or, in a list, its value. */
  start: number;
  end: number;
  key: string | null;
  node: Node;
  /** Where the comma behind it stands. */
  comma: number | null;
}

export interface Node {
  start: number;
  end: number;
  /** `null`: neither an object nor a list. */
  kind: 'object' | 'list' | null;
  children: Child[];
  value: Json;
}

const MAX_DEPTH = 200;

/** The value in the text, or null if there is none, not even a comment. */
export function parseJsonc(text: string): Node | null {
  if (text.trim() === '') return null;
  const reader = new Reader(text);
  const root = reader.value(0);
  reader.blank();
  if (reader.at < text.length) throw new Fault(reader.at, 'unexpected text after the end');
  return root;
}

class Reader {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Skips white space and comments. */
  blank(): void {
    const pattern = /(?:[ \t\r\n]+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
    pattern.lastIndex = this.at;
    pattern.test(this.#text);
    this.at = pattern.lastIndex;
    if (this.#text.startsWith('/*', this.at)) throw new Fault(this.at, 'this comment does not end');
  }

  value(depth: number): Node {
    this.blank();
    if (depth > MAX_DEPTH) throw new Fault(this.at, 'it is nested too deeply');
    const first = this.#text[this.at];
    if (first === '{') return this.#group(depth, 'object', '}');
    if (first === '[') return this.#group(depth, 'list', ']');
    const start = this.at;
    const value = this.#scalar();
    return { start, end: this.at, kind: null, children: [], value };
  }

  #scalar(): Json {
    const pattern = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?\d[\d.eE+-]*|[a-z]+/y;
    pattern.lastIndex = this.at;
    const token = pattern.exec(this.#text)?.[0];
    if (token === undefined) throw new Fault(this.at, this.#expected('a value'));
    try {
      const value = JSON.parse(token) as Json;
      this.at += token.length;
      return value;
    } catch {
      throw new Fault(this.at, 'this is not JSON');
    }
  }

  #group(depth: number, kind: 'object' | 'list', close: string): Node {
    const start = this.at++;
    const children: Child[] = [];
    for (;;) {
      this.blank();
      if (this.#text[this.at] === close) break;
      const before = children.at(-1);
      if (before !== undefined && before.comma === null)
        throw new Fault(this.at, this.#expected(`a comma or ${close}`));
      children.push(this.#child(depth, kind));
    }
    this.at++;
    const values = children.map(({ node }) => node.value);
    const value =
      kind === 'list' ? values : Object.fromEntries(children.map(each => [each.key, each.node.value]));
    return { start, end: this.at, kind, children, value };
  }

  #child(depth: number, kind: 'object' | 'list'): Child {
    const start = this.at;
    const key = kind === 'object' ? this.#key() : null;
    const node = this.value(depth + 1);
    const end = this.at;
    this.blank();
    const comma = this.#text[this.at] === ',' ? this.at++ : null;
    return { start, end, key, node, comma };
  }

  #key(): string {
    if (this.#text[this.at] !== '"') throw new Fault(this.at, this.#expected('a name in double quotes or }'));
    const key = this.#scalar() as string;
    this.blank();
    if (this.#text[this.at] !== ':') throw new Fault(this.at, this.#expected('a colon'));
    this.at++;
    return key;
  }

  #expected(what: string): string {
    return this.at >= this.#text.length ? `the text ends where ${what} should be` : `${what} should be here`;
  }
}
