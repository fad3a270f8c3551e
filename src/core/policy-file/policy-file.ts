// Reads a policy file in JSON or YAML: `{ name?, description?, limits?, rules: [...], results? }` or a bare list of rules. Every
// problem is reported with its line and column; nothing is guessed or coerced. rule-faults.ts says what is wrong with
// rules and limits, and lint.ts what is probably not meant.

import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { Fields, FieldType } from '../policy/field-type.ts';
import { LIMIT, LIMIT_FIELDS } from '../policy/limit-fields.ts';
import { type Limits, MAX_RULES, type Rule } from '../policy/policy.ts';
import { RESULT, RESULT_FIELDS, type ResultEntry, type ResultField } from '../policy/result-fields.ts';
import { type Fault, fieldFault, type Path, policyFaults } from '../policy/rule-faults.ts';
import { fieldOf, RULE_FIELDS, type RuleField } from '../policy/rule-fields.ts';
import { didYouMean } from '../text/did-you-mean.ts';
import { warningsOf } from './lint.ts';
import { STAR_HINT, yamlFaults } from './yaml-faults.ts';
import { placeInScalar } from './yaml-scalar.ts';
import { offsetOf, plainOf, stepText } from './yaml-values.ts';

export interface Problem {
  severity: 'error' | 'warning';
  line: number;
  column: number;
  message: string;
}

export interface WrittenPolicy {
  name: string | null;
  description: string | null;
  rules: Rule[];
  limits: Limits;
  results: ResultEntry[];
}

interface PolicyFile {
  /** Null when there is an error; a policy with warnings can be used. */
  policy: WrittenPolicy | null;
  problems: Problem[];
  /** The line on which each rule begins, also one that cannot be read, so that the numbers of rules stay right. */
  lines: number[];
}

export function parsePolicy(text: string): PolicyFile {
  return new Reader(text).read();
}

/** YAML allows none of these. The library takes them in comments, which are shown on terminals. */
const NOT_PRINTABLE = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]/;

const LIMITS_FORM =
  '"limits" must be an object of limits with their names, such as { sends: { calls: 20, within: 1h } }';
const RESULTS_FORM = '"results" must be a list of entries, such as [{ tool: "*", hide: secrets }]';
const NEEDED_FIELDS = RULE_FIELDS.filter(field => fieldOf(field).needed);
const POLICY_FIELDS = ['name', 'description', 'limits', 'rules', 'results'];

class Reader {
  readonly #text: string;
  readonly #lines = new LineCounter();
  readonly #problems: Problem[] = [];
  /** The rules that could be read, and their numbers in the file. */
  readonly #rules: { rule: Rule; node: YAMLMap; number: number }[] = [];
  /** The offset of each rule, also of one that could not be read. */
  readonly #starts: number[] = [];
  readonly #limits = new Map<string, { key: Node; node: Node | null }>();
  /** The entries of `results`, also those that cannot be read. */
  #entries: readonly unknown[] = [];
  readonly #lists: Record<string, Node | null> = { rules: null, limits: null, results: null };

  constructor(text: string) {
    this.#text = text;
  }

