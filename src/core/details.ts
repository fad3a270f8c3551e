// What an approver sees of a held call: the values that `show` selects from its arguments, and the question of `ask` with
// values in it. Details live in memory only, so nothing here may reach a log or an error. They are bounded whatever the
// arguments are; the strict parser (json-parser.ts) has bounded the depth already. Whoever shows them makes invisible
// characters visible.

import { ExactNumber } from './exact-number.ts';
import { isObject, type Json } from './json.ts';
import type { Rule } from './policy.ts';

export interface Details {
  question: string | null;
  /** Which parts of the question are values of the call, in UTF-16 units and in order. It is absent if none is. */
  inserted?: readonly { from: number; to: number }[];
  fields: readonly { path: string; value: string }[];
  /** How many fields were left out, because there was no room for them. */
  omitted?: number;
}

/** What is said where the details of a call are gone. */
export const DETAILS_GONE =
  'What this call would do can no longer be shown, because the service was restarted. Deny it and let the agent ask again.';

/** The question in parts: what the rule says, and what was given by the call. */
export function questionParts({ question, inserted = [] }: Details): { text: string; given: boolean }[] {
  const parts: { text: string; given: boolean }[] = [];
  const text = question ?? '';
  let end = 0;
  for (const { from, to } of inserted) {
    parts.push({ text: text.slice(end, from), given: false }, { text: text.slice(from, to), given: true });
    end = to;
  }
  return [...parts, { text: text.slice(end), given: false }].filter(part => part.text !== '');
}

/** The fields that a grant can be bound to: the call has a value there, and the path was not cut. */
export function bindable(fields: Details['fields']): Details['fields'] {
  return fields.filter(({ path, value }) => value !== NOT_GIVEN && !path.endsWith(CUT));
}

/** The names and indexes that lead to a value in the arguments. */
export type Path = readonly (string | number)[];

/** In characters (code points). What is longer is cut. */
const MAX_VALUE = 500;
export const MAX_PATH = 500;
const MAX_QUESTION = 1000;
/** In bytes of UTF-8: the question, the paths and the values together. */
const MAX_DETAILS = 8192;
const NOT_GIVEN = '(not given)';

/** What a rule shows of a call with these arguments; null if it has neither `show` nor `ask`. */
export function detailsOf({ show, ask }: Rule, args: Json | undefined): Details | null {
  if (show === undefined && ask === undefined) return null;
  const asked = ask === undefined ? { question: null } : questionOf(ask, args);
  const fields: { path: string; value: string }[] = [];
  let room = MAX_DETAILS - bytesOf(asked.question ?? '');
  let omitted = 0;
  const add = (path: Path, value: Json | undefined): void => {
    // Once there is no room, the rest is only counted.
    const field = omitted > 0 ? null : { path: pathText(path), value: valueText(value) };
    if (field !== null) room -= bytesOf(field.path) + bytesOf(field.value);
    if (field === null || room < 0) omitted++;
    else fields.push(field);
  };
  if (show === 'all') eachLeaf(args ?? {}, [], add);
  else for (const path of (show ?? []).map(readPath)) add(path, valueAt(args, path));
  return omitted === 0 ? { ...asked, fields } : { ...asked, fields, omitted };
}

/** Calls `add` for every value that has no parts, in the order of the arguments. The empty arguments have none. */
function eachLeaf(value: Json, path: (string | number)[], add: (path: Path, value: Json) => void): void {
  const steps = isObject(value) ? Object.keys(value) : Array.isArray(value) ? value.keys() : [];
  let empty = true;
  for (const step of steps) {
    empty = false;
    path.push(step);
    eachLeaf((value as Record<string | number, Json>)[step] as Json, path, add);
    path.pop();
  }
  if (empty && path.length > 0) add(path, value);
}

function questionOf(ask: string, args: Json | undefined): Pick<Details, 'question' | 'inserted'> {
  const parts = parseQuestion(ask);
  // A policy that was saved before paths were checked keeps its question as it is written.
  if (typeof parts === 'string') return { question: ask };
  let text = '';
  const inserted: { from: number; to: number }[] = [];
  for (const part of parts) {
    const value = typeof part === 'string' ? undefined : valueAt(args, part);
    const from = text.length;
    text += typeof part === 'string' ? part : valueText(value);
    if (value !== undefined) inserted.push({ from, to: text.length });
  }
  const kept = keptLength(text, MAX_QUESTION);
  const shown = inserted
    .map(({ from, to }) => ({ from, to: Math.min(to, kept) }))
    .filter(({ from, to }) => from < to);
  const question = cut(text, MAX_QUESTION, () => CUT);
  return shown.length === 0 ? { question } : { question, inserted: shown };
}

