// What an approver sees of a held call: the values that `show` selects from its arguments, and the question of `ask` with
// values in it. Details live in memory only, so nothing here may reach a log or an error. Values are whole, up to a bound
// for all of them together; details-room.ts leaves out what has no room, also where only their beginning is given.
// Whoever shows them makes invisible characters visible.

import type { Rule } from '../policy/policy.ts';
import { MAX_PATH, type Path, parseQuestion, pathText, readPath, valueAt } from '../text/argument-path.ts';
import { codePoints } from '../text/text-length.ts';
import { ExactNumber } from '../wire/exact-number.ts';
import { isObject, type Json } from '../wire/json.ts';
import {
  BEGINNING,
  cutText,
  type Details,
  type Field,
  keptLength,
  WHOLE,
  withinRoom,
} from './details-room.ts';

export type { Details } from './details-room.ts';

/** What an approval names instead of their digest, where nobody can see the whole details. */
export const SEEN_INCOMPLETE = 'incomplete';
export const SEEN_GONE = 'gone';

/** What somebody names who was shown all that can be seen of a call; undefined where the rule shows nothing of it. */
export function seenOf(shown: {
  details?: { complete: boolean; digest: string } | undefined;
  detailsGone?: boolean | undefined;
}): string | undefined {
  if (shown.detailsGone) return SEEN_GONE;
  return shown.details?.complete === false ? SEEN_INCOMPLETE : shown.details?.digest;
}

/** The sentence that people read where the details of a call are gone. */
export const DETAILS_GONE =
  'What this call would do can no longer be shown, because the service was restarted. Deny it and let the agent ask again.';

/** The question in parts: what the rule says, and what was given by the call. */
export function questionParts({
  question,
  inserted = [],
}: Pick<Details, 'question' | 'inserted'>): { text: string; given: boolean }[] {
  const parts: { text: string; given: boolean }[] = [];
  const text = question ?? '';
  let end = 0;
  for (const { from, to } of inserted) {
    parts.push({ text: text.slice(end, from), given: false }, { text: text.slice(from, to), given: true });
    end = to;
  }
  return [...parts, { text: text.slice(end), given: false }].filter(part => part.text !== '');
}

/** The fields that a grant can be bound to: the call has a value there, and the path is one that can be written. */
export function bindable(fields: Details['fields']): Details['fields'] {
  return fields.filter(({ path, value }) => value !== NOT_GIVEN && codePoints(path) <= MAX_PATH);
}

/** In characters. A longer value is cut in the question, and is also shown as a field. */
const MAX_ASKED = 500;
const MAX_QUESTION = 1000;
const NOT_GIVEN = '(not given)';

/**
 * What a rule shows of a call with these arguments; null if it has neither `show` nor `ask`. Values that the question could
 * not hold, or that are not known, come first. Of all arguments, those at the top come before those within others:
 * otherwise, whoever chooses the order of the arguments chooses what is left out.
 */
export function detailsOf(
  { show, ask }: Rule,
  args: Json | undefined,
  folder: string | null = null,
  known: IsKnown = () => undefined,
): Details | null {
  if (show === undefined && ask === undefined) return null;
  const { apart, ...asked } =
    ask === undefined ? { question: null, apart: [] } : questionOf(ask, args, known);
  const collected = new Collected(known);
  for (const path of apart) collected.add(path, valueAt(args, path));
  if (show === 'all') eachLeaf(args ?? {}, collected);
  else for (const path of (show ?? []).map(readPath)) collected.add(path, valueAt(args, path));
  return withinRoom(
    { ...asked, ...(folder !== null && { folder }), ...collected.found(), complete: true },
    WHOLE,
  );
}

/** Whether somebody who is trusted has named a value; undefined where that is not said of it. */
export type IsKnown = (value: Json | undefined) => boolean | undefined;

/** What lists and messages give: the beginning of long values, and of many. */
export function beginningOf(details: Details): Details {
  return withinRoom(details, BEGINNING);
}

/** The fields so far. Each path is one field. Once there are more than can be held, they are cut short or only counted. */
class Collected {
  readonly #fields: Field[] = [];
  readonly #paths = new Set<string>();
  #units = 0;
  #omitted = 0;
  #characters = 0;
  readonly #known: IsKnown;

  constructor(known: IsKnown) {
    this.#known = known;
  }

  get isFull(): boolean {
    return this.#units > 2 * WHOLE.all;
  }

  count(value: Json | undefined): void {
    this.#omitted++;
    this.#characters += typeof value === 'string' ? value.length : 1;
  }

