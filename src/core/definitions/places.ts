// The texts of a definition, each with its place. Names of members are texts, too: a model reads them like the rest.

import { isObject, type Json, type JsonObject } from '../wire/json.ts';

/** The most UTF-16 units of a pointer. Real ones have some fifty. */
const MAX_POINTER = 300;

export interface Place {
  text: string;
  /** Whether the text is the name of a member and not a value. */
  isName: boolean;
  path: Path;
}

/** The last step to a value, with those before it; null is the definition itself. */
type Path = { step: string | number; before: Path } | null;

/** All texts, in the order in which they are written. */
export function placesOf(definition: JsonObject): Place[] {
  const places: Place[] = [];
  collect(definition, null, places);
  return places;
}

function collect(value: Json, path: Path, places: Place[]): void {
  if (typeof value === 'string') places.push({ text: value, isName: false, path });
  else if (Array.isArray(value))
    for (const [step, each] of value.entries()) collect(each, { step, before: path }, places);
  else if (isObject(value))
    for (const [step, each] of Object.entries(value)) {
      const inside = { step, before: path };
      places.push({ text: step, isName: true, path: inside });
      collect(each, inside, places);
    }
}

/** The name or index of the value in what contains it. */
export const lastStep = ({ path }: Place): string | number | undefined => path?.step;

function steps(path: Path): (string | number)[] {
  const found: (string | number)[] = [];
  for (let each = path; each !== null; each = each.before) found.unshift(each.step);
  return found;
}

/** The JSON Pointer (RFC 6901) to a place; where it is too long, to the innermost value around it that fits. */
export function pointerTo({ path }: Place): string {
  let pointer = '';
  for (const step of steps(path)) {
    if (typeof step === 'string' && step.length > MAX_POINTER) break;
    const longer = `${pointer}/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (longer.length > MAX_POINTER) break;
    pointer = longer;
  }
  return pointer;
}

/** The place as the beginning of a sentence. */
export function placeName({ isName, path }: Place): string {
  if (isName) return 'The name of a member';
  const [first, ...more] = steps(path);
  if (more.length === 0 && typeof first === 'string' && /^[a-zA-Z]{1,20}$/.test(first)) return `The ${first}`;
  if (first === 'annotations') return 'An annotation';
  return more.at(-1) === 'description' ? 'A description in a schema' : 'A text';
}
