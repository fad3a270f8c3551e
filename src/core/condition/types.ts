// The types of the checker. `dyn` is what is known only when the condition runs, such as every argument; it fits
// everything. A struct is a variable with known fields, and only its fields can be used.

export type Type =
  | { kind: 'dyn' | 'null' | 'bool' | 'int' | 'double' | 'string' | 'type' }
  | { kind: 'list'; element: Type }
  | { kind: 'map'; key: Type; value: Type }
  | { kind: 'struct'; fields: Readonly<Record<string, Field>> };

export interface Field {
  type: Type;
  /** It may be absent: `has()` tells, and reading it then fails. */
  optional?: boolean;
}

export const DYN: Type = { kind: 'dyn' };
export const NULL: Type = { kind: 'null' };
export const BOOL: Type = { kind: 'bool' };
export const INT: Type = { kind: 'int' };
export const DOUBLE: Type = { kind: 'double' };
export const STRING: Type = { kind: 'string' };
export const TYPE: Type = { kind: 'type' };
export const listOf = (element: Type): Type => ({ kind: 'list', element });
export const mapOf = (key: Type, value: Type): Type => ({ kind: 'map', key, value });
export const structOf = (fields: Readonly<Record<string, Field>>): Type => ({ kind: 'struct', fields });

/** Whether a value can have both types. */
export function fits(a: Type, b: Type): boolean {
  if (a.kind === 'dyn' || b.kind === 'dyn') return true;
  if (a.kind === 'list' && b.kind === 'list') return fits(a.element, b.element);
  if (a.kind === 'map' && b.kind === 'map') return fits(a.key, b.key) && fits(a.value, b.value);
  if (a.kind === 'struct' || b.kind === 'struct') return a === b;
  return a.kind === b.kind;
}

/** The type of what has one of both types; they fit. */
export function joined(a: Type, b: Type): Type {
  if (a.kind === 'list' && b.kind === 'list') return listOf(joined(a.element, b.element));
  if (a.kind === 'map' && b.kind === 'map') return mapOf(joined(a.key, b.key), joined(a.value, b.value));
  return fits(a, b) && a.kind === b.kind ? a : DYN;
}

export function typeText(type: Type): string {
  switch (type.kind) {
    case 'list':
      return type.element.kind === 'dyn' ? 'list' : `list(${typeText(type.element)})`;
    case 'map':
      return 'map';
    case 'struct':
      return 'group of fields';
    default:
      return type.kind;
  }
}
