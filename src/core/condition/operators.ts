// The operators, each checked and compiled. The first lines of what they return serve the usual case, numbers and
// strings; everything else is decided by the functions that they call after.

import { ARITHMETIC, add, negate } from './arithmetic.ts';
import { equal, isIn, less } from './compare.ts';
import { ConditionFault } from './fault.ts';
import type { Part, Remark, Run } from './frame.ts';
import { entryOf, keyOf } from './maps.ts';
import type { Steps } from './steps.ts';
import type { BinaryOperator } from './syntax.ts';
import { concatenated } from './text.ts';
import { BOOL, DYN, fits, INT, joined, type Type, typeText } from './types.ts';
import { Failure, isMap, numberOf, TOO_MUCH_WORK, type Value, WRONG_TYPE } from './values.ts';

export function binaryPart(operator: BinaryOperator, left: Part, right: Part, at: number): Part {
  const type = resultOf(operator, left.type, right.type);
  if (type === null) {
    const types = `${typeText(left.type)} and ${typeText(right.type)}`;
    throw new ConditionFault(`"${operator}" cannot be applied to ${types}`, at);
  }
  return { type, run: runOf(operator, left.run, right.run), offset: left.offset };
}

const ORDERED: readonly BinaryOperator[] = ['<', '<=', '>', '>='];

export function comparisonRemark(operator: BinaryOperator, left: Part, right: Part): Remark | null {
  if (!ORDERED.includes(operator)) return null;
  const quoted = [left, right].find(({ literal }) => typeof literal === 'string' && isNumeric(literal));
  return quoted === undefined ? null : { message: QUOTED_NUMBER, offset: quoted.offset };
}

const QUOTED_NUMBER =
  'compares with a number in quotes, which is a text, and as a text "100" is less than "50"; leave out the quotes';

function isNumeric(text: string): boolean {
  return text.trim() !== '' && Number.isFinite(Number(text));
}

function resultOf(operator: BinaryOperator, a: Type, b: Type): Type | null {
  const both = (...kinds: readonly Type['kind'][]) =>
    [a, b].every(each => each.kind === 'dyn' || kinds.includes(each.kind));
  switch (operator) {
    case '==':
    case '!=':
      return fits(a, b) ? BOOL : null;
    case 'in':
      if (b.kind === 'dyn') return BOOL;
      if (b.kind === 'list') return fits(a, b.element) ? BOOL : null;
      return b.kind === 'map' && fits(a, b.key) ? BOOL : null;
    case '+':
      return fits(a, b) && both('int', 'double', 'string', 'list') ? sumOf(a, b) : null;
    case '%':
      return both('int') ? INT : null;
    case '-':
    case '*':
    case '/':
      return fits(a, b) && both('int', 'double') ? sumOf(a, b) : null;
    default:
      return both('int', 'double') || (fits(a, b) && both('bool', 'string')) ? BOOL : null;
  }
}

/** Operands of one type give that type, so one that is known tells that of the other. Elements of lists may differ. */
function sumOf(a: Type, b: Type): Type {
  if (a.kind === 'list' && b.kind === 'list') return joined(a, b);
  if (a.kind === 'list' || b.kind === 'list') return { kind: 'list', element: DYN };
  return a.kind === 'dyn' ? b : a;
}

function runOf(operator: BinaryOperator, left: Run, right: Run): Run {
  switch (operator) {
    case '==':
      return frame => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') return a === b;
        return equal(a, b, frame.steps);
      };
    case '!=':
      return frame => {
        const same = equal(left(frame), right(frame), frame.steps);
        return typeof same === 'boolean' ? !same : same;
      };
    case '<':
      return frame => {
        const a = left(frame);
        const b = right(frame);
        return typeof a === 'number' && typeof b === 'number' ? a < b : less(a, b, false, frame.steps);
      };
    case '<=':
      return frame => {
        const a = left(frame);
        const b = right(frame);
        return typeof a === 'number' && typeof b === 'number' ? a <= b : less(a, b, true, frame.steps);
      };
    case '>':
      return frame => {
        const a = left(frame);
        const b = right(frame);
        return typeof a === 'number' && typeof b === 'number' ? a > b : less(b, a, false, frame.steps);
      };
    case '>=':
      return frame => {
        const a = left(frame);
        const b = right(frame);
        return typeof a === 'number' && typeof b === 'number' ? a >= b : less(b, a, true, frame.steps);
      };
    case 'in':
      return frame => isAmong(left(frame), right(frame), frame.steps);
    case '+':
      return frame => sum(left(frame), right(frame), frame.steps);
    default: {
      const calculate = ARITHMETIC[operator];
      return frame => calculate(left(frame), right(frame));
    }
  }
}

