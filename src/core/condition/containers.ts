// Lists and maps that are written in a condition, checked and compiled.

import { ConditionFault } from './fault.ts';
import type { Part, Run } from './frame.ts';
import { DYN, joined, listOf, mapOf, type Type, typeText } from './types.ts';
import { DUPLICATE_KEY, Failure, isInt, TOO_MUCH_WORK, type Value, WRONG_TYPE } from './values.ts';

/** The type that all parts have, which is not known if they differ. */
function joinedType(parts: readonly Part[]): Type {
  const [first, ...rest] = parts.map(each => each.type);
  return first === undefined ? DYN : rest.reduce(joined, first);
}

export function listPart(parts: readonly Part[], offset: number): Part {
  const type = listOf(joinedType(parts));
  const literals = parts.map(each => each.literal);
  // A list of literals is made once: nothing can change it.
  if (!literals.includes(undefined)) return { type, run: () => literals, offset };
  const runs = parts.map(each => each.run);
  const run: Run = frame => {
    const list: Value[] = [];
    for (let at = 0; at < runs.length; at++) {
      const value = runs[at]!(frame);
      if (value instanceof Failure) return value;
      list.push(value);
    }
    return list;
  };
  return { type, run, offset };
}

export function mapPart(entries: readonly { key: Part; value: Part }[], offset: number): Part {
  for (const { key } of entries) {
    if (!['string', 'int', 'bool', 'dyn'].includes(key.type.kind)) {
      const fault = `a key must be a string, an int or a bool, and this is ${typeText(key.type)}`;
      throw new ConditionFault(fault, key.offset);
    }
  }
  const run: Run = frame => {
    const map = new Map<Value, Value>();
    for (const entry of entries) {
      const key = entry.key.run(frame);
      const value = entry.value.run(frame);
      if (key instanceof Failure) return key;
      if (value instanceof Failure) return value;
      if (typeof key !== 'string' && typeof key !== 'boolean' && !isInt(key)) return WRONG_TYPE;
      if (!frame.steps.characters(typeof key === 'string' ? key.length : 0)) return TOO_MUCH_WORK;
      if (map.has(key)) return DUPLICATE_KEY;
      map.set(key, value);
    }
    return map;
  };
  const type = mapOf(joinedType(entries.map(each => each.key)), joinedType(entries.map(each => each.value)));
  return { type, run, offset };
}
