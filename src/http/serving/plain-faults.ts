// What is wrong with a value that does not fit a schema, in plain words: the one place for all that a schema itself does
// not say. A message never quotes the value.

import type { z } from 'zod';
import type { InputFault } from '../../core/errors.ts';
import { didYouMean } from '../../core/text/did-you-mean.ts';

/** The messages for `safeParse`. A schema's own messages come before them. */
export function plainFault(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${TYPES[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return bound('at least', issue.origin, Number(issue.minimum), issue.inclusive);
    case 'too_big':
      return bound('at most', issue.origin, Number(issue.maximum), issue.inclusive);
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'has a form that is not allowed here';
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    default:
      return 'is not of a form that is allowed here';
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const FORMATS: Readonly<Record<string, string>> = {
  email: 'must be an e-mail address',
  url: 'must be a URL that is allowed here',
  uuid: 'must be an id, which is a UUID',
  datetime: 'must be a time such as 2030-01-31T12:00:00Z',
};

function bound(side: string, origin: string, amount: number, inclusive = true): string {
  const noun = origin === 'string' ? 'character' : origin === 'array' ? 'item' : null;
  if (noun !== null) return `must have ${side} ${amount} ${noun}${amount === 1 ? '' : 's'}`;
  return inclusive
    ? `must be ${side} ${amount}`
    : `must be ${side === 'at least' ? 'more' : 'less'} than ${amount}`;
}

/** The faults of one issue, each with a JSON Pointer. */
export function faultsOf(issue: z.core.$ZodIssue, schema: z.ZodType): InputFault[] {
  const path = issue.path.map(pointerPart).join('');
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
  const known = fieldsAt(schema, issue.path);
  return issue.keys.map(key => {
    const meant = didYouMean(key, known);
    return { path: path + pointerPart(key), message: `unknown field${meant && `.${meant}`}` };
  });
}

/** The names of the fields that a schema has at a place; none if it is not a plain object there. */
function fieldsAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let at: Def | undefined = defOf(schema);
  for (const step of path) {
    const next: z.ZodType | undefined =
      at?.shape?.[String(step)] ?? (typeof step === 'number' ? at?.element : at?.valueType);
    at = defOf(next);
  }
  return Object.keys(at?.shape ?? {});
}

/** The parts of a schema's definition that lead to its fields. */
interface Def {
  shape?: Readonly<Record<string, z.ZodType>>;
  element?: z.ZodType;
  valueType?: z.ZodType;
  innerType?: z.ZodType;
}

/** The definition behind what makes a value optional, nullable or the like. */
function defOf(schema: z.ZodType | undefined): Def | undefined {
  const def = schema?._zod.def as Def | undefined;
  return def?.innerType === undefined ? def : defOf(def.innerType);
}

export function pointerPart(part: PropertyKey): string {
  return `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