function isAmong(value: Value, container: Value, steps: Steps): Value {
  if (value instanceof Failure) return value;
  if (Array.isArray(container)) return isIn(value, container, steps);
  if (isMap(container)) return isKey(value) ? entryOf(container, value) !== undefined : WRONG_TYPE;
  return container instanceof Failure ? container : WRONG_TYPE;
}

/** Whether a map could have it as a key; a double finds the int that equals it. */
function isKey(value: Value): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || numberOf(value) !== null;
}

function sum(a: Value, b: Value, steps: Steps): Value {
  if (typeof a === 'string' && typeof b === 'string') return concatenated(a, b, steps);
  if (Array.isArray(a) && Array.isArray(b)) {
    return steps.copies(a.length + b.length) ? a.concat(b) : TOO_MUCH_WORK;
  }
  return add(a, b);
}

/** The element of a list or the value of a key. */
export function element(container: Value, index: Value): unknown {
  if (index instanceof Failure && !(container instanceof Failure)) return index;
  if (!Array.isArray(container)) return entryOf(container, index);
  const at = keyOf(index);
  if (typeof at === 'number' && Number.isInteger(at))
    return at >= 0 && at < container.length ? container[at] : undefined;
  return typeof at === 'bigint' ? undefined : WRONG_TYPE;
}

/** `&&` and `||`: the one value that decides, whatever the other terms say or whether they fail. */
export function logicPart(terms: readonly Part[], decisive: boolean): Part {
  for (const { type, offset } of terms) {
    if (!fits(type, BOOL)) {
      const operator = decisive ? '||' : '&&';
      throw new ConditionFault(`"${operator}" takes bools, and this is ${typeText(type)}`, offset);
    }
  }
  const runs = terms.map(each => each.run);
  const run: Run = frame => {
    let failure: Failure | null = null;
    for (let at = 0; at < runs.length; at++) {
      const value = runs[at]!(frame);
      if (value === decisive) return decisive;
      if (value !== !decisive) failure ??= value instanceof Failure ? value : WRONG_TYPE;
    }
    return failure ?? !decisive;
  };
  return { type: BOOL, run, offset: terms[0]!.offset };
}

export function notPart(operand: Part, offset: number): Part {
  const { run, type } = operand;
  if (!fits(type, BOOL)) throw new ConditionFault(`"!" takes a bool, and this is ${typeText(type)}`, offset);
  return {
    type: BOOL,
    offset,
    run: frame => {
      const value = run(frame);
      if (typeof value === 'boolean') return !value;
      return value instanceof Failure ? value : WRONG_TYPE;
    },
  };
}

export function negatePart(operand: Part, offset: number): Part {
  const { run, type } = operand;
  if (!['int', 'double', 'dyn'].includes(type.kind)) {
    throw new ConditionFault(`"-" takes a number, and this is ${typeText(type)}`, offset);
  }
  return { type, offset, run: frame => negate(run(frame)) };
}

export function choicePart(condition: Part, yes: Part, no: Part): Part {
  if (!fits(condition.type, BOOL)) {
    throw new ConditionFault(`"?" takes a bool, and this is ${typeText(condition.type)}`, condition.offset);
  }
  if (!fits(yes.type, no.type)) {
    const types = `${typeText(yes.type)} and ${typeText(no.type)}`;
    throw new ConditionFault(`both results of "?" must have one type, and these are ${types}`, no.offset);
  }
  const run: Run = frame => {
    const value = condition.run(frame);
    if (value === true) return yes.run(frame);
    if (value === false) return no.run(frame);
    return value instanceof Failure ? value : WRONG_TYPE;
  };
  return { type: joined(yes.type, no.type), run, offset: condition.offset };
}

export function checkIndex(container: Type, index: Part): Type {
  const wanted = container.kind === 'list' ? INT : container.kind === 'map' ? container.key : DYN;
  const given = index.type;
  const usable = fits(given, wanted) && ['dyn', 'int', 'double', 'bool', 'string'].includes(given.kind);
  if (!usable || !['dyn', 'list', 'map'].includes(container.kind)) {
    throw new ConditionFault(`${typeText(container)} has no index of type ${typeText(given)}`, index.offset);
  }
  if (container.kind === 'list') return container.element;
  return container.kind === 'map' ? container.value : DYN;
}
