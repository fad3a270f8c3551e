// The functions of the language: the types that each takes, for the checker, and what it does. A method has its object
// as the first parameter.

import { toDouble, toInt, toText } from './convert.ts';
import { emailDomain } from './email.ts';
import type { Scope } from './frame.ts';
import { known } from './known.ts';
import { sizeOf } from './maps.ts';
import { pathJoin, pathWithin } from './path.ts';
import { pathDecidesLater, pathSecret, weightOf } from './path-names.ts';
import { shellCommands } from './shell.ts';
import { secretWeight, shellReads, shellSecret } from './shell-reads.ts';
import type { Steps } from './steps.ts';
import * as text from './text.ts';
import { BOOL, DOUBLE, DYN, INT, listOf, mapOf, STRING, structOf, TYPE, type Type } from './types.ts';
import { urlHost, urlPort, urlScheme } from './url.ts';
import {
  Failure,
  isInt,
  isMap,
  kindOf,
  TOO_MUCH_WORK,
  TYPE_NAMES,
  type Value,
  WRONG_TYPE,
} from './values.ts';

export interface Overload {
  takes: readonly Type[];
  gives: Type;
}

export interface FunctionOfLanguage {
  name: string;
  /** How it can be called: `size(x)`, `x.size()`, or both. */
  forms: readonly ('global' | 'method')[];
  overloads: readonly Overload[];
  /** None of the values is a failure, but each may have any type. */
  call: (values: readonly Value[], steps: Steps, scope: Scope) => Value;
}

const LIST = listOf(DYN);
const MAP = mapOf(DYN, DYN);
const COMMANDS = listOf(structOf({ name: { type: STRING }, args: { type: listOf(STRING) } }));

const gives = (result: Type, ...takes: (readonly Type[])[]): Overload[] =>
  takes.map(each => ({ takes: each, gives: result }));

/** A function on a text that takes further texts. */
function onTexts(
  name: string,
  count: number,
  result: Type,
  call: (steps: Steps, ...texts: string[]) => Value,
) {
  const overloads = gives(result, new Array<Type>(count).fill(STRING));
  return method(name, overloads, (values, steps) =>
    values.every(each => typeof each === 'string') ? call(steps, ...(values as string[])) : WRONG_TYPE,
  );
}

function method(name: string, overloads: Overload[], call: FunctionOfLanguage['call']): FunctionOfLanguage {
  return { name, forms: ['method'], overloads, call };
}

function global(name: string, overloads: Overload[], call: FunctionOfLanguage['call']): FunctionOfLanguage {
  return { name, forms: ['global'], overloads, call };
}

/**
 * A function of ours. Each character costs more than in CEL's functions (by default 8 times as much), and `call`
 * returns null for what it does not understand.
 */
function ours(
  name: string,
  count: number,
  result: Type,
  call: (...texts: string[]) => Value,
  weightOf: (text: string) => number = () => 8,
): FunctionOfLanguage {
  const failed = new Failure(`${name}() does not understand what it was given.`);
  return {
    ...onTexts(name, count, result, (steps, ...texts) => {
      const work = texts.reduce((sum, each) => sum + weightOf(each) * each.length, 0);
      return steps.spend(1) && steps.characters(work) ? (call(...texts) ?? failed) : TOO_MUCH_WORK;
    }),
    forms: ['global'],
  };
}

function sizeOfValue([value]: readonly Value[], steps: Steps): Value {
  if (typeof value === 'string') return text.size(value, steps);
  if (Array.isArray(value)) return value.length;
  return isMap(value) ? sizeOf(value, steps) : WRONG_TYPE;
}

function split([from, separator, limit = -1]: readonly Value[], steps: Steps): Value {
  if (typeof from !== 'string' || typeof separator !== 'string' || !isInt(limit)) return WRONG_TYPE;
  return text.split(from, separator, Number(limit), steps);
}

function replace([from, old, by, limit = -1]: readonly Value[], steps: Steps): Value {
  if (typeof from !== 'string' || typeof old !== 'string' || typeof by !== 'string') return WRONG_TYPE;
  return isInt(limit) ? text.replace(from, old, by, Number(limit), steps) : WRONG_TYPE;
}

