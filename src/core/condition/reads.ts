// What a condition reads: paths from a variable to a field, as text, and with their values.

import type { Json } from '../wire/json-parser.ts';
import type { Scope } from './frame.ts';
import { entryOf } from './maps.ts';
import { Failure } from './values.ts';

/** A variable, and the fields that are read from it. */
export interface Path {
  path: readonly string[];
  offset: number;
}

/** A path and its value. An absent one is undefined. */
export interface Reading {
  text: string;
  value: Json | undefined;
}

/** The first place where a variable, or a field of it, is read or asked for by `has()`; undefined if there is none. */
export function readOf(
  { reads, tested }: { reads: readonly Path[]; tested: readonly Path[] },
  ...wanted: readonly string[]
): Path | undefined {
  return [...reads, ...tested].find(({ path }) => wanted.every((name, at) => path[at] === name));
}

export function readingsOf(paths: readonly Path[], scope: Scope): Reading[] {
  const readings = new Map<string, Json | undefined>();
  for (const { path } of paths) {
    let value: unknown = scope;
    for (const name of path) {
      value = entryOf(value, name);
      if (value instanceof Failure) value = undefined;
    }
    readings.set(textOf(path), value as Json | undefined);
  }
  return Array.from(readings, ([text, value]) => ({ text, value }));
}

/** A path as it is written in a condition. */
export function textOf([variable = '', ...fields]: readonly string[]): string {
  return fields.reduce(
    (text, field) => text + (isName(field) ? `.${field}` : `[${JSON.stringify(field)}]`),
    variable,
  );
}

/** Whether a field can be written behind a dot. */
export function isName(field: string): boolean {
  return NAME.test(field);
}
const NAME = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
