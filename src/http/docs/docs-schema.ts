// Reads the JSON Schemas of the OpenAPI document for people: which fields there are, their types, and an example of
// each. docs.ts shows them on the page.

import type { OpenApi } from './openapi.ts';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  default?: unknown;
  example?: unknown;
}

export interface Field {
  /** The path of the field, with `[]` for the items of an array: `rules[].tool`. */
  path: string;
  required: boolean;
  schema: Schema;
}

function resolved(document: OpenApi, schema: Schema): Schema {
  const schemas: Record<string, Schema | undefined> = document.components.schemas;
  return schema.$ref === undefined ? schema : (schemas[schema.$ref.split('/').at(-1) ?? ''] ?? schema);
}

export const choices = (schema: Schema): Schema[] => schema.anyOf ?? schema.oneOf ?? [];

/** The fields of an object and of the objects nested in it, outermost first. */
export function fieldsOf(document: OpenApi, given: Schema, prefix = ''): Field[] {
  const schema = resolved(document, given);
  if (schema.items !== undefined) return fieldsOf(document, schema.items, `${prefix}[]`);
  const below = choices(schema).flatMap(choice => fieldsOf(document, choice, prefix));
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const required = schema.required?.includes(name) ?? false;
    below.push(
      { path, required, schema: resolved(document, property) },
      ...fieldsOf(document, property, path),
    );
  }
  return below;
}

export function typeOf(schema: Schema, many = false): string {
  const options = choices(schema);
  if (options.length > 0) return [...new Set(options.map(option => typeOf(option, many)))].join(' or ');
  if (schema.items !== undefined) return `${many ? 'arrays' : 'array'} of ${typeOf(schema.items, true)}`;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const values = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : null;
  if (values !== null && schema.type === 'object' && Object.keys(values).length > 0)
    return `${many ? 'objects' : 'object'} of ${typeOf(values, true)}`;
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? 'any value'];
  const words = types.map(type => (many && type !== 'null' && schema.type !== undefined ? `${type}s` : type));
  return words.join(' or ') + (schema.format === undefined ? '' : ` (${schema.format})`);
}

const SAMPLES: Record<string, string> = {
  uuid: '0198f2c4-7a31-7c3e-9d54-0b6a1f2e8c77',
  'date-time': '2030-01-31T12:00:00Z',
  email: 'ada@example.com',
  uri: 'https://example.com/hook',
};

export function sample(document: OpenApi, given: Schema, name: string): unknown {
  const schema = resolved(document, given);
  const fixed = schema.example ?? schema.const ?? schema.enum?.[0] ?? schema.default;
  if (fixed !== undefined && fixed !== null && fixed !== '') return fixed;
  const [first] = choices(schema);
  if (first !== undefined) return sample(document, first, name);
  if (schema.items !== undefined) return [sample(document, schema.items, name)];
  if (schema.properties !== undefined) return sampleObject(document, schema, schema.properties);
  if (schema.type === 'object') return {};
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 1;
  if (schema.type === 'boolean') return true;
  return SAMPLES[schema.format ?? ''] ?? `my ${name}`;
}

function sampleObject(document: OpenApi, schema: Schema, properties: Record<string, Schema>) {
  const names = schema.required ?? Object.keys(properties).slice(0, 1);
  return Object.fromEntries(names.map(name => [name, sample(document, properties[name] ?? {}, name)]));
}
