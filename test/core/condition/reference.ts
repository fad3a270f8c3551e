// The reference implementation, @bufbuild/cel, with arguments and results in the forms of ours.

import { packagesOf } from '../../../scripts/extras.ts';
import { double, Failure, integer, TypeName, type Value } from '../../../src/core/condition/values.ts';
import { ExactNumber } from '../../../src/core/wire/exact-number.ts';
import type { Json } from '../../../src/core/wire/json.ts';

type Reference = typeof import('../../../scripts/node_modules/@bufbuild/cel/dist/esm/index.js');

/** Evaluates an expression with `args`, or gives null where the reference does not take it. */
export async function openReference(): Promise<(source: string, args: Json) => Value> {
  const cel: Reference = await import(packagesOf('scripts', '@bufbuild/cel/dist/esm/index.js'));
  const { strings } = await import(packagesOf('scripts', '@bufbuild/cel/dist/esm/ext/index.js'));
  const env = cel.celEnv({
    funcs: strings,
    variables: { args: cel.mapType(cel.CelScalar.STRING, cel.CelScalar.DYN) },
  });
  const ours = (value: unknown): Value => {
    if (typeof value === 'bigint') return integer(value);
    if (typeof value === 'number') return double(value);
    if (cel.isCelError(value)) return new Failure(value.message);
    if (cel.isCelList(value)) return [...value].map(ours);
    if (cel.isCelMap(value)) return new Map([...value].map(([key, each]) => [ours(key), ours(each)]));
    if (cel.isCelType(value)) return new TypeName(value.name);
    return value;
  };
  return (source, args) => {
    const planned = cel.plan(env, cel.parse(source));
    try {
      return ours(planned({ args: theirs(args) as never }));
    } catch (error) {
      return new Failure(String(error));
    }
  };
}

/** There ints are bigints and doubles are numbers. */
function theirs(value: Json): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (value instanceof ExactNumber) return BigInt(value.text);
  if (Array.isArray(value)) return value.map(theirs);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, theirs(each)]));
}
