// The texts of a definition, each with its place. Names of members are texts, too: a model reads them like the rest.

import { isObject, type Json, type JsonObject } from '../wire/json.ts';

/** The most UTF-16 units of a pointer. Real ones have some fifty. */
const MAX_POINTER = 300;

export interface Place {
  text: string;
  /** Whether the text is the name of a member and not a value. */
  isName: boolean;
  /** The names and indexes that lead to the text, or to the member with this name. */
  path: readonly (string | number)[];
}

/** All texts, in the order in which they are written. The path of a place changes with the next one. */
export function* placesIn(definition: JsonObject): Generator<Place> {
  yield* within(definition, []);
}

function* within(value: Json, path: (string | number)[]): Generator<Place> {
  if (typeof value === 'string') yield { text: value, isName: false, path };
  else if (Array.isArray(value))
    for (const [at, each] of value.entries()) {
      path.push(at);
      yield* within(each, path);
      path.pop();
    }
  else if (isObject(value))
    for (const [name, each] of Object.entries(value)) {
      path.push(name);
      yield { text: name, isName: true, path };
      yield* within(each, path);
      path.pop();
    }
}

/** The JSON Pointer (RFC 6901) of a path; where it is too long, that of the innermost value around it that fits. */
export function pointerTo(path: readonly (string | number)[]): string {
  let pointer = '';
  for (const step of path) {
    if (typeof step === 'string' && step.length > MAX_POINTER) break;
    const longer = `${pointer}/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (longer.length > MAX_POINTER) break;
    pointer = longer;
  }
  return pointer;
}

/** The place as a part of a sentence. */
export function placeName({ isName, path }: Place): string {
  const last = path.at(-1);
  if (isName) return 'The name of a member';
  if (path.length === 1 && typeof last === 'string' && /^[a-zA-Z]{1,20}$/.test(last)) return `The ${last}`;
  if (path[0] === 'annotations') return 'An annotation';
  if (last === 'description') return 'A description in a schema';
  return 'A text';
}
