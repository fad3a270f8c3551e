// Reads a policy file in JSON or YAML: `{ name?, description?, rules: [...] }` or a bare list of rules. Every problem
// is reported with its line and column; nothing is guessed or coerced.

import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLError,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { warningsOf } from './lint.ts';
import { ACTIONS, type Action, MAX_RULES, patternFault, type Rule, reasonFault } from './policy.ts';

export interface Problem {
  severity: 'error' | 'warning';
  line: number;
  column: number;
  message: string;
}

interface PolicyFile {
  /** Null when there is an error; a policy with warnings can be used. */
  policy: { name: string | null; rules: Rule[] } | null;
  problems: Problem[];
  /** The line on which each rule begins. */
  lines: number[];
}

export function parsePolicy(text: string): PolicyFile {
  return new Reader(text).read();
}

/** In YAML a bare `*` begins an alias. */
const STAR_HINT = ' (a pattern that begins with * must be in quotes)';

const POLICY_FIELDS = ['name', 'description', 'rules'];
const RULE_FIELDS = ['tool', 'action', 'reason'];

class Reader {
  readonly #text: string;
  readonly #lines = new LineCounter();
  readonly #problems: Problem[] = [];
  readonly #places: number[] = [];
  #list = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): PolicyFile {
    const document = parseDocument(this.#text, {
      lineCounter: this.#lines,
      uniqueKeys: true,
      version: '1.2',
    });
    for (const error of document.errors) this.#yamlError(error);
    const policy = document.errors.length === 0 ? this.#policy(document.contents) : null;
    const failed = this.#problems.some(problem => problem.severity === 'error');
    if (policy !== null && !failed) this.#warnings(policy.rules);
    this.#problems.sort((a, b) => a.line - b.line || a.column - b.column);
    const lines = this.#places.map(offset => this.#lines.linePos(offset).line);
    return { policy: failed ? null : policy, problems: this.#problems, lines };
  }

  #policy(root: Node | null): { name: string | null; rules: Rule[] } | null {
    if (isSeq(root)) return { name: null, rules: this.#rules(root) };
    if (!isMap(root)) return this.#error(root, 'a policy is a list of rules, or an object with "rules"');
    this.#knownFields(root, POLICY_FIELDS, 'policy');
    const rules = root.get('rules', true);
    if (!isSeq(rules)) return this.#error(rules ?? root, '"rules" must be a list of rules');
    const name = this.#text_(root, 'name', text => (text === '' ? 'must not be empty' : null)) ?? null;
    this.#text_(root, 'description', () => null);
    return { name, rules: this.#rules(rules) };
  }

  #rules(list: YAMLSeq): Rule[] {
    this.#list = this.#offset(list);
    if (list.items.length > MAX_RULES) this.#error(list, `a policy has at most ${MAX_RULES} rules`);
    return list.items.flatMap((item, index) => this.#rule(item as Node, index) ?? []);
  }

  #rule(node: Node, index: number): Rule | null {
    if (!isMap(node)) return this.#error(node, `rule ${index} must be an object with "tool" and "action"`);
    this.#knownFields(node, RULE_FIELDS, `rule ${index}`);
    for (const field of ['tool', 'action']) {
      if (!node.has(field)) this.#error(node, `rule ${index} lacks "${field}"`);
    }
    const tool = this.#text_(node, 'tool', patternFault);
    const action = this.#text_(node, 'action', value =>
      (ACTIONS as readonly string[]).includes(value) ? null : `must be one of ${ACTIONS.join(', ')}`,
    );
    const reason = this.#text_(node, 'reason', reasonFault);
    if (tool === undefined || action === undefined) return null;
    this.#places.push(this.#offset(node));
    return { tool, action: action as Action, ...(reason === undefined ? {} : { reason }) };
  }

  /** The string under `field`, or undefined when it is absent or wrong. A wrong type or another fault is reported. */
  #text_(map: YAMLMap, field: string, fault: (text: string) => string | null): string | undefined {
    if (!map.has(field)) return undefined;
    const node = map.get(field, true) as Node | undefined;
    const value = isScalar(node) ? node.value : undefined;
    if (typeof value !== 'string') {
      const hint = isAlias(node) ? STAR_HINT : '';
      this.#error(node ?? map, `"${field}" must be a string${hint}`);
      return undefined;
    }
    const wrong = fault(value);
    if (wrong === null) return value;
    this.#error(node ?? map, `"${field}" ${wrong}`);
    return undefined;
  }

  #knownFields(map: YAMLMap, known: readonly string[], what: string): void {
    for (const pair of map.items) {
      const key = pair.key as Node;
      const name = isScalar(key) ? String(key.value) : '?';
      if (!known.includes(name))
        this.#error(key, `unknown field "${name}" in ${what}; known: ${known.join(', ')}`);
    }
  }

  #warnings(rules: readonly Rule[]): void {
    for (const { index, message } of warningsOf(rules)) {
      this.#add('warning', (index === null ? this.#list : this.#places[index]) ?? 0, message);
    }
  }

  #yamlError(error: YAMLError): void {
    const message =
      error.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? 'cannot be read';
    this.#add('error', error.pos[0], error.code === 'BAD_ALIAS' ? message + STAR_HINT : message);
  }

  #error(node: unknown, message: string): null {
    this.#add('error', this.#offset(node as Node | null), message);
    return null;
  }

  #offset(node: Node | null | undefined): number {
    return node?.range?.[0] ?? 0;
  }

  #add(severity: Problem['severity'], offset: number, message: string): void {
    const { line, col } = this.#lines.linePos(offset);
    this.#problems.push({ severity, line: Math.max(line, 1), column: Math.max(col, 1), message });
  }
}
