// Checks a parsed condition against the declared variables and compiles it to closures, in one walk over the tree. It
// also notes which variables the condition reads, and what is odd about it.

import { didYouMean } from '../text/did-you-mean.ts';
import { calledFunction, functionPart, matchesPart, type UsedPattern } from './calls.ts';
import { listPart, mapPart } from './containers.ts';
import { ConditionFault, unknownVariable } from './fault.ts';
import type { Part, Remark, Run } from './frame.ts';
import { firstName, hyphenatedField } from './hyphen.ts';
import { macroRun } from './macros.ts';
import { entryOf, fieldReader } from './maps.ts';
import {
  binaryPart,
  checkIndex,
  choicePart,
  comparisonRemark,
  element,
  logicPart,
  negatePart,
  notPart,
} from './operators.ts';
import type { Path } from './reads.ts';
import type { Node, NodeOf } from './syntax.ts';
import { BOOL, DYN, type Field, fits, listOf, STRING, TYPE, type Type, typeText } from './types.ts';
import { ABSENT, adopt, Failure, OUT_OF_RANGE, TYPE_NAMES } from './values.ts';

/** The variables of a condition and their types. */
export type Declarations = Readonly<Record<string, Type>>;

/** This many parts of a condition, or of a macro's body, are covered by one step. */
const PARTS_PER_STEP = 16;

/**
 * The instructions of all patterns together. Without repetitions a condition is too short for as many; with them, one of
 * 4,000 characters took 0.7 s to compile.
 */
const MAX_INSTRUCTIONS = 5_000;

const NO_FIELDS: Readonly<Record<string, never>> = Object.freeze({});

export class Compiler {
  readonly reads: Path[] = [];
  readonly tested: Path[] = [];
  readonly calls = new Set<string>();
  readonly remarks: Remark[] = [];
  readonly patterns: UsedPattern[] = [];
  readonly #declarations: Declarations;
  /** Whether its patterns were checked before, and are compiled when they are used. */
  readonly #isChecked: boolean;
  /** The variables of the macros around the node, the innermost last. */
  readonly #locals: { name: string; type: Type }[] = [];
  /** How many parts were compiled. */
  #parts = 0;
  /** How many instructions the patterns have. */
  #instructions = 0;

  constructor(declarations: Declarations, isChecked = false) {
    this.#declarations = declarations;
    this.#isChecked = isChecked;
  }

  /** The steps that one evaluation takes, apart from what its functions and macros take. */
  get cost(): number {
    return Math.ceil(this.#parts / PARTS_PER_STEP);
  }

  /** A part that is used as a value, which a group of fields such as `tool` cannot be. */
  value(node: Node): Part {
    const part = this.#part(node);
    if (part.type.kind === 'struct') {
      throw new ConditionFault('this is a group of fields; use one of them', node.offset);
    }
    return part;
  }

  #part(node: Node): Part {
    const path = this.#pathOf(node);
    if (path !== null) this.reads.push({ path, offset: node.offset });
    return this.#compiled(node);
  }