function join([list, separator = '']: readonly Value[], steps: Steps): Value {
  if (!Array.isArray(list) || typeof separator !== 'string') return WRONG_TYPE;
  return text.join(list, separator, steps);
}

function substring([from, start, end = null]: readonly Value[], steps: Steps): Value {
  if (typeof from !== 'string' || !isInt(start) || (end !== null && !isInt(end))) return WRONG_TYPE;
  return text.substring(from, Number(start), end === null ? null : Number(end), steps);
}

function indexOf([from, part, offset = 0]: readonly Value[], steps: Steps): Value {
  if (typeof from !== 'string' || typeof part !== 'string' || !isInt(offset)) return WRONG_TYPE;
  return text.indexOf(from, part, Number(offset), steps);
}

const ALL: readonly FunctionOfLanguage[] = [
  {
    name: 'size',
    forms: ['global', 'method'],
    overloads: gives(INT, [STRING], [LIST], [MAP]),
    call: sizeOfValue,
  },
  onTexts('contains', 2, BOOL, (steps, from, part) => text.contains(from!, part!, steps)),
  onTexts('startsWith', 2, BOOL, (steps, from, part) => text.startsWith(from!, part!, steps)),
  onTexts('endsWith', 2, BOOL, (steps, from, part) => text.endsWith(from!, part!, steps)),
  onTexts('lowerAscii', 1, STRING, (steps, from) => text.lowerAscii(from!, steps)),
  onTexts('upperAscii', 1, STRING, (steps, from) => text.upperAscii(from!, steps)),
  onTexts('trim', 1, STRING, (steps, from) => text.trim(from!, steps)),
  method('split', gives(listOf(STRING), [STRING, STRING], [STRING, STRING, INT]), split),
  method('replace', gives(STRING, [STRING, STRING, STRING], [STRING, STRING, STRING, INT]), replace),
  method('join', gives(STRING, [listOf(STRING)], [listOf(STRING), STRING]), join),
  method('substring', gives(STRING, [STRING, INT], [STRING, INT, INT]), substring),
  method('indexOf', gives(INT, [STRING, STRING], [STRING, STRING, INT]), indexOf),
  global('int', gives(INT, [INT], [DOUBLE], [STRING]), ([value], steps) => toInt(value, steps)),
  global('double', gives(DOUBLE, [DOUBLE], [INT], [STRING]), ([value], steps) => toDouble(value, steps)),
  global('string', gives(STRING, [STRING], [BOOL], [INT], [DOUBLE]), ([value]) => toText(value)),
  global('type', gives(TYPE, [DYN]), ([value]) => TYPE_NAMES.get(kindOf(value))!),
  global(
    'known',
    gives(BOOL, [STRING], [INT], [DOUBLE], [listOf(STRING)], [listOf(INT)], [listOf(DOUBLE)]),
    known,
  ),
  ours('path.within', 2, BOOL, (path, root) => pathWithin(path!, root!)),
  ours('path.join', 2, STRING, (base, path) => pathJoin(base!, path!)),
  ours('path.secret', 1, BOOL, path => pathSecret(path!), weightOf),
  ours('path.decidesLater', 1, BOOL, path => pathDecidesLater(path!), weightOf),
  ours('url.host', 1, STRING, url => urlHost(url!)),
  ours('url.scheme', 1, STRING, url => urlScheme(url!)),
  ours('url.port', 1, INT, url => urlPort(url!)),
  ours('email.domain', 1, STRING, address => emailDomain(address!)),
  ours('shell.commands', 1, COMMANDS, commands => shellCommands(commands!)),
  ours(
    'shell.reads',
    2,
    listOf(STRING),
    (text, folder) => shellReads(text!, folder!),
    () => 16,
  ),
  ours('shell.secret', 1, BOOL, text => shellSecret(text!), secretWeight),
];

/** By name; those of ours by their whole name, such as `path.within`. `matches` is missing: its pattern is a literal. */
export const FUNCTIONS: ReadonlyMap<string, FunctionOfLanguage> = new Map(ALL.map(each => [each.name, each]));