/** The value at a path, or undefined if the arguments have none. */
export function valueAt(args: Json | undefined, path: Path): Json | undefined {
  let value = args;
  for (const step of path) {
    if (typeof step === 'number') value = Array.isArray(value) ? value[step] : undefined;
    else value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value;
}

/** Strings are shown as they are, everything else as JSON. */
function valueText(value: Json | undefined): string {
  if (value === undefined) return NOT_GIVEN;
  if (typeof value === 'object' && value !== null && !(value instanceof ExactNumber))
    return cut(startOfJson(value), MAX_VALUE, () => CUT);
  const text =
    typeof value === 'string' ? value : value instanceof ExactNumber ? value.text : JSON.stringify(value);
  return cut(text, MAX_VALUE, () => ` … (cut, ${lengthOf(text).toLocaleString('en')} characters)`);
}

const CUT = ' … (cut)';
/** So many UTF-16 units are always more characters than are shown of a path or a value. */
const ENOUGH = 2 * MAX_VALUE + 1;

/** Compact JSON of a value, or the first part of it that has more characters than are shown. */
function startOfJson(root: Json): string {
  let text = '';
  const write = (value: Json): void => {
    if (text.length >= ENOUGH) return;
    if (Array.isArray(value)) list('[', value.keys(), at => write(value[at] as Json), ']');
    else if (isObject(value)) list('{', Object.keys(value), key => member(key, value[key] as Json), '}');
    else if (value instanceof ExactNumber) text += value.text;
    else text += JSON.stringify(typeof value === 'string' ? value.slice(0, ENOUGH) : value);
  };
  const member = (key: string, value: Json) => {
    text += `${JSON.stringify(key.slice(0, ENOUGH))}:`;
    write(value);
  };
  const list = <T>(open: string, parts: Iterable<T>, writePart: (part: T) => void, close: string) => {
    let separator = '';
    text += open;
    for (const part of parts) {
      if (text.length >= ENOUGH) return;
      text += separator;
      separator = ',';
      writePart(part);
    }
    text += close;
  };
  write(root);
  return text;
}

/** The text, well-formed and with at most so many characters, or its beginning with a remark. */
function cut(text: string, most: number, remark: () => string): string {
  const kept = keptLength(text, most);
  return text.slice(0, kept).toWellFormed() + (kept < text.length ? remark() : '');
}

/** How many UTF-16 units of a text are kept, if it may have so many characters. */
function keptLength(text: string, most: number): number {
  if (text.length <= most) return text.length;
  const characters = Array.from(text.slice(0, 2 * most + 1));
  return characters.length <= most ? text.length : characters.slice(0, most).join('').length;
}

function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

const encoder = new TextEncoder();
const bytesOf = (text: string): number => encoder.encode(text).length;

const PLAIN_NAME = /^[A-Za-z_$][\w$-]*$/;
const STEP = /(\.?)([A-Za-z_$][\w$-]*)|\[(0|[1-9][0-9]{0,8})\]|\[("(?:[^"\\]|\\.)*")\]/y;
const PATH_FORM =
  'is no path to an argument; a path is written with names, dots and indexes, such as customer.name, items[0].sku or ["odd name"]';

/** Reads `customer.name`, `items[0].sku` and `["odd name"]`, or says what is wrong. */
export function parsePath(text: string): Path | string {
  if (lengthOf(text) > MAX_PATH) return `must have at most ${MAX_PATH} characters`;
  const { path, end } = stepsIn(text, 0);
  return path.length > 0 && end === text.length ? path : PATH_FORM;
}

/** A path of a rule that is in use. One that is none leads to nothing. */
function readPath(text: string): Path {
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

/** A path as `parsePath` reads it; one that is too long is cut. */
function pathText(path: Path): string {
  let text = '';
  for (const step of path) {
    if (text.length >= ENOUGH) break;
    if (typeof step === 'number') text += `[${step}]`;
    else if (step.length < ENOUGH && PLAIN_NAME.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${JSON.stringify(step.slice(0, ENOUGH))}]`;
  }
  return cut(text, MAX_PATH, () => CUT);
}