  read(): PolicyFile {
    // The library compares every key with every other; here they are looked up.
    const document = parseDocument(this.#text, {
      lineCounter: this.#lines,
      uniqueKeys: false,
      version: '1.2',
    });
    const faults = yamlFaults(this.#text, document);
    for (const { offset, message } of faults) this.#add('error', offset, message);
    const control = this.#text.search(NOT_PRINTABLE);
    if (control >= 0) this.#add('error', control, 'a policy must not contain control characters');
    const policy = faults.length === 0 ? this.#policy(document.contents) : null;
    if (policy !== null) this.#faults(policy);
    const failed = this.#problems.some(problem => problem.severity === 'error');
    if (policy !== null && !failed) this.#warnings(policy);
    this.#problems.sort((a, b) => a.line - b.line || a.column - b.column);
    const lines = this.#starts.map(start => this.#lines.linePos(start).line);
    return { policy: failed ? null : policy, problems: this.#problems, lines };
  }

  #policy(root: Node | null): WrittenPolicy | null {
    if (isSeq(root))
      return { name: null, description: null, limits: {}, rules: this.#readRules(root), results: [] };
    if (!isMap(root)) return this.#error(root, 'a policy is a list of rules, or an object with "rules"');
    this.#knownFields(root, POLICY_FIELDS, 'policy');
    const rules = root.get('rules', true);
    if (!isSeq(rules)) return this.#error(rules ?? root, '"rules" must be a list of rules');
    const name = this.#string(root, 'name', text => (text === '' ? 'must not be empty' : null)) ?? null;
    const description = this.#string(root, 'description', () => null) ?? null;
    const limits = this.#readLimits(root);
    return { name, description, limits, rules: this.#readRules(rules), results: this.#readResults(root) };
  }

  #readRules(list: YAMLSeq): Rule[] {
    this.#lists['rules'] = list;
    if (list.items.length > MAX_RULES) this.#error(list, `a policy has at most ${MAX_RULES} rules`);
    list.items.forEach((item, number) => {
      this.#starts.push(offsetOf(item as Node));
      const rule = this.#rule(item as Node, number);
      if (rule !== null) this.#rules.push({ rule, node: item as YAMLMap, number });
    });
    return this.#rules.map(each => each.rule);
  }

  #rule(node: Node, index: number): Rule | null {
    if (!isMap(node)) return this.#error(node, `rule ${index} must be an object with "tool" and "action"`);
    this.#knownFields(node, RULE_FIELDS, `rule ${index}`);
    for (const field of NEEDED_FIELDS) {
      if (!node.has(field)) this.#error(node, `rule ${index} lacks "${field}"`);
    }
    const rule: Record<string, unknown> = {};
    for (const field of RULE_FIELDS) {
      const value = node.has(field) ? this.#field(node, field, index) : undefined;
      if (value !== undefined) rule[field] = value;
    }
    return NEEDED_FIELDS.every(field => Object.hasOwn(rule, field)) ? (rule as unknown as Rule) : null;
  }

