// How much of details there is room for: in memory, and where only their beginning is given. What is left out is counted.
// Long values are cut shorter before a field is left out, so that nobody hides one field behind others that are long.

import { MAX_PATH } from '../text/argument-path.ts';
import { codePoints, utf8Length } from '../text/text-length.ts';

export interface Field {
  path: string;
  value: string;
  /** Where the value is cut: how many characters it has; null if they were not counted. */
  characters?: number | null;
  /** Whether somebody who is trusted has named the value; absent where that is not said of it. */
  known?: boolean;
}

export interface Details {
  question: string | null;
  /** Which parts of the question are values of the call, in UTF-16 units and in order. It is absent if none is. */
  inserted?: readonly { from: number; to: number }[];
  /** The folder in which a coding agent works, as its harness says it. The model can choose fields, but not this. */
  folder?: string;
  fields: readonly Field[];
  /** How many fields were left out, because there was no room for them. */
  omitted?: number;
  /** How many characters were left out: of these fields, and of values that are cut. */
  omittedCharacters?: number;
  /** Whether nothing was left out. */
  complete: boolean;
}

interface Room {
  /** The most characters of a value, and of a path. */
  value: number;
  path: number;
  /** The most bytes of UTF-8: the question, the folder, the paths and the values together. */
  all: number;
}

/** What is held of a call. */
export const WHOLE: Room = { value: 262_144, path: 262_144, all: 262_144 };
/** What lists and messages give of it. */
export const BEGINNING: Room = { value: 500, path: MAX_PATH, all: 8192 };
/** The longest folder, in characters: Linux accepts paths of this length. */
const MAX_FOLDER = 4096;
/** Values are not cut shorter than this. */
const SHORTEST = 60;

/** The details with shorter values, or with fewer fields, if there is not room for all of them. */
export function withinRoom(details: Details, room: Room): Details {
  const measured = details.fields.map(measure);
  for (let value = room.value; ; value = Math.floor(value / 2)) {
    const fitted = fit(details, measured, { ...room, value });
    if (fitted.fields.length === measured.length || value / 2 < SHORTEST) return fitted;
  }
}

/** The text, well-formed and with at most so many characters, or its beginning with a remark. */
export function cutText(text: string, most: number, counted = true): Pick<Field, 'value' | 'characters'> {
  const kept = keptLength(text, most);
  if (kept === text.length) return { value: text.toWellFormed() };
  const characters = counted ? codePoints(text) : null;
  return { value: text.slice(0, kept).toWellFormed() + remark(characters), characters };
}

/** How many UTF-16 units of a text are kept, if it may have so many characters. */
export function keptLength(text: string, most: number): number {
  if (text.length <= most) return text.length;
  let at = 0;
  for (let characters = 0; characters < most && at < text.length; characters++)
    at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
  return at;
}

function remark(characters: number | null): string {
  return characters === null ? CUT : ` … (cut, ${characters.toLocaleString('en')} characters)`;
}

const CUT = ' … (cut)';

interface Measured {
  field: Field;
  /** The value without a remark, and how many characters that is. */
  content: string;
  length: number;
}

function measure(field: Field): Measured {
  const { value, characters } = field;
  const content = characters === undefined ? value : value.slice(0, -remark(characters).length);
  return { field, content, length: codePoints(content) };
}

function fit(details: Details, all: readonly Measured[], room: Room): Details {
  const { question, inserted } = details;
  const folder = details.folder && cutText(details.folder, Math.min(room.path, MAX_FOLDER), false).value;
  let left = room.all - utf8Length(question ?? '') - utf8Length(folder ?? '');
  const fields: Field[] = [];
  let characters = details.omittedCharacters ?? 0;
  let complete = details.complete && details.omitted === undefined && !folder?.endsWith(CUT);
  for (const each of all) {
    const field = cutField(each, room);
    left -= utf8Length(field.path) + utf8Length(field.value);
    if (left < 0) break;
    fields.push(field);
    if (field !== each.field) characters += Math.max(0, each.length - room.value);
    if (field.characters !== undefined || field.path.endsWith(CUT)) complete = false;
  }
  const rest = all.slice(fields.length);
  for (const { field, length } of rest) characters += field.path.length + length;
  const omitted = (details.omitted ?? 0) + rest.length;
  return {
    question,
    ...(inserted !== undefined && { inserted }),
    ...(folder !== undefined && { folder }),
    fields,
    ...(omitted > 0 && { omitted }),
    ...(characters > 0 && { omittedCharacters: characters }),
    complete: complete && rest.length === 0,
  };
}

/** The field itself if nothing of it is cut. */
function cutField({ field, content, length }: Measured, most: Room): Field {
  const path = cutText(field.path, most.path, false).value;
  if (length <= most.value) return path === field.path ? field : { ...field, path };
  const total = field.characters === undefined ? length : field.characters;
  const value = content.slice(0, keptLength(content, most.value)) + remark(total);
  return { ...field, path, value, characters: total };
}
