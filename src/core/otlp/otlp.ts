// What the three signals of OTLP have in common: the resource, which describes this process, the scope, and attributes.
// Objects have the shape of OTLP in JSON (times as decimal texts, identifiers as hexadecimal digits), and the messages
// say how they are written as protocol buffers. Numbers are those of opentelemetry-proto 1.x, whose JSON is stable.

import type { Attributes } from '../wire/span.ts';
import type { Message } from './protobuf.ts';

export const ANY_VALUE: Message = {
  stringValue: [1, 'string'],
  boolValue: [2, 'bool'],
  intValue: [3, 'int64'],
  doubleValue: [4, 'double'],
};

export const KEY_VALUE: Message = { key: [1, 'string'], value: [2, ANY_VALUE] };

const RESOURCE: Message = { attributes: [1, KEY_VALUE] };
const SCOPE: Message = { name: [1, 'string'], version: [2, 'string'] };

interface AnyValue {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: string;
  doubleValue?: number;
}

interface KeyValue {
  key: string;
  value: AnyValue;
}

/** Who sends: the attributes of the process, and the version of the program. */
export interface Resource {
  attributes: Attributes;
  version: string;
}

/** The message of a request with many `item`s of one resource, such as `{ resourceSpans: [{ scopeSpans: [{ spans }] }] }`. */
export function requestMessage(name: 'Spans' | 'Metrics' | 'Logs', items: string, item: Message): Message {
  const scoped: Message = { scope: [1, SCOPE], [items]: [2, item] };
  return { [`resource${name}`]: [1, { resource: [1, RESOURCE], [`scope${name}`]: [2, scoped] }] };
}

export function request(
  name: 'Spans' | 'Metrics' | 'Logs',
  items: string,
  { attributes, version }: Resource,
  list: readonly object[],
): object {
  const scoped = { scope: { name: 'toolgate', version }, [items]: list };
  const resource = { attributes: keyValues(attributes) };
  return { [`resource${name}`]: [{ resource, [`scope${name}`]: [scoped] }] };
}

/** Nobody needs more of one text, and a queue of bounded texts is bounded. */
const LONGEST_TEXT = 4096;

export function anyValue(value: string | number | boolean): AnyValue {
  switch (typeof value) {
    case 'string':
      return { stringValue: bounded(value) };
    case 'boolean':
      return { boolValue: value };
    case 'number':
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  }
}

export function bounded(text: string): string {
  if (text.length <= LONGEST_TEXT) return text;
  // A part of a text keeps the whole text in memory, a copy of it does not.
  return `${Buffer.from(text.slice(0, LONGEST_TEXT - 1)).toString()}…`;
}

export function keyValues(attributes: Attributes): KeyValue[] {
  return Object.keys(attributes).map(key => ({ key, value: anyValue(attributes[key] as string) }));
}

/** Milliseconds since 1970 as nanoseconds. A number cannot hold those exactly; microseconds are exact enough. */
export function nanoseconds(milliseconds: number): string {
  return `${Math.round(milliseconds * 1000)}000`;
}
