// The functions on strings: CEL's own and those of its strings extension. Strings are sequences of code points. Each
// function pays for its work before it does it.

import { codePoints } from '../text/text-length.ts';
import { indexIn } from './search.ts';
import type { Steps } from './steps.ts';
import { type Failure, NO_UNICODE, OUT_OF_RANGE, TOO_MUCH_WORK, type Value, WRONG_TYPE } from './values.ts';

const isPair = (text: string, at: number) => text.codePointAt(at)! > 0xffff;

/** The place in UTF-16 units of a code point, or -1 beyond the end. */
function unitOf(text: string, codePoint: number): number {
  let at = 0;
  for (let count = 0; count < codePoint; count++) {
    if (at >= text.length) return -1;
    at += isPair(text, at) ? 2 : 1;
  }
  return at;
}

/**
 * Pays for a search, and refuses what is no sequence of characters: half of a surrogate pair would be found inside of
 * another character.
 */
function unsearchable(length: number, part: string, steps: Steps): Failure | null {
  if (!steps.characters(length + part.length)) return TOO_MUCH_WORK;
  return part.isWellFormed() ? null : NO_UNICODE;
}

export function contains(text: string, part: string, steps: Steps): Value {
  return unsearchable(text.length, part, steps) ?? indexIn(text, part, 0) >= 0;
}

export function startsWith(text: string, part: string, steps: Steps): Value {
  return unsearchable(0, part, steps) ?? text.startsWith(part);
}

export function endsWith(text: string, part: string, steps: Steps): Value {
  return unsearchable(0, part, steps) ?? text.endsWith(part);
}

/** Only A to Z change. Where all is ASCII, the runtime's function does just that, and faster. */
export function lowerAscii(text: string, steps: Steps): Value {
  if (!steps.characters(4 * text.length)) return TOO_MUCH_WORK;
  if (isAscii(text)) return text.toLowerCase();
  if (!steps.characters(12 * text.length)) return TOO_MUCH_WORK;
  return text.replace(/[A-Z]+/g, found => found.toLowerCase());
}

export function upperAscii(text: string, steps: Steps): Value {
  if (!steps.characters(4 * text.length)) return TOO_MUCH_WORK;
  if (isAscii(text)) return text.toUpperCase();
  if (!steps.characters(12 * text.length)) return TOO_MUCH_WORK;
  return text.replace(/[a-z]+/g, found => found.toUpperCase());
}

const isAscii = (text: string) => /^[\x00-\x7f]*$/.test(text);

/** Unicode's White_Space, which is not what the runtime's trim removes. */
const SPACE = /[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

export function trim(text: string, steps: Steps): Value {
  if (!steps.characters(4 * text.length)) return TOO_MUCH_WORK;
  let start = 0;
  let end = text.length;
  while (start < end && SPACE.test(text[start]!)) start++;
  while (end > start && SPACE.test(text[end - 1]!)) end--;
  return text.slice(start, end);
}

/** At most that many parts, the last of which is the rest; all of them if the limit is negative. */
export function split(text: string, separator: string, limit: number, steps: Steps): Value {
  const refused = unsearchable(text.length, separator, steps);
  if (refused !== null) return refused;
  if (limit === 0) return [];
  if (separator === '' && text === '') return [];
  const parts: string[] = [];
  let start = 0;
  while (parts.length + 1 !== limit) {
    const end = separator === '' ? start + (isPair(text, start) ? 2 : 1) : indexIn(text, separator, start);
    if (end < 0 || (separator === '' && end >= text.length)) break;
    if (parts.length % 16 === 0 && !steps.copies(16)) return TOO_MUCH_WORK;
    parts.push(text.slice(start, end));
    start = end + separator.length;
  }
  parts.push(text.slice(start));
  return parts;
}

/** Replaces the first occurrences, or all of them if the limit is negative. */
export function replace(text: string, from: string, to: string, limit: number, steps: Steps): Value {
  const refused = unsearchable(text.length, from, steps);
  if (refused !== null) return refused;
  const parts: string[] = [];
  let start = 0;
  for (let count = 0; count !== limit; count++) {
    const found = from === '' ? emptyAt(text, start, count) : indexIn(text, from, start);
    if (found < 0) break;
    if (count % 16 === 0 && !(steps.copies(16) && steps.characters(16 * to.length))) return TOO_MUCH_WORK;
    parts.push(text.slice(start, found), to);
    start = found + from.length;
  }
  parts.push(text.slice(start));
  return parts.join('');
}

/** The empty text is found before the first character and after each one. */
function emptyAt(text: string, at: number, count: number): number {
  if (count === 0) return 0;
  if (at >= text.length) return -1;
  return at + (isPair(text, at) ? 2 : 1);
}

export function join(list: readonly unknown[], separator: string, steps: Steps): Value {
  if (!steps.copies(list.length) || !steps.characters(list.length * separator.length)) return TOO_MUCH_WORK;
  let length = 0;
  for (const part of list) {
    if (typeof part !== 'string') return WRONG_TYPE;
    length += part.length;
  }
  return steps.characters(length) ? list.join(separator) : TOO_MUCH_WORK;
}

export function substring(text: string, start: number, end: number | null, steps: Steps): Value {
  if (!steps.characters(text.length)) return TOO_MUCH_WORK;
  const from = start < 0 ? -1 : unitOf(text, start);
  const to = end === null ? text.length : end < 0 ? -1 : unitOf(text, end);
  return from < 0 || to < 0 || from > to ? OUT_OF_RANGE : text.slice(from, to);
}

export function indexOf(text: string, part: string, offset: number, steps: Steps): Value {
  const refused = unsearchable(3 * text.length, part, steps);
  if (refused !== null) return refused;
  const from = offset < 0 ? -1 : unitOf(text, offset);
  if (from < 0) return OUT_OF_RANGE;
  const found = indexIn(text, part, from);
  return found < 0 ? -1 : codePoints(text, found);
}

export function concatenated(a: string, b: string, steps: Steps): Value {
  return steps.characters(a.length + b.length) ? a + b : TOO_MUCH_WORK;
}

export function size(text: string, steps: Steps): number | Failure {
  return steps.characters(text.length) ? codePoints(text) : TOO_MUCH_WORK;
}
