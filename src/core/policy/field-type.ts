// The types that fields of rules and limits have, each with all that is asked of it: what is wrong with a value, its
// JSON Schema, its words for the documentation, what an editor offers, and whether it is written without quotes.
// rule-fields.ts and limit-fields.ts describe the fields. Nothing here knows more than one field.

import { didYouMean } from '../text/did-you-mean.ts';
import { textFault } from '../text/name.ts';
import { durationText, parseSpan } from '../time/duration.ts';

export interface FieldType<T> {
  /** What is wrong with a value of which nothing is known yet. The path leads on from the field. */
  faults: (value: unknown) => ValueFault[];
  schema: Readonly<Record<string, unknown>>;
  /** The values, for people, in Markdown. */
  words: string;
  /** The values that an editor offers, or where it finds them. */
  offers?:
    | readonly string[]
    | 'arguments'
    | 'channels'
    | 'conditions'
    | 'detectors'
    | 'limits'
    | 'marks'
    | 'zones';
  /** Whether texts need no quotes, because YAML takes none of them for anything else. */
  bare?: boolean;
  /** The fields of an object. */
  parts?: Fields;
  /** No value is here: this tells the compiler the type of the values. */
  readonly of?: T;
}

export interface ValueFault {
  path: readonly (string | number)[];
  message: string;
}

export interface Field<T = unknown> {
  type: FieldType<T>;
  /** One sentence or two for people, in Markdown: in the editor, the API's document and the documentation. */
  help: string;
  example: T;
  needed?: true;
  /**
   * The rules that may have it, if not all: `asking` means those that can lead to a question to people, `passing` those
   * that can let a call pass.
   */
  only?: 'allow' | 'asking' | 'passing';
}

/** In the order in which they are written. */
export type Fields = Readonly<Record<string, Field>>;

type Needed<F, K extends keyof F> = F[K] extends { needed: true } ? K : never;
type ValueOf<F> = F extends { type: FieldType<infer T> } ? T : never;

/** An object with these fields. */
export type Written<F> = { [K in keyof F as Needed<F, K>]: ValueOf<F[K]> } & {
  [K in keyof F as Exclude<K, Needed<F, K>>]?: ValueOf<F[K]> | undefined;
};

type TextFault = (text: string) => string | null;

export function single(message: string | null, ...path: ValueFault['path']): ValueFault[] {
  return message === null ? [] : [{ path, message }];
}

/** A type whose values are texts. `form` is the message about any other value. */
export function text(
  words: string,
  fault: TextFault = () => null,
  form = 'must be a string',
): FieldType<string> {
  return {
    faults: value => single(typeof value === 'string' ? fault(value) : form),
    schema: { type: 'string' },
    words,
  };
}

/** A text of so many characters, without control characters. */
export function label(min: number, max: number, fault: TextFault = () => null): FieldType<string> {
  return {
    ...text(`a text of up to ${max} characters`, value => textFault(value, min, max) ?? fault(value)),
    schema: { type: 'string', ...(min > 0 && { minLength: min }), maxLength: max },
  };
}

export function choice<const T extends readonly string[]>(values: T): FieldType<T[number]> & { offers: T } {
  const form = values.length === 1 ? `must be "${values[0]}"` : `must be one of ${values.join(', ')}`;
  return {
    faults: value => single(values.some(each => each === value) ? null : form),
    schema: { type: 'string', enum: values },
    words: values.map(each => `\`${each}\``).join(', '),
    offers: values,
    bare: true,
  };
}

export function whole(from: number, to: number): FieldType<number> {
  const fits = (value: unknown) => Number.isInteger(value) && Number(value) >= from && Number(value) <= to;
  return {
    faults: value => single(fits(value) ? null : `must be a whole number from ${from} to ${to}`),
    schema: { type: 'integer', minimum: from, maximum: to },
    words: `${from} to ${to}`,
  };
}

export const positive: FieldType<number> = {
  faults: value =>
    single(
      typeof value === 'number' && Number.isFinite(value) && value > 0
        ? null
        : 'must be a number greater than 0',
    ),
  schema: { type: 'number', exclusiveMinimum: 0 },
  words: 'a number greater than 0',
};

