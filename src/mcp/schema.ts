// Changes a tool's definition before clients see it, in two ways only. An output schema that a pending result would
// violate is widened, or left out where that cannot be done safely. Annotations that ask clients to repeat arguments in
// headers are removed, because such headers would not get further than this service.

import { isObject, type Json, type JsonObject } from '../core/wire/json.ts';

const PENDING_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    status: { const: 'pending' },
    referenceId: { type: 'string' },
    message: { type: 'string' },
  },
  required: ['status', 'referenceId', 'message'],
};

export function exposedDefinition(definition: JsonObject, exposedName: string): JsonObject {
  const { outputSchema, ...rest } = definition;
  const widened = widen(outputSchema);
  return {
    ...rest,
    name: exposedName,
    inputSchema: withoutHeaders(definition['inputSchema'] ?? { type: 'object' }),
    ...(widened === null ? {} : { outputSchema: widened }),
  };
}

/** Keywords that give a part of a schema a name of its own. A schema with one of them cannot be moved safely. */
const ANCHORS = ['$id', '$anchor', '$dynamicRef', '$dynamicAnchor', '$recursiveRef', 'id'];
/** Keywords that stay at the root, because references to them are resolved from there. */
const AT_ROOT = ['$schema', '$defs', 'definitions'];

function widen(schema: Json | undefined): JsonObject | null {
  if (!isObject(schema) || schema['type'] !== 'object' || mentions(schema, ANCHORS)) return null;
  const root: Record<string, Json> = {};
  const inner: Record<string, Json> = {};
  for (const [key, value] of Object.entries(schema)) (AT_ROOT.includes(key) ? root : inner)[key] = value;
  if (pointsElsewhere(inner)) return null;
  return { ...root, type: 'object', anyOf: [inner, PENDING_SCHEMA] };
}

/** A reference such as `#/properties/x` would point at nothing once the schema stands inside `anyOf`. */
function pointsElsewhere(value: Json): boolean {
  if (Array.isArray(value)) return value.some(pointsElsewhere);
  if (!isObject(value)) return false;
  const ref = value['$ref'];
  if (typeof ref === 'string' && !/^#\/(\$defs|definitions)\//.test(ref)) return true;
  return Object.values(value).some(pointsElsewhere);
}

function mentions(value: Json, keys: readonly string[]): boolean {
  if (Array.isArray(value)) return value.some(each => mentions(each, keys));
  if (!isObject(value)) return false;
  return Object.entries(value).some(
    ([key, each]) => (keys.includes(key) && typeof each === 'string') || mentions(each, keys),
  );
}

function withoutHeaders(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutHeaders);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key]) => key !== 'x-mcp-header');
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutHeaders(each)]));
}

/** The headers that an upstream of the newer era wants: arguments that its schema marks, and the name. */
export function paramHeaders(definition: JsonObject, args: Json | undefined): Record<string, string> {
  const schema = definition['inputSchema'];
  const properties = isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {};
  const headers: Record<string, string> = {};
  for (const [name, property] of Object.entries(properties)) {
    const header = isObject(property) ? property['x-mcp-header'] : undefined;
    const value = isObject(args) ? args[name] : undefined;
    if (typeof header !== 'string' || value === undefined || value === null || typeof value === 'object')
      continue;
    headers[`Mcp-Param-${header}`] = headerValue(String(value));
  }
  return headers;
}

/** The text itself, or in base64 if a header could not carry it. */
export function headerValue(text: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?')) return text;
  return `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;
}

export function readHeaderValue(value: string): string {
  const encoded = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/.exec(value)?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8');
}
