// Calls of functions: which function is meant, whether it takes these arguments, and the compiled call.

import { ConditionFault, unknownFunction } from './fault.ts';
import type { Part, Run } from './frame.ts';
import { FUNCTIONS, type FunctionOfLanguage } from './functions.ts';
import { checkedPattern, compilePattern } from './pattern-match.ts';
import { MACROS, type Node, type NodeOf } from './syntax.ts';
import { BOOL, fits, STRING, typeText } from './types.ts';
import { Failure, type Value, WRONG_TYPE } from './values.ts';

/** `matches` is not among the functions, because its pattern is compiled with the condition. */
interface Called {
  called: FunctionOfLanguage | 'matches';
  /** What it is called on, if anything, and its arguments. */
  operands: readonly Node[];
}

export function calledFunction(node: NodeOf<'call'>, isVariable: (name: string) => boolean): Called {
  const { target, name, nameOffset } = node;
  // As in CEL, a function with a qualified name comes before a method of a variable.
  const qualified = target?.kind === 'name' ? FUNCTIONS.get(`${target.name}.${name}`) : undefined;
  if (qualified !== undefined) return { called: qualified, operands: node.arguments };
  const form = target === null ? 'global' : 'method';
  const operands = target === null ? node.arguments : [target, ...node.arguments];
  if (name === 'matches') return { called: 'matches', operands };
  const found = FUNCTIONS.get(name);
  if (found?.forms.includes(form)) return { called: found, operands };
  if (found === undefined && MACROS.some(each => each === name)) {
    throw new ConditionFault(`"${name}" is written as list.${name}(x, …)`, nameOffset);
  }
  if (found === undefined) {
    const names = [...FUNCTIONS.keys(), ...MACROS, 'matches', 'has'];
    const written = target?.kind === 'name' && !isVariable(target.name) ? `${target.name}.${name}` : name;
    throw new ConditionFault(unknownFunction(written, names), nameOffset);
  }
  const usage = form === 'global' ? `value.${name}(…)` : `${name}(…)`;
  throw new ConditionFault(`"${name}" is called as ${usage}`, nameOffset);
}

export function functionPart(
  { name, overloads, call }: FunctionOfLanguage,
  parts: readonly Part[],
  offset: number,
): Part {
  const counted = overloads.filter(each => each.takes.length === parts.length);
  if (counted.length === 0) throw new ConditionFault(`wrong number of arguments for "${name}"`, offset);
  const fitting = counted.find(({ takes }) => takes.every((type, at) => fits(type, parts[at]!.type)));
  if (fitting === undefined) {
    const wrong =
      parts.find((part, at) => !counted.some(({ takes }) => fits(takes[at]!, part.type))) ?? parts[0]!;
    throw new ConditionFault(`"${name}" does not take ${typeText(wrong.type)} here`, wrong.offset);
  }
  const runs = parts.map(each => each.run);
  const run: Run = frame => {
    const values: Value[] = [];
    for (let at = 0; at < runs.length; at++) {
      const value = runs[at]!(frame);
      if (value instanceof Failure) return value;
      values.push(value);
    }
    return call(values, frame.steps, frame.scope);
  };
  return { type: fitting.gives, run, offset };
}

/** A pattern, and how many instructions it has; 0 if it is compiled later. */
export interface UsedPattern {
  text: string;
  size: number;
}

interface Matches {
  part: Part;
  pattern: UsedPattern;
  patternOffset: number;
}

export function matchesPart(
  parts: readonly Part[],
  { nameOffset, offset }: NodeOf<'call'>,
  isChecked: boolean,
): Matches {
  const [text, pattern] = parts;
  if (parts.length !== 2 || text === undefined || pattern === undefined) {
    throw new ConditionFault('wrong number of arguments for "matches"', nameOffset);
  }
  if (!fits(text.type, STRING)) {
    throw new ConditionFault(`"matches" does not take ${typeText(text.type)} here`, text.offset);
  }
  if (typeof pattern.literal !== 'string') {
    throw new ConditionFault('the pattern of "matches" has to be a literal string', pattern.offset);
  }
  const matcher = (isChecked ? checkedPattern : compilePattern)(pattern.literal, pattern.offset);
  const run: Run = frame => {
    const value = text.run(frame);
    if (typeof value === 'string') return matcher(value, frame.steps);
    return value instanceof Failure ? value : WRONG_TYPE;
  };
  return {
    part: { type: BOOL, run, offset },
    pattern: { text: pattern.literal, size: matcher.size },
    patternOffset: pattern.offset,
  };
}
