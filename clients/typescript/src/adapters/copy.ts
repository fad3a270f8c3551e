// Copies the arguments of a call, so that nobody can change them between the verdict and the run. Only what JSON can hold
// is copied, and dates, which are judged as text: whatever else a schema may have made of the arguments (a Map, an
// instance of a class) would be judged as something other than what the tool gets.

import { InvalidRequest } from '../errors.ts';
import { isPlain } from '../plain.ts';

export function copyOf<A>(args: A): A;
export function copyOf(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value;
    case 'number':
      if (Number.isFinite(value)) return value;
      break;
    case 'object':
      if (value === null) return null;
      if (Array.isArray(value)) return Array.from(value, each => copyOf(each));
      if (value instanceof Date && Number.isFinite(value.getTime())) return new Date(value);
      if (isPlain(value)) return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, copyOf(v)]));
  }
  throw new InvalidRequest(
    'The arguments hold a value that JSON cannot hold.',
    null,
    null,
    'invalid_request',
  );
}