  /** The value of a field that a rule has, or undefined if it is wrong by itself, which is reported. */
  #field(rule: YAMLMap, field: RuleField, index: number): unknown {
    const node = rule.get(field, true) as Node | undefined;
    const parts = fieldOf(field).type.parts ?? {};
    this.#knownParts(node, parts, `"${field}" of rule ${index}`);
    if (field === 'when' && isSeq(node)) return this.#conditions(node);
    const value = plainOf(node, parts);
    const wrong = fieldFault(field, value);
    if (wrong === null) return value;
    const hint = isAlias(node) ? STAR_HINT : '';
    this.#error(node ?? rule, `"${field}" ${wrong}${hint}`);
    return undefined;
  }

  #conditions(list: YAMLSeq): Rule['when'] {
    const texts = list.items.map(item => {
      if (isScalar(item) && typeof item.value === 'string') return item.value;
      return this.#error(item, 'each of "when" must be a condition, which is a string');
    });
    return texts.every(text => text !== null) ? texts : undefined;
  }

  /** What the limits of the file say; rule-faults.ts looks at the values. */
  #readLimits(root: YAMLMap): Limits {
    if (!root.has('limits')) return {};
    const limits = root.get('limits', true) as Node | undefined;
    if (!isMap(limits)) return this.#error(limits ?? root, LIMITS_FORM) ?? {};
    this.#lists['limits'] = limits;
    this.#uniqueKeys(limits);
    for (const { key, value } of limits.items as { key: Node; value: Node | null }[]) {
      if (!isScalar(key) || typeof key.value !== 'string')
        this.#error(key, 'the name of a limit must be a string: put it in quotes');
      else {
        this.#limits.set(key.value, { key, node: value });
        if (isMap(value)) this.#knownFields(value, LIMIT_FIELDS, `limit "${key.value}"`);
      }
    }
    return Object.fromEntries(
      Array.from(this.#limits, ([name, { node }]) => [name, isMap(node) ? plainOf(node, LIMIT) : null]),
    ) as Limits;
  }

  /** What the entries of the file say; rule-faults.ts looks at the values. */
  #readResults(root: YAMLMap): ResultEntry[] {
    if (!root.has('results')) return [];
    const list = root.get('results', true) as Node | undefined;
    if (!isSeq(list)) return this.#error(list ?? root, RESULTS_FORM) ?? [];
    this.#lists['results'] = list;
    this.#entries = list.items;
    return list.items.map((item, index) => {
      if (!isMap(item)) return null;
      const what = `entry ${index} of "results"`;
      this.#knownFields(item, RESULT_FIELDS, what);
      for (const field of RESULT_FIELDS)
        this.#knownParts(item.get(field, true), partsOfEntry(field), `"${field}" of ${what}`);
      return plainOf(item, RESULT);
    }) as ResultEntry[];
  }

  /** The string under `field`, or undefined when it is absent or wrong. A wrong type or another fault is reported. */
  #string(map: YAMLMap, field: string, fault: (text: string) => string | null): string | undefined {
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
    this.#uniqueKeys(map);
    for (const pair of map.items) {
      const key = pair.key as Node;
      const name = isScalar(key) ? String(key.value) : '?';
      if (known.includes(name)) continue;
      const meant = didYouMean(name, known);
      this.#error(
        key,
        `unknown field "${name}" in ${what}; known: ${known.join(', ')}${meant && `.${meant}`}`,
      );
    }
  }

  /** The same for a field whose value is an object, or a list in which there are objects. */
  #knownParts(node: unknown, parts: Fields, what: string): void {
    const known = Object.keys(parts);
    if (known.length === 0) return;
    for (const each of isSeq(node) ? node.items : [node])
      if (isMap(each)) this.#knownFields(each, known, what);
  }

  #uniqueKeys(map: YAMLMap): void {
    const seen = new Set<unknown>();
    for (const { key } of map.items) {
      const name = isScalar(key) ? key.value : key;
      if (seen.has(name)) this.#error(key, 'Map keys must be unique');
      seen.add(name);
    }
  }

  #faults({ rules, limits, results }: WrittenPolicy): void {
    for (const fault of policyFaults(rules, limits, results)) {
      this.#add('error', this.#place(fault), this.#subject(fault) + fault.message);
    }
  }

  #warnings({ rules, limits, results }: WrittenPolicy): void {
    for (const warning of warningsOf(rules, limits, results)) {
      this.#add('warning', this.#place(warning), warning.message);
    }
  }

  /** What a message about a part of the policy begins with. */
  #subject({ path: [list, of, field, ...rest], offset }: Fault): string {
    if (of === undefined) return '';
    const number = typeof of === 'number' ? (this.#rules[of]?.number ?? of) : 0;
    const label = list === 'results' ? `entry ${of} of "results"` : `rule ${number}`;
    if (field === 'when' && offset !== null) return `condition ${rest[0] ?? 0} of ${label}: `;
    if (field === undefined && list === 'results') return `${label} `;
    if (typeof of === 'number') return `"${field}${rest.map(stepText).join('')}" `;
    if (offset !== null) return `"${field}" of limit "${of}": `;
    return `limit "${of}": `;
  }

  #place({ path, offset }: Fault): number {
    const node = this.#nodeAt(path);
    if (offset !== null && isScalar(node)) return placeInScalar(this.#text, node as Scalar, offset);
    return offsetOf(node);
  }

  #nodeAt([list = '', of, ...fields]: Path): Node | null {
    if (of === undefined) return this.#lists[list] ?? null;
    const limit = typeof of === 'string' ? this.#limits.get(of) : undefined;
    if (limit !== undefined && fields.length === 0) return limit.key;
    const item = list === 'results' ? this.#entries[Number(of)] : this.#rules[Number(of)]?.node;
    const node = (typeof of === 'number' ? (item as Node | undefined) : limit?.node) ?? null;
    return isMap(node) && fields.length > 0 ? ((node.getIn(fields, true) as Node | undefined) ?? node) : node;
  }

  #error(node: unknown, message: string): null {
    this.#add('error', offsetOf(node as Node | null), message);
    return null;
  }

  #add(severity: Problem['severity'], offset: number, message: string): void {
    const { line, col } = this.#lines.linePos(offset);
    this.#problems.push({ severity, line: Math.max(line, 1), column: Math.max(col, 1), message });
  }
}

function partsOfEntry(field: ResultField): Fields {
  const type: FieldType<unknown> = RESULT[field].type;
  return type.parts ?? {};
}