  /** The same for what stands before a field or an index: of a longer path only the whole is noted. */
  #operand(of: NodeOf<'select' | 'index'>): Part {
    return this.#pathOf(of) === null ? this.#part(of.operand) : this.#compiled(of.operand);
  }

  #compiled(node: Node): Part {
    this.#parts++;
    const { offset } = node;
    switch (node.kind) {
      case 'literal':
        return { type: { kind: node.type }, run: () => node.value, offset, literal: node.value };
      case 'name':
        return this.#name(node);
      case 'select':
        return this.#select(node);
      case 'has':
        return this.#has(node);
      case 'index':
        return this.#index(node);
      case 'call':
        return this.#call(node);
      case 'macro':
        return this.#macro(node);
      case 'not':
        return notPart(this.value(node.operand), offset);
      case 'negate':
        return negatePart(this.value(node.operand), offset);
      case 'binary':
        return this.#binary(node);
      case 'and':
      case 'or':
        return logicPart(
          node.terms.map(each => this.value(each)),
          node.kind === 'or',
        );
      case 'choice':
        return choicePart(this.value(node.condition), this.value(node.yes), this.value(node.no));
      case 'list':
        return listPart(
          node.items.map(each => this.value(each)),
          offset,
        );
      case 'map':
        return mapPart(
          node.entries.map(({ key, value }) => ({ key: this.value(key), value: this.value(value) })),
          offset,
        );
    }
  }

  #binary(node: NodeOf<'binary'>): Part {
    const { operator, operatorOffset, left, right } = node;
    const name = firstName(right);
    if (name !== null && !this.#isVariable(name) && !TYPE_NAMES.has(name)) {
      const meant = hyphenatedField(node);
      if (meant !== null)
        throw new ConditionFault(`unknown variable "${name}". Did you mean ${meant}?`, right.offset);
    }
    const [a, b] = [this.value(left), this.value(right)];
    const part = binaryPart(operator, a, b, operatorOffset);
    const remark = comparisonRemark(operator, a, b);
    if (remark !== null) this.remarks.push(remark);
    return part;
  }

  /** The variable and fields that a node names, or null if it is anything else. */
  #pathOf(node: Node): string[] | null {
    if (node.kind === 'name') {
      const declared = Object.hasOwn(this.#declarations, node.name);
      return declared && this.#localOf(node.name) < 0 ? [node.name] : null;
    }
    if (node.kind !== 'select' && node.kind !== 'index') return null;
    const field = node.kind === 'select' ? node.field : node.index.kind === 'literal' && node.index.value;
    if (typeof field !== 'string') return null;
    const path = this.#pathOf(node.operand);
    path?.push(field);
    return path;
  }

  #localOf(name: string): number {
    return this.#locals.findLastIndex(each => each.name === name);
  }

  #name({ name, offset }: NodeOf<'name'>): Part {
    const slot = this.#localOf(name);
    if (slot >= 0) return { type: this.#locals[slot]!.type, run: frame => frame.locals[slot], offset };
    if (Object.hasOwn(this.#declarations, name)) {
      const type = this.#declarations[name]!;
      // All fields of an absent group are absent.
      if (type.kind === 'struct') return { type, run: frame => frame.scope[name] ?? NO_FIELDS, offset };
      return { type, run: frame => adopt(frame.scope[name]), offset };
    }
    const typeName = TYPE_NAMES.get(name);
    if (typeName !== undefined) return { type: TYPE, run: () => typeName, offset };
    const locals = this.#locals.map(each => each.name);
    throw new ConditionFault(unknownVariable(name, Object.keys(this.#declarations), locals), offset);
  }

  #select(node: NodeOf<'select'>): Part {
    const { field, fieldOffset, offset } = node;
    const { type, run } = this.#operand(node);
    const read = fieldReader(field);
    return { type: fieldOf(type, field, fieldOffset).type, run: frame => read(run(frame)), offset };
  }

  #has({ operand, field, fieldOffset, offset }: NodeOf<'has'>): Part {
    const path = this.#pathOf(operand);
    if (path !== null) {
      this.tested.push({ path: [...path, field], offset });
      // What stands before the field is read, and the condition fails if that is absent.
      if (path.length > 1) this.reads.push({ path, offset: operand.offset });
    }
    const { type, run } = path === null ? this.#part(operand) : this.#compiled(operand);
    fieldOf(type, field, fieldOffset);
    return {
      type: BOOL,
      offset,
      run: frame => {
        const found = entryOf(run(frame), field);
        return found instanceof Failure ? found : found !== undefined;
      },
    };
  }

  #index(node: NodeOf<'index'>): Part {
    const container = this.#operand(node);
    const index = this.value(node.index);
    const type = checkIndex(container.type, index);
    const { offset } = node;
    if (typeof index.literal === 'string') {
      const read = fieldReader(index.literal);
      return { type, run: frame => read(container.run(frame)), offset };
    }
    const run: Run = frame => {
      const from = container.run(frame);
      const found = element(from, index.run(frame));
      if (found === undefined) return Array.isArray(from) ? OUT_OF_RANGE : ABSENT;
      return adopt(found);
    };
    return { type, run, offset };
  }

  #macro(node: NodeOf<'macro'>): Part {
    const { name, variable, offset } = node;
    const range = this.value(node.range);
    const slot = this.#locals.length;
    const before = this.#parts;
    this.#locals.push({ name: variable, type: elementType(range) });
    const only = node.only === null ? null : this.value(node.only);
    const body = name === 'map' ? this.value(node.body) : this.#predicate(node.body, name);
    if (only !== null) requireBool(only, name);
    const element = this.#locals.pop()!.type;
    const cost = Math.ceil((this.#parts - before) / PARTS_PER_STEP);
    const run = macroRun(name, { range: range.run, slot, cost, body: body.run, only: only?.run ?? null });
    const type = name === 'map' ? listOf(body.type) : name === 'filter' ? listOf(element) : BOOL;
    return { type, run, offset };
  }

  #predicate(node: Node, name: string): Part {
    const part = this.value(node);
    requireBool(part, name);
    return part;
  }

  #call(node: NodeOf<'call'>): Part {
    const { called, operands } = calledFunction(node, name => this.#isVariable(name));
    const parts = operands.map(each => this.value(each));
    this.calls.add(called === 'matches' ? called : called.name);
    if (called !== 'matches') return functionPart(called, parts, node.offset);
    const { part, pattern, patternOffset } = matchesPart(parts, node, this.#isChecked);
    this.patterns.push(pattern);
    this.#instructions += pattern.size;
    if (this.#instructions > MAX_INSTRUCTIONS)
      throw new ConditionFault(
        'the patterns of this condition are too large together',
        patternOffset,
        this.#instructions,
      );
    return part;
  }

  #isVariable(name: string): boolean {
    return this.#localOf(name) >= 0 || Object.hasOwn(this.#declarations, name);
  }
}

function fieldOf(type: Type, field: string, offset: number): Field {
  if (type.kind === 'struct') {
    if (Object.hasOwn(type.fields, field)) return type.fields[field]!;
    const known = Object.keys(type.fields);
    throw new ConditionFault(
      `unknown field "${field}"; known: ${known.join(', ')}.${didYouMean(field, known)}`,
      offset,
    );
  }
  if (type.kind === 'dyn') return { type: DYN };
  if (type.kind === 'map' && fits(type.key, STRING)) return { type: type.value };
  throw new ConditionFault(`${typeText(type)} has no fields`, offset);
}

function elementType({ type, offset }: Part): Type {
  if (type.kind === 'list') return type.element;
  if (type.kind === 'map') return type.key;
  if (type.kind === 'dyn') return DYN;
  throw new ConditionFault(`a macro runs over a list or a map, and this is ${typeText(type)}`, offset);
}

function requireBool({ type, offset }: Part, macro: string): void {
  if (!fits(type, BOOL))
    throw new ConditionFault(`"${macro}" takes a bool, and this is ${typeText(type)}`, offset);
}
