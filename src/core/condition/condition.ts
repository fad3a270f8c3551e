// Conditions of rules: CEL, a sound subset. What is accepted means what the CEL specification says; everything else is
// refused when the policy is saved. It is pure, so that the policy editor runs it too, and knows nothing of policies.

import type { UsedPattern } from './calls.ts';
import { Compiler, type Declarations } from './compile.ts';
import type { NumberResult } from './convert.ts';
import { ConditionFault } from './fault.ts';
import type { Frame, Remark, Scope } from './frame.ts';
import { parseCondition } from './parser.ts';
import { type Path, type Reading, readingsOf } from './reads.ts';
import { Steps } from './steps.ts';
import { BOOL, DOUBLE, fits, INT, type Type, typeText } from './types.ts';
import { BROKEN, Failure, NO_BOOL, NO_NUMBER, numberOf, TOO_MUCH_WORK, type Value } from './values.ts';

export type { UsedPattern } from './calls.ts';
export type { Declarations } from './compile.ts';
export { decimalOf, type NumberResult } from './convert.ts';
export { ConditionFault } from './fault.ts';
export type { Scope } from './frame.ts';
export { KNOWN, type Knows } from './known.ts';
export { isName, type Path, readOf } from './reads.ts';
export { type Sought, textsSought } from './sought.ts';
export { Steps } from './steps.ts';
export * as types from './types.ts';
export { Failure } from './values.ts';

const MAX_LENGTH = 4_096;

export interface Condition<R> {
  readonly source: string;
  /** What it reads, each as far as it is named by fields and literal keys, such as `args.customer.name`. */
  readonly reads: readonly Path[];
  /** What `has()` asks for. */
  readonly tested: readonly Path[];
  /** The functions that it calls, by their names. */
  readonly calls: ReadonlySet<string>;
  /** Those that it compares texts with. */
  readonly patterns: readonly UsedPattern[];
  /** For whoever wrote it; they change nothing about its result. */
  readonly remarks: readonly Remark[];
  /** What it always is, or null if that depends on variables. */
  readonly constant: R | null;
  evaluate(scope: Scope, steps: Steps): R | Failure;
  /** What it reads with the values, for a trace that is shown and never stored. */
  readings(scope: Scope): Reading[];
}

/**
 * Throws a ConditionFault that says what is wrong, and where. `isChecked`: it was compiled before, when its policy was
 * saved, so that its patterns are compiled only when they are used.
 */
export function compileCondition(
  source: string,
  declarations: Declarations,
  wanted: 'bool',
  isChecked?: boolean,
): Condition<boolean>;
export function compileCondition(
  source: string,
  declarations: Declarations,
  wanted: 'number',
  isChecked?: boolean,
): Condition<NumberResult>;
export function compileCondition(
  source: string,
  declarations: Declarations,
  wanted: 'bool' | 'number',
  isChecked = false,
): Condition<boolean> | Condition<NumberResult> {
  if (source.length > MAX_LENGTH) {
    throw new ConditionFault(`a condition has at most ${MAX_LENGTH} characters`, MAX_LENGTH);
  }
  const compiler = new Compiler(declarations, isChecked);
  const { type, run } = compiler.value(parseCondition(source));
  requireResult(type, wanted);
  const { reads, tested, calls, patterns, remarks, cost } = compiler;

  const evaluate = (scope: Scope, steps: Steps) => {
    if (!steps.spend(cost)) return TOO_MUCH_WORK;
    const frame: Frame = { scope, steps, locals: [] };
    let value: Value;
    try {
      value = run(frame);
    } catch {
      // Nothing is known to throw. If something does, the check goes on, and the error's text is not shown.
      return BROKEN;
    }
    // Whatever absorbed the failure: without steps there is no result.
    if (steps.left < 0) return TOO_MUCH_WORK;
    if (value instanceof Failure) return value;
    if (wanted === 'bool') return typeof value === 'boolean' ? value : NO_BOOL;
    return numberOf(value) === null ? NO_NUMBER : value;
  };
  const depends = reads.length + tested.length > 0 || calls.has('known');
  const always = depends ? null : evaluate({}, new Steps());
  return {
    source,
    reads,
    tested,
    calls,
    patterns,
    remarks,
    constant: always instanceof Failure ? null : always,
    evaluate,
    readings: scope => readingsOf([...reads, ...tested], scope),
  } as Condition<boolean> | Condition<NumberResult>;
}

function requireResult(type: Type, wanted: 'bool' | 'number'): void {
  const usable = (wanted === 'bool' ? [BOOL] : [INT, DOUBLE]).some(each => fits(each, type));
  const noun = wanted === 'bool' ? 'true or false' : 'a number';
  if (!usable) throw new ConditionFault(`the result has to be ${noun}, and this is ${typeText(type)}`, 0);
}
