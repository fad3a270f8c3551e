// What is changed in a tool's definition before clients see it: output schemas made to fit the pending result, and
// annotations for headers taken out. Nothing else.

import { expect, test } from 'bun:test';
import type { JsonObject } from '../../src/core/wire/json.ts';
import { exposedDefinition, headerValue, paramHeaders, readHeaderValue } from '../../src/mcp/schema.ts';

const exposed = (outputSchema: JsonObject) =>
  exposedDefinition({ name: 'x', inputSchema: { type: 'object' }, outputSchema }, 'up__x')['outputSchema'];

test('an output schema is widened, with what references point at left at the root', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { a: { $ref: '#/$defs/b' } },
    additionalProperties: false,
    $defs: { b: { type: 'string' } },
  };
  expect(exposed(schema)).toMatchObject({
    $schema: schema.$schema,
    $defs: schema.$defs,
    type: 'object',
    anyOf: [
      { type: 'object', properties: schema.properties, additionalProperties: false },
      { required: ['status', 'referenceId', 'message'] },
    ],
  });
});

test('one that cannot be moved safely is left out', () => {
  for (const schema of [
    { type: 'array' },
    { anyOf: [] },
    { type: 'object', $id: 'https://example.com/x' },
    { type: 'object', properties: { a: { $anchor: 'here' } } },
    { type: 'object', properties: { a: { $ref: '#/properties/b' } } },
    { type: 'object', properties: { a: { $ref: '#' } } },
    { type: 'object', $defs: { t: { $dynamicAnchor: 'n' } } },
  ]) {
    expect([schema, exposed(schema)]).toEqual([schema, undefined]);
  }
});

test('a property that is merely called id or $ref-like stays', () => {
  const schema = { type: 'object', properties: { id: { type: 'string' } } };
  expect(exposed(schema)).toMatchObject({ anyOf: [schema, {}] });
});

test('annotations for headers are taken out at every depth, and used on the leg to the upstream', () => {
  const inputSchema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      count: { type: 'number', 'x-mcp-header': 'Count' },
      list: { type: 'array', items: { 'x-mcp-header': 'Item', type: 'string' } },
    },
  };
  const definition = { name: 'x', inputSchema, vendor: { kept: true } };
  const shown = exposedDefinition(definition, 'up__x');
  expect(JSON.stringify(shown)).not.toContain('x-mcp-header');
  expect(shown).toEqual({
    name: 'up__x',
    inputSchema: {
      type: 'object',
      properties: {
        region: { type: 'string' },
        count: { type: 'number' },
        list: { type: 'array', items: { type: 'string' } },
      },
    },
    vendor: { kept: true },
  });
  expect(paramHeaders(definition, { region: 'eu', count: 3, list: ['a'] })).toEqual({
    'Mcp-Param-Region': 'eu',
    'Mcp-Param-Count': '3',
  });
  for (const args of [{ region: null }, { region: {} }, { list: 'no header' }, {}, undefined, ['eu']])
    expect(paramHeaders(definition, args)).toEqual({});
  const odd = { properties: { a: { 'x-mcp-header': 7 }, b: 'x', c: {} } };
  for (const schema of [odd, { properties: [] }, {}, 'none', undefined])
    expect(paramHeaders({ ...(schema && { inputSchema: schema }) }, { a: 1, b: 1, c: 1 })).toEqual({});
});

test('a header value is plain where it can be, else base64, and reads back the same', () => {
  expect(headerValue('plain value')).toBe('plain value');
  for (const text of ['', ' edge', 'edge ', 'é', 'a\r\nb', '=?base64?x?=', '😀', '\u0000']) {
    expect(headerValue(text)).toMatch(/^=\?base64\?[A-Za-z0-9+/=]*\?=$/);
    expect(readHeaderValue(headerValue(text))).toBe(text);
  }
});