  add(at: Path, value: Json | undefined): void {
    if (this.isFull) {
      this.count(value);
      return;
    }
    const path = pathText(at, WHOLE.all).toWellFormed();
    if (this.#paths.has(path)) return;
    this.#paths.add(path);
    const most = this.#units > WHOLE.all ? BEGINNING.value : WHOLE.all;
    const known = this.#known(value);
    const field = { path, ...valueText(value, most), ...(known !== undefined && { known }) };
    this.#units += path.length + field.value.length;
    if (field.characters !== undefined) this.#characters += Math.max(1, (field.characters ?? 0) - most);
    this.#fields.push(field);
  }

  found(): Pick<Details, 'fields' | 'omitted' | 'omittedCharacters'> {
    return {
      fields: this.#fields,
      ...(this.#omitted > 0 && { omitted: this.#omitted }),
      ...(this.#characters > 0 && { omittedCharacters: this.#characters }),
    };
  }
}

/** Adds every value that has no parts: level by level, and in the order of the arguments. */
function eachLeaf(root: Json, collected: Collected): void {
  let level: { path: Path; value: Json }[] = [{ path: [], value: root }];
  while (level.length > 0) {
    const next: typeof level = [];
    for (const { path, value } of level)
      for (const step of stepsOf(value)) {
        const part = (value as Record<string | number, Json>)[step] as Json;
        if (hasParts(part)) next.push({ path: [...path, step], value: part });
        else if (collected.isFull) collected.count(part);
        else collected.add([...path, step], part);
      }
    level = next;
  }
}

function stepsOf(value: Json): Iterable<string | number> {
  return isObject(value) ? Object.keys(value) : Array.isArray(value) ? value.keys() : [];
}

function hasParts(value: Json): boolean {
  for (const _ of stepsOf(value)) return true;
  return false;
}

/** `apart` are the paths whose values are also shown as fields: the question does not hold them whole, or they are not known. */
function questionOf(
  ask: string,
  args: Json | undefined,
  known: IsKnown,
): Pick<Details, 'question' | 'inserted'> & { apart: Path[] } {
  const parts = parseQuestion(ask);
  // A policy that was saved before paths were checked keeps its question as it is written.
  if (typeof parts === 'string') return { question: ask, apart: [] };
  let text = '';
  const inserted: { from: number; to: number }[] = [];
  const apart: Path[] = [];
  for (const part of parts) {
    const value = typeof part === 'string' ? undefined : valueAt(args, part);
    const from = text.length;
    const shown = typeof part === 'string' ? { value: part } : valueText(value, MAX_ASKED);
    text += shown.value;
    if (value !== undefined) inserted.push({ from, to: text.length });
    if (typeof part === 'string') continue;
    const isCut = 'characters' in shown || keptLength(text, MAX_QUESTION) < text.length;
    if (isCut || known(value) === false) apart.push(part);
  }
  const kept = keptLength(text, MAX_QUESTION);
  const shown = inserted
    .map(({ from, to }) => ({ from, to: Math.min(to, kept) }))
    .filter(({ from, to }) => from < to);
  const question = kept < text.length ? `${text.slice(0, kept).toWellFormed()} … (cut)` : text.toWellFormed();
  return shown.length === 0 ? { question, apart } : { question, inserted: shown, apart };
}

/** Strings are shown as they are, everything else as JSON. */
function valueText(value: Json | undefined, most: number): Pick<Field, 'value' | 'characters'> {
  if (value === undefined) return { value: NOT_GIVEN };
  if (typeof value === 'string') return cutText(value, most);
  if (value instanceof ExactNumber) return cutText(value.text, most);
  if (typeof value !== 'object' || value === null) return { value: JSON.stringify(value) };
  // So many UTF-16 units are always more characters than are shown.
  const enough = 2 * most + 1;
  const text = startOfJson(value, enough);
  return cutText(text, most, text.length < enough);
}

/** Compact JSON of a value, or the first part of it that has at least so many UTF-16 units. */
function startOfJson(root: Json, enough: number): string {
  let text = '';
  const write = (value: Json): void => {
    if (text.length >= enough) return;
    if (Array.isArray(value)) list('[', value.keys(), at => write(value[at] as Json), ']');
    else if (isObject(value)) list('{', Object.keys(value), key => member(key, value[key] as Json), '}');
    else if (value instanceof ExactNumber) text += value.text;
    else text += JSON.stringify(typeof value === 'string' ? value.slice(0, enough) : value);
  };
  const member = (key: string, value: Json) => {
    text += `${JSON.stringify(key.slice(0, enough))}:`;
    write(value);
  };
  const list = <T>(open: string, parts: Iterable<T>, writePart: (part: T) => void, close: string) => {
    let separator = '';
    text += open;
    for (const part of parts) {
      if (text.length >= enough) return;
      text += separator;
      separator = ',';
      writePart(part);
    }
    text += close;
  };
  write(root);
  return text;
}
