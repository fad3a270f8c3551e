// Parses a condition by the grammar of the CEL specification. The depth of the tree is bounded here, so that nothing
// that walks it later can run out of stack.

import { ConditionFault } from './fault.ts';
import { type Token, tokensOf } from './lexer.ts';
import { type BinaryOperator, MACROS, type Macro, type Node } from './syntax.ts';
import { double, doubleOf, Failure, integer } from './values.ts';

const MAX_DEPTH = 100;

const LEVELS: ReadonlyMap<string, number> = new Map([
  ...['<', '<=', '>', '>=', '==', '!=', 'in'].map(each => [each, 1] as const),
  ...['+', '-'].map(each => [each, 2] as const),
  ...['*', '/', '%'].map(each => [each, 3] as const),
]);
const WORDS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);
const RESERVED = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** Operators of other languages, and what is written here. */
const OPERATORS: ReadonlyMap<string, string> = new Map([
  ['and', '&&'],
  ['or', '||'],
  ['not', '!'],
  ['is', '=='],
]);

export function parseCondition(source: string): Node {
  return new Parser(source).whole();
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  /** How deep the parser itself is. */
  #depth = 0;
  /** How deep the tree below each node is; chains such as `a + b + c` are deep although the parser is not. */
  readonly #depths = new WeakMap<Node, number>();

  constructor(source: string) {
    this.#tokens = tokensOf(source);
  }

  whole(): Node {
    if (this.#tokens.length === 1) throw new ConditionFault('the condition is empty', 0);
    const node = this.#expression();
    if (this.#token.kind !== 'end') throw this.#unexpected();
    return node;
  }

  get #token(): Token {
    return this.#tokens[this.#at]!;
  }

  #isNext(symbol: string): boolean {
    return this.#token.kind === 'symbol' && this.#token.text === symbol;
  }

  #take(symbol: string): boolean {
    if (!this.#isNext(symbol)) return false;
    this.#at++;
    return true;
  }

  #expect(symbol: string): void {
    if (!this.#take(symbol)) throw this.#unexpected(`, expected "${symbol}"`);
  }

  #unexpected(expected = ''): ConditionFault {
    for (const { text, offset } of this.#tokens.slice(Math.max(this.#at - 1, 0), this.#at + 1)) {
      const operator = OPERATORS.get(text);
      if (operator !== undefined)
        return new ConditionFault(`"${text}" is not an operator; use "${operator}"`, offset);
    }
    const { kind, text, type, offset } = this.#token;
    const shown = text.length > 30 ? `${text.slice(0, 30)}…` : text;
    const found = kind === 'end' ? 'end' : type === 'string' ? shown : `"${shown}"`;
    return new ConditionFault(`unexpected ${found}${expected}`, offset);
  }

  #made(node: Node, ...parts: readonly Node[]): Node {
    let depth = 1;
    for (const part of parts) depth = Math.max(depth, 1 + (this.#depths.get(part) ?? 1));
    this.#requireDepth(depth, node.offset);
    this.#depths.set(node, depth);
    return node;
  }

  #requireDepth(depth: number, offset: number): void {
    if (depth > MAX_DEPTH) throw new ConditionFault('the condition is nested too deeply', offset);
  }

  #expression(): Node {
    this.#requireDepth(++this.#depth, this.#token.offset);
    let node = this.#terms('or');
    if (this.#take('?')) {
      const condition = node;
      const yes = this.#terms('or');
      this.#expect(':');
      const no = this.#expression();
      node = this.#made({ kind: 'choice', offset: condition.offset, condition, yes, no }, condition, yes, no);
    }
    this.#depth--;
    return node;
  }

  #terms(kind: 'or' | 'and'): Node {
    const next = () => (kind === 'or' ? this.#terms('and') : this.#binary(1));
    const first = next();
    const terms = [first];
    while (this.#take(kind === 'or' ? '||' : '&&')) terms.push(next());
    return terms.length === 1 ? first : this.#made({ kind, offset: first.offset, terms }, ...terms);
  }

  #binary(level: number): Node {
    if (level > 3) return this.#unary();
    let left = this.#binary(level + 1);
    for (;;) {
      const { kind, text, offset: operatorOffset } = this.#token;
      if ((kind !== 'symbol' && kind !== 'name') || LEVELS.get(text) !== level) return left;
      this.#at++;
      const right = this.#binary(level + 1);
      const operator = text as BinaryOperator;
      const { offset } = left;
      left = this.#made({ kind: 'binary', offset, operator, left, right, operatorOffset }, left, right);
    }
  }

  #unary(): Node {
    const { offset } = this.#token;
    const sign = this.#isNext('!') ? '!' : this.#isNext('-') ? '-' : null;
    if (sign === null) return this.#member(this.#primary(false));
    let times = 0;
    while (this.#take(sign)) times++;
    // The last minus before a number belongs to it, because the smallest int has no positive counterpart.
    const negative = sign === '-' && (this.#token.kind === 'int' || this.#token.type === 'double');
    let node = this.#member(this.#primary(negative));
    const kind = sign === '!' ? 'not' : 'negate';
    for (let left = negative ? times - 1 : times; left > 0; left--) {
      node = this.#made({ kind, offset, operand: node }, node);
    }
    return node;
  }

  #member(operand: Node): Node {
    const { offset } = operand;
    let node = operand;
    for (;;) {
      if (this.#take('[')) {
        const index = this.#expression();
        this.#expect(']');
        node = this.#made({ kind: 'index', offset, operand: node, index }, node, index);
      } else if (this.#take('.')) {
        const { kind, text, offset: fieldOffset } = this.#token;
        if (WORDS.has(text) || text === 'in')
          throw new ConditionFault(`"${text}" is a reserved word; write ["${text}"]`, fieldOffset);
        if (kind !== 'name') throw this.#unexpected(', expected a field');
        this.#at++;
        node = this.#isNext('(')
          ? this.#call(node, text, offset, fieldOffset)
          : this.#made({ kind: 'select', offset, operand: node, field: text, fieldOffset }, node);
      } else if (this.#isNext('{') && (node.kind === 'name' || node.kind === 'select')) {
        throw new ConditionFault('messages are not supported', offset);
      } else return node;
    }
  }

  #primary(negative: boolean): Node {
    const { kind, text, value, type, offset } = this.#token;
    if (kind === 'end') throw this.#unexpected();
    this.#at++;
    if (kind === 'int') return { kind: 'literal', offset, type: 'int', value: intOf(text, negative, offset) };
    if (kind === 'literal') {
      const x = doubleOf(value);
      const signed = negative && x !== null ? double(-x) : value;
      return { kind: 'literal', offset, type: type!, value: signed };
    }
    if (kind === 'name') return this.#named(text, offset);
    if (text === '(') {
      const inner = this.#expression();
      this.#expect(')');
      return inner;
    }
    if (text === '[') {
      const items = this.#listed(']', () => this.#expression());
      return this.#made({ kind: 'list', offset, items }, ...items);
    }
    if (text === '{') {
      const entries = this.#listed('}', () => {
        const key = this.#expression();
        this.#expect(':');
        return { key, value: this.#expression() };
      });
      const parts = entries.flatMap(entry => [entry.key, entry.value]);
      return this.#made({ kind: 'map', offset, entries }, ...parts);
    }
    this.#at--;
    throw this.#unexpected();
  }

  /** What stands between commas; one comma may follow the last. */
  #listed<T>(close: string, part: () => T): T[] {
    const parts: T[] = [];
    while (!this.#take(close)) {
      parts.push(part());
      if (!this.#isNext(close)) this.#expect(',');
    }
    return parts;
  }

  #named(name: string, offset: number): Node {
    const word = WORDS.get(name);
    if (word !== undefined)
      return { kind: 'literal', offset, type: word === null ? 'null' : 'bool', value: word };
    if (name === 'in') {
      this.#at--;
      throw this.#unexpected();
    }
    if (RESERVED.has(name)) throw new ConditionFault(`"${name}" is a reserved word`, offset);
    return this.#isNext('(') ? this.#call(null, name, offset, offset) : { kind: 'name', offset, name };
  }

  #call(target: Node | null, name: string, offset: number, nameOffset: number): Node {
    this.#expect('(');
    const parts: Node[] = [];
    if (!this.#take(')')) {
      do parts.push(this.#expression());
      while (this.#take(','));
      this.#expect(')');
    }
    if (target === null && name === 'has') return this.#has(parts, offset);
    const parameters = name === 'map' && parts.length === 3 ? 3 : 2;
    if (target !== null && isMacro(name) && parts.length === parameters) {
      return this.#macro(target, name, parts, offset);
    }
    const all = target === null ? parts : [target, ...parts];
    return this.#made({ kind: 'call', offset, target, name, arguments: parts, nameOffset }, ...all);
  }

  #has(parts: readonly Node[], offset: number): Node {
    const [tested] = parts;
    if (parts.length !== 1 || tested?.kind !== 'select') {
      throw new ConditionFault('has() takes one field, such as has(args.amount)', tested?.offset ?? offset);
    }
    const { operand, field, fieldOffset } = tested;
    return this.#made({ kind: 'has', offset, operand, field, fieldOffset }, operand);
  }

  #macro(range: Node, name: Macro, parts: readonly Node[], offset: number): Node {
    const [variable, ...rest] = parts;
    if (variable?.kind !== 'name') {
      throw new ConditionFault(
        `the first argument of ${name}() has to be a name`,
        variable?.offset ?? offset,
      );
    }
    const body = rest.at(-1)!;
    const only = rest.length === 2 ? rest[0]! : null;
    return this.#made(
      { kind: 'macro', offset, name, range, variable: variable.name, only, body },
      range,
      ...rest,
    );
  }
}

function isMacro(name: string): name is Macro {
  return MACROS.some(each => each === name);
}

function intOf(text: string, negative: boolean, offset: number): number | bigint {
  const value = BigInt(text);
  const int = integer(negative ? -value : value);
  if (int instanceof Failure) throw new ConditionFault(`the number ${text} is beyond 64 bits`, offset);
  return int;
}