/** A duration in minutes, hours or days, of at most so many milliseconds. */
export function span(most: number): FieldType<string> {
  const longest = durationText(most);
  const form = `must be 1m to ${longest}: a number of minutes (m), hours (h) or days (d)`;
  return {
    ...text(`\`1m\` to \`${longest}\``, value => (parseSpan(value, most) === null ? form : null), form),
    schema: { type: 'string', pattern: '^[1-9][0-9]*[mhd]$' },
    bare: true,
  };
}

/** A list of different texts. `form` is the message about any other value. */
export function list(most: number, of: string, form: string, fault: TextFault): FieldType<readonly string[]> {
  return {
    faults: value => listFaults(value, most, form, fault),
    schema: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: most },
    words: `1 to ${most} ${of}`,
  };
}

function listFaults(value: unknown, most: number, form: string, fault: TextFault): ValueFault[] {
  if (!Array.isArray(value) || value.length === 0) return single(form);
  if (value.length > most) return single(`must have at most ${most} items`);
  return value.flatMap((item, index) => {
    if (typeof item !== 'string') return single('must be a string', index);
    return single(fault(item) ?? (value.indexOf(item) < index ? 'is in the list twice' : null), index);
  });
}

/** An object of fields, of which at least one of `anyOf` is there. */
export function parts<const F extends Fields>(
  fields: F,
  form: string,
  anyOf: readonly (keyof F & string)[] = [],
): FieldType<Written<F>> {
  const names = Object.keys(fields).map(each => `\`${each}\``);
  const least = anyOf.map(each => `\`${each}\``).join(' or ');
  return {
    faults: value => partsFaults(value, fields, form, anyOf),
    schema: objectSchema(fields),
    words: `an object of ${names.join(', ')}${least && `; at least ${least}`}`,
    parts: fields,
  };
}

function partsFaults(value: unknown, fields: Fields, form: string, anyOf: readonly string[]): ValueFault[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return single(form);
  const known = Object.keys(fields);
  const stray = Object.keys(value).find(each => !known.includes(each));
  if (stray !== undefined) return single(unknownPart(stray, known), stray);
  const given: Readonly<Record<string, unknown>> = { ...value };
  const missing = known.find(name => fields[name]?.needed && given[name] === undefined);
  if (missing !== undefined) return single(`needs "${missing}"; it ${form}`);
  if (anyOf.length > 0 && anyOf.every(name => given[name] === undefined))
    return single(`needs ${anyOf.map(each => `"${each}"`).join(' or ')}; it ${form}`);
  return known.flatMap(name =>
    given[name] === undefined ? [] : below(name, fields[name]?.type.faults(given[name]) ?? []),
  );
}

function unknownPart(stray: string, known: readonly string[]): string {
  const meant = didYouMean(stray, known);
  return `is an unknown field; known: ${known.join(', ')}${meant && `.${meant}`}`;
}

export function below(step: string, faults: readonly ValueFault[]): ValueFault[] {
  return faults.map(({ path, message }) => ({ path: [step, ...path], message }));
}

/** The JSON Schema of an object with these fields and no others. */
export function objectSchema(fields: Fields): Readonly<Record<string, unknown>> {
  const all = Object.entries(fields);
  const required = all.filter(([, { needed }]) => needed).map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(all.map(([name, field]) => [name, fieldSchema(field)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

export function fieldSchema({ type, help, example, only }: Field): Readonly<Record<string, unknown>> {
  const which = only === undefined ? '' : ` ${ONLY[only].help}`;
  return { ...type.schema, description: `${help} Value: ${type.words}.${which}`, example };
}

/** What is said of a field in a rule that may not have it, and to its reader. */
export const ONLY = {
  allow: { fault: 'is only for allow rules', help: 'Only for `allow` rules.' },
  asking: {
    fault: 'is only for require_approval rules, and for allow rules whose limit has beyond: require_approval',
    help: 'Only for `require_approval` rules, and for `allow` rules whose limit has `beyond: require_approval`.',
  },
  passing: { fault: 'is not for deny rules', help: 'Not for `deny` rules.' },
} as const;
