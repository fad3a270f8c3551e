// The tests of the CEL specification, as data: expressions with variables and what they have to come to.

import { packagesOf } from '../../../scripts/extras.ts';
import type { Type as SpecType } from '../../../scripts/node_modules/@bufbuild/cel-spec/dist/esm/gen/cel/expr/checked_pb.js';
import type { ExprValue } from '../../../scripts/node_modules/@bufbuild/cel-spec/dist/esm/gen/cel/expr/eval_pb.js';
import type { Value as SpecValue } from '../../../scripts/node_modules/@bufbuild/cel-spec/dist/esm/gen/cel/expr/value_pb.js';
import type { IncrementalTestSuite } from '../../../scripts/node_modules/@bufbuild/cel-spec/dist/esm/testdata/tests.js';
import * as types from '../../../src/core/condition/types.ts';
import { double, integer, TypeName, type Value } from '../../../src/core/condition/values.ts';
import { shown } from './evaluate.ts';

export interface SpecTest {
  expression: string;
  declarations: Record<string, types.Type>;
  scope: Record<string, Value>;
  /** As `shown` writes it, or null where it is of a type that conditions do not have, such as bytes. */
  wanted: string | null;
}

/** Thrown for variables of a type that conditions do not have. */
class Unsupported extends Error {}

/** Every test by its name, or null where it cannot be asked: a variable is a message, or there is no result. */
export async function specificationTests(): Promise<Map<string, SpecTest | null>> {
  const suites = await import(packagesOf('scripts', '@bufbuild/cel-spec/dist/esm/testdata/tests.js'));
  const found = new Map<string, SpecTest | null>();
  const visit = (suite: IncrementalTestSuite, path: readonly string[]) => {
    for (const { original, name } of suite.tests) {
      let full = [...path, name].join('/');
      while (found.has(full)) full += "'";
      found.set(
        full,
        supported(() => testOf(original)),
      );
    }
    for (const each of suite.suites) visit(each, [...path, each.name]);
  };
  visit(suites.getConformanceSuite(), []);
  return found;
}

/**
 * The same with `dyn(x)`, which conditions do not have, spelled as `[x, null][0]`, whose type is not known either; null
 * if it has no dyn().
 */
export function withoutDyn(expression: string): string | null {
  const at = expression.search(/(?<![.\w])dyn\(/);
  if (at < 0) return null;
  const start = at + 'dyn('.length;
  let end = start;
  for (let open = 1; end < expression.length; end++) {
    if (expression[end] === '(') open++;
    if (expression[end] === ')' && --open === 0) break;
  }
  const spelled = `${expression.slice(0, at)}[${expression.slice(start, end)}, null][0]${expression.slice(end + 1)}`;
  return withoutDyn(spelled) ?? spelled;
}

function supported<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Unsupported) return null;
    throw error;
  }
}

type Original = IncrementalTestSuite['tests'][number]['original'];

function testOf({ expr, typeEnv, bindings, resultMatcher, disableMacros, checkOnly }: Original): SpecTest {
  if (disableMacros || checkOnly) throw new Unsupported();
  const scope: Record<string, Value> = {};
  const declarations: Record<string, types.Type> = {};
  for (const [name, value] of Object.entries(bindings)) {
    scope[name] = bound(value);
    declarations[name] = types.DYN;
  }
  for (const { name, declKind } of typeEnv) {
    if (declKind.case !== 'ident') throw new Unsupported();
    declarations[name] = typeOf(declKind.value.type);
  }
  // Variables with qualified names belong to containers, which conditions do not have.
  if (Object.keys(declarations).some(name => name.includes('.'))) throw new Unsupported();
  return { expression: expr, declarations, scope, wanted: wantedOf(resultMatcher) };
}

function wantedOf(matcher: Original['resultMatcher']): string | null {
  switch (matcher.case) {
    case undefined:
      return shown(true);
    case 'value':
      return supported(() => shown(readValue(matcher.value)));
    case 'typedResult': {
      const { result } = matcher.value;
      if (result === undefined) throw new Unsupported();
      return supported(() => shown(readValue(result)));
    }
    case 'evalError':
    case 'anyEvalErrors':
      return 'failure';
    default:
      throw new Unsupported();
  }
}

function bound({ kind }: ExprValue): Value {
  if (kind.case !== 'value') throw new Unsupported();
  return readValue(kind.value);
}

function readValue({ kind }: SpecValue): Value {
  switch (kind.case) {
    case 'nullValue':
      return null;
    case 'boolValue':
    case 'stringValue':
      return kind.value;
    case 'int64Value':
      return integer(kind.value);
    case 'doubleValue':
      return double(kind.value);
    case 'typeValue':
      return new TypeName(kind.value);
    case 'listValue':
      return kind.value.values.map(readValue);
    case 'mapValue':
      return new Map(kind.value.entries.map(({ key, value }) => [readValue(key!), readValue(value!)]));
    default:
      throw new Unsupported();
  }
}

const PRIMITIVES: Readonly<Record<number, types.Type>> = {
  1: types.BOOL,
  2: types.INT,
  4: types.DOUBLE,
  5: types.STRING,
};

function typeOf(type: SpecType | undefined): types.Type {
  const kind = type?.typeKind;
  switch (kind?.case) {
    case 'dyn':
      return types.DYN;
    case 'null':
      return types.NULL;
    case 'listType':
      return types.listOf(typeOf(kind.value.elemType));
    case 'mapType':
      return types.mapOf(typeOf(kind.value.keyType), typeOf(kind.value.valueType));
    case 'primitive': {
      const primitive = PRIMITIVES[kind.value];
      if (primitive !== undefined) return primitive;
    }
  }
  throw new Unsupported();
}
