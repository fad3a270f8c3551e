// What may be the attributes of a session.

import { expect, test } from 'bun:test';
import { attributesFault } from '../../../src/core/flows/attributes.ts';
import { type JsonObject, parseJson } from '../../../src/core/wire/json.ts';

const fault = (text: string) => attributesFault(parseJson(text) as JsonObject);

test.each(['{}', '{"customer":"c_17","n":12345678901234567890}', '{"a":{"b":{"c":{}}}}', '{"a":[[[1]]]}'])(
  '%s',
  text => {
    expect(fault(text)).toBeNull();
  },
);

test('five levels are too many, whether of objects or of lists', () => {
  expect(fault('{"a":{"b":{"c":{"d":{}}}}}')).toBe('must have at most 4 levels of objects and lists');
  expect(fault('{"a":[[[[]]]]}')).toBe('must have at most 4 levels of objects and lists');
});

test('they are measured in bytes', () => {
  const ofBytes = (count: number) => `{"a":"${'b'.repeat(count - 8)}"}`;
  expect(fault(ofBytes(4096))).toBeNull();
  expect(fault(ofBytes(4097))).toBe('must have at most 4096 bytes as JSON');
  expect(fault(`{"a":"${'é'.repeat(2044)}"}`)).toBeNull();
  expect(fault(`{"a":"${'é'.repeat(2045)}"}`)).toBe('must have at most 4096 bytes as JSON');
});
