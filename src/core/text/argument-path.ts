// Paths to arguments, as rules and answers write them: `customer.name`, `items[0].sku` and `["odd name"]`; and questions
// with such paths in them.

import { isObject, type Json } from '../wire/json.ts';
import { codePoints } from './text-length.ts';

/** The names and indexes that lead to a value in the arguments. */
export type Path = readonly (string | number)[];

/** The most characters (code points) of a path that somebody writes. */
export const MAX_PATH = 500;

/** The value at a path, or undefined if the arguments have none. */
export function valueAt(args: Json | undefined, path: Path): Json | undefined {
  let value = args;
  for (const step of path) {
    if (typeof step === 'number') value = Array.isArray(value) ? value[step] : undefined;
    else value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value;
}

const PLAIN_NAME = /^[A-Za-z_$][\w$-]*$/;
const STEP = /(\.?)([A-Za-z_$][\w$-]*)|\[(0|[1-9][0-9]{0,8})\]|\[("(?:[^"\\]|\\.)*")\]/y;
const PATH_FORM =
  'is no path to an argument; a path is written with names, dots and indexes, such as customer.name, items[0].sku or ["odd name"]';

/** Reads `customer.name`, `items[0].sku` and `["odd name"]`, or says what is wrong. */
export function parsePath(text: string): Path | string {
  if (codePoints(text) > MAX_PATH) return `must have at most ${MAX_PATH} characters`;
  const { path, end } = stepsIn(text, 0);
  return path.length > 0 && end === text.length ? path : PATH_FORM;
}

/** The steps of a path in a stored rule. A text that is no path is taken as one name, as it stands. */
export function readPath(text: string): Path {
  const path = parsePath(text);
  return typeof path === 'string' ? [text] : path;
}

/** A question as texts and paths, in their order, or what is wrong with it. */
export function parseQuestion(ask: string): readonly (string | Path)[] | string {
  const parts: (string | Path)[] = [];
  let from = 0;
  for (let brace = ask.indexOf('{'); brace >= 0; brace = ask.indexOf('{', from)) {
    const { path, end } = stepsIn(ask, brace + 1);
    if (path.length === 0 || ask[end] !== '}')
      return ask.includes('}', brace)
        ? `has a "{" at character ${brace + 1} that begins no path to an argument, such as {amount} or {customer.name}`
        : `has a "{" at character ${brace + 1} that is not closed`;
    parts.push(ask.slice(from, brace), path);
    from = end + 1;
  }
  return [...parts, ask.slice(from)];
}

/** The steps of the path that begins there, and where it ends. */
function stepsIn(text: string, from: number): { path: Path; end: number } {
  const path: (string | number)[] = [];
  let end = from;
  for (;;) {
    STEP.lastIndex = end;
    const [whole, dot, name, index, quoted] = STEP.exec(text) ?? [];
    if (whole === undefined || (name !== undefined && (dot === '.') !== path.length > 0))
      return { path, end };
    const step = name ?? (quoted === undefined ? Number(index) : unquoted(quoted));
    if (step === null) return { path, end };
    path.push(step);
    end += whole.length;
  }
}

function unquoted(text: string): string | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A path as `parsePath` reads it. At most so many UTF-16 units of its names are read. */
export function pathText(path: Path, most: number): string {
  let text = '';
  for (const step of path) {
    if (text.length > most) break;
    if (typeof step === 'number') text += `[${step}]`;
    else if (step.length <= most && PLAIN_NAME.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${JSON.stringify(step.slice(0, most + 1))}]`;
  }
  return text;
}
