// The macros: all, exists, exists_one, filter and map, over the elements of a list or the keys of a map. Every iteration
// costs steps, more if what it evaluates is large. An element that fails does not end a macro: whether a value is known is
// looked up after an evaluation has asked for it, and one evaluation is to ask for all elements.

import type { Frame, Run } from './frame.ts';
import { keysOf, sizeOf } from './maps.ts';
import type { Macro } from './syntax.ts';
import { adopt, Failure, isMap, TOO_MUCH_WORK, type Value, WRONG_TYPE } from './values.ts';

export interface Iteration {
  range: Run;
  /** Which element of the frame's locals the variable is. */
  slot: number;
  /** The steps of one iteration. */
  cost: number;
  body: Run;
  /** Only of `map` with three arguments. */
  only: Run | null;
}

export function macroRun(name: Macro, iteration: Iteration): Run {
  switch (name) {
    case 'all':
      return quantifier(iteration, false);
    case 'exists':
      return quantifier(iteration, true);
    case 'exists_one':
      return existsOne(iteration);
    case 'filter':
      return collector({ ...iteration, only: iteration.body, body: frame => frame.locals[iteration.slot] });
    case 'map':
      return collector(iteration);
  }
}

/** The elements that the variable stands for one after the other, or a failure. */
function elementsOf(range: Value, frame: Frame): readonly unknown[] | Failure {
  if (Array.isArray(range)) return range;
  if (!isMap(range)) return range instanceof Failure ? range : WRONG_TYPE;
  return frame.steps.copies(sizeOf(range, frame.steps)) ? [...keysOf(range, frame.steps)] : TOO_MUCH_WORK;
}

/** A decisive element settles it, whether others fail or not; `all` is decided by a false one, `exists` by a true. */
function quantifier({ range, slot, cost, body }: Iteration, decisive: boolean): Run {
  return frame => {
    const elements = elementsOf(range(frame), frame);
    if (elements instanceof Failure) return elements;
    let failure: Failure | null = null;
    for (let at = 0; at < elements.length; at++) {
      if (!frame.steps.spend(cost)) return TOO_MUCH_WORK;
      frame.locals[slot] = adopt(elements[at]);
      const value = body(frame);
      if (value === decisive) return decisive;
      if (value !== !decisive) failure ??= value instanceof Failure ? value : WRONG_TYPE;
    }
    return failure ?? !decisive;
  };
}

function existsOne({ range, slot, cost, body }: Iteration): Run {
  return frame => {
    const elements = elementsOf(range(frame), frame);
    if (elements instanceof Failure) return elements;
    let found = 0;
    let failure: Failure | null = null;
    for (let at = 0; at < elements.length; at++) {
      if (!frame.steps.spend(cost)) return TOO_MUCH_WORK;
      frame.locals[slot] = adopt(elements[at]);
      const value = body(frame);
      if (value === true) found++;
      else if (value !== false) failure ??= value instanceof Failure ? value : WRONG_TYPE;
    }
    return failure ?? found === 1;
  };
}

function collector({ range, slot, cost, body, only }: Iteration): Run {
  return frame => {
    const elements = elementsOf(range(frame), frame);
    if (elements instanceof Failure) return elements;
    const collected: Value[] = [];
    let failure: Failure | null = null;
    for (let at = 0; at < elements.length; at++) {
      if (!frame.steps.spend(cost)) return TOO_MUCH_WORK;
      frame.locals[slot] = adopt(elements[at]);
      const taken = only === null || only(frame);
      if (taken === false) continue;
      const value = taken === true ? body(frame) : taken;
      if (taken === true && !(value instanceof Failure)) collected.push(value);
      else failure ??= value instanceof Failure ? value : WRONG_TYPE;
    }
    return failure ?? collected;
  };
}
