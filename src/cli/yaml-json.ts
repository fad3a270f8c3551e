// Reads a value in a YAML file as JSON. Numbers keep all digits that are written, as in arguments that come as JSON.

import { isMap, isScalar, isSeq, type Scalar } from 'yaml';
import { exactly } from '../core/wire/exact-number.ts';
import type { Json } from '../core/wire/json.ts';
import { offset } from './yaml-reader.ts';

/** What is not JSON, such as a key that is no string, or an alias. */
export class NoJson extends Error {
  readonly offset: number;
  constructor(node: unknown, message: string) {
    super(message);
    this.offset = offset(node);
  }
}

export function jsonOf(node: unknown): Json {
  if (isMap(node)) return Object.fromEntries(node.items.map(({ key, value }) => [keyOf(key), jsonOf(value)]));
  if (isSeq(node)) return node.items.map(jsonOf);
  if (node === null) return null;
  if (!isScalar(node)) throw new NoJson(node, 'must be written in place, without aliases');
  return typeof node.value === 'number' ? numberOf(node as Scalar<number>) : textOf(node);
}

function keyOf(key: unknown): string {
  if (!isScalar(key) || typeof key.value !== 'string') throw new NoJson(key, 'must have strings as keys');
  return key.value;
}

const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

function numberOf(node: Scalar<number>): Json {
  if (JSON_NUMBER.test(node.source ?? '')) return exactly(node.source as string);
  if (!Number.isFinite(node.value)) throw new NoJson(node, 'must have finite numbers');
  return node.value;
}

function textOf(node: Scalar): Json {
  const { value } = node;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  throw new NoJson(node, 'must be JSON');
}
