// Reading fields of untrusted JSON. A field of another type than promised is a fault, never a default; the
// caller says what error a fault becomes.

export type Fields = Record<string, unknown>;

export class ShapeFault extends Error {}

export function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new ShapeFault(`${what} is not an object`);
}

export function text(fields: Fields, name: string): string {
  const value = own(fields, name);
  if (typeof value === 'string') return value;
  throw new ShapeFault(`"${name}" is not a string`);
}

/** A string with something in it: identifiers and tokens. */
export function id(fields: Fields, name: string): string {
  const value = text(fields, name);
  if (value !== '') return value;
  throw new ShapeFault(`"${name}" is empty`);
}

export function textOrNull(fields: Fields, name: string): string | null {
  return own(fields, name) === null ? null : text(fields, name);
}

export function count(fields: Fields, name: string): number {
  const value = own(fields, name);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new ShapeFault(`"${name}" is not a whole number`);
}

/** A field that is true, or that is not there. */
export function isSet(fields: Fields, name: string): boolean {
  const value = own(fields, name);
  if (value === undefined || typeof value === 'boolean') return value === true;
  throw new ShapeFault(`"${name}" is neither true nor false`);
}

export function oneOf<T extends string>(fields: Fields, name: string, values: readonly T[]): T {
  const value = own(fields, name);
  const found = values.find(each => each === value);
  if (found !== undefined) return found;
  throw new ShapeFault(`"${name}" is none of ${values.join(', ')}`);
}

export function textsOrNull(fields: Fields, name: string): string[] | null {
  const value = own(fields, name);
  if (value === null) return null;
  if (Array.isArray(value) && value.every(each => typeof each === 'string')) return value;
  throw new ShapeFault(`"${name}" is not a list of strings`);
}

export function listOf(fields: Fields, name: string): unknown[] {
  const value = own(fields, name);
  if (Array.isArray(value)) return value;
  throw new ShapeFault(`"${name}" is not a list`);
}

/** Never what a prototype happens to carry. */
export function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}
