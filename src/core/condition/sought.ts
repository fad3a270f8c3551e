// The texts that a condition looks for in a variable that is a list: `"a" in marks`, `marks.exists(m, m == "a")`,
// `["a", "b"].all(m, m in marks)`, `marks == ["a"]`. For warnings about names that are misspelt: a text that is looked for in
// another way is not found, and nothing rests on that.

import { parseCondition } from './parser.ts';
import type { Node, NodeOf } from './syntax.ts';

export interface Sought {
  text: string;
  offset: number;
}

/** The condition is one that can be compiled. */
export function textsSought(source: string, variable: string): Sought[] {
  const search = new Search(variable);
  search.walk(parseCondition(source), new Map());
  return search.found;
}

/** What the variables of the macros around a node run over. */
type Ranges = ReadonlyMap<string, Node>;

class Search {
  readonly found: Sought[] = [];
  readonly #variable: string;

  constructor(variable: string) {
    this.#variable = variable;
  }

  walk(node: Node, ranges: Ranges): void {
    if (node.kind === 'binary') this.#compare(node, ranges);
    if (node.kind !== 'macro') {
      for (const part of partsOf(node)) this.walk(part, ranges);
      return;
    }
    this.walk(node.range, ranges);
    const inner = new Map([...ranges, [node.variable, node.range]]);
    if (node.only !== null) this.walk(node.only, inner);
    this.walk(node.body, inner);
  }

  #compare({ operator, left, right }: NodeOf<'binary'>, ranges: Ranges): void {
    if (operator === 'in') {
      if (this.#isList(right, ranges)) this.found.push(...literals(left, ranges));
      else if (this.#isElement(left, ranges)) this.found.push(...literals(right, ranges));
    } else if (operator === '==' || operator === '!=') {
      for (const [one, other] of [
        [left, right],
        [right, left],
      ] as const)
        if (this.#isList(one, ranges) || this.#isElement(one, ranges))
          this.found.push(...literals(other, ranges));
    }
  }

  /** Whether a node is the list in which texts are looked for. */
  #isList(node: Node, ranges: Ranges): boolean {
    return node.kind === 'name' && node.name === this.#variable && !ranges.has(node.name);
  }

  /** Whether a node is each element of that list in turn. */
  #isElement(node: Node, ranges: Ranges): boolean {
    const range = node.kind === 'name' ? ranges.get(node.name) : undefined;
    return range?.kind === 'name' && range.name === this.#variable;
  }
}

/** The texts that a node stands for: a literal, those of a list, or those that the variable of a macro runs over. */
function literals(node: Node, ranges: Ranges): Sought[] {
  if (node.kind === 'literal')
    return typeof node.value === 'string' ? [{ text: node.value, offset: node.offset }] : [];
  if (node.kind === 'list') return node.items.flatMap(each => literals(each, new Map()));
  const range = node.kind === 'name' ? ranges.get(node.name) : undefined;
  return range?.kind === 'list' ? literals(range, new Map()) : [];
}

function partsOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'literal':
    case 'name':
    case 'macro':
      return [];
    case 'select':
    case 'has':
    case 'not':
    case 'negate':
      return [node.operand];
    case 'index':
      return [node.operand, node.index];
    case 'call':
      return node.target === null ? node.arguments : [node.target, ...node.arguments];
    case 'binary':
      return [node.left, node.right];
    case 'and':
    case 'or':
      return node.terms;
    case 'choice':
      return [node.condition, node.yes, node.no];
    case 'list':
      return node.items;
    case 'map':
      return node.entries.flatMap(({ key, value }) => [key, value]);
  }
}
