// Evaluates an expression of any type, as compileCondition does for bools and numbers.

import { Compiler, type Declarations } from '../../../src/core/condition/compile.ts';
import type { Scope } from '../../../src/core/condition/frame.ts';
import { parseCondition } from '../../../src/core/condition/parser.ts';
import { Steps } from '../../../src/core/condition/steps.ts';
import {
  adopt,
  Double,
  doubleOf,
  Failure,
  isInt,
  TypeName,
  type Value,
} from '../../../src/core/condition/values.ts';

/** Throws a ConditionFault, like compileCondition. */
export function evaluate(source: string, declarations: Declarations = {}, scope: Scope = {}): Value {
  const { run } = new Compiler(declarations).value(parseCondition(source));
  return run({ scope, steps: new Steps(), locals: [] });
}

/** A value as text that shows its type, with the keys of maps in order, so that two can be compared. */
export function shown(raw: Value): string {
  const value = adopt(raw);
  if (value instanceof Failure) return 'failure';
  if (isInt(value)) return `${BigInt(value)}`;
  const double = doubleOf(value);
  if (double !== null) return `double ${Object.is(double, -0) ? '-0' : double}`;
  if (value instanceof TypeName) return `type ${value.name}`;
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (value instanceof Map || (typeof value === 'object' && value !== null && !(value instanceof Double))) {
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    return `{${entries
      .map(([key, each]) => `${shown(key)}: ${shown(each)}`)
      .sort()
      .join(', ')}}`;
  }
  return JSON.stringify(value);
}
