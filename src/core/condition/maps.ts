// Reading maps. Those of the arguments are objects of which only own properties exist; those that a condition makes are
// of class Map, because their keys may also be ints and bools.

import type { Steps } from './steps.ts';
import { ABSENT, adopt, Double, Failure, integer, isMap, type Value, WRONG_TYPE } from './values.ts';

/** The entry, undefined where there is none, or a failure where the value is not a map. */
export function entryOf(map: Value, key: Value): unknown {
  if (!isMap(map)) return map instanceof Failure ? map : WRONG_TYPE;
  if (map instanceof Map) return map.get(keyOf(key));
  if (typeof key !== 'string' || !Object.hasOwn(map, key)) return undefined;
  return (map as Record<string, unknown>)[key];
}

/** A double with an integral value finds the int that equals it. */
export function keyOf(key: Value): Value {
  if (!(key instanceof Double) || !Number.isInteger(key.value)) return key;
  return integer(BigInt(key.value));
}

/** Reads a field by a name that stands in the condition. */
export function fieldReader(name: string): (map: Value) => Value {
  // A name that every object inherits has to be an own property. For the others the plain read is faster.
  const inherited = name in Object.prototype;
  return map => {
    if (typeof map !== 'object' || map === null || inherited || !isPlain(map)) {
      const found = entryOf(map, name);
      return found === undefined ? ABSENT : adopt(found);
    }
    const found = (map as Record<string, unknown>)[name];
    if (typeof found === 'string') return found;
    return adopt(found);
  };
}

/** Whether an object has no other prototype than those of parsed JSON. */
function isPlain(object: object): boolean {
  const prototype = Object.getPrototypeOf(object);
  return prototype === Object.prototype || prototype === null;
}

export function keysOf(map: object, steps: Steps): Iterable<Value> {
  return map instanceof Map ? map.keys() : steps.keysOf(map);
}

export function sizeOf(map: object, steps: Steps): number {
  return map instanceof Map ? map.size : steps.keysOf(map).length;
}
