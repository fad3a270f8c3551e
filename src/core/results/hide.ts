// Replaces finds in a text, and cuts a text that is too long.

import type { Find } from '../detectors/find.ts';
import { utf8Length } from '../text/text-length.ts';

/** Finds of one name in a text. */
export interface NamedFinds {
  readonly name: string;
  readonly finds: readonly Find[];
}

/** What stands in a text in place of a find. */
interface Placeholder {
  from: number;
  to: number;
  readonly name: string;
}

/** A text in pieces: a placeholder is never cut apart. */
type Piece = { readonly text: string; readonly whole: boolean };

/** Where finds overlap, one placeholder stands for all of them, with the name of the one that begins first. */
function placeholders(found: readonly NamedFinds[]): Placeholder[] {
  const all = found.flatMap(({ name, finds }) => finds.map(({ from, to }) => ({ from, to, name })));
  all.sort((a, b) => a.from - b.from);
  const merged: Placeholder[] = [];
  for (const each of all) {
    const last = merged.at(-1);
    if (last !== undefined && each.from < last.to) last.to = Math.max(last.to, each.to);
    else merged.push(each);
  }
  return merged;
}

export interface Guarded {
  readonly text: string;
  /** The names of the placeholders in it, one for each. */
  readonly hidden: readonly string[];
  readonly cut: boolean;
}

/** The text without what was found, and of at most so many bytes. */
export function guardText(text: string, found: readonly NamedFinds[], atMost: number | null): Guarded {
  const hidden = placeholders(found);
  const pieces: Piece[] = [];
  let at = 0;
  for (const { from, to, name } of hidden) {
    pieces.push({ text: text.slice(at, from), whole: false }, { text: `[hidden: ${name}]`, whole: true });
    at = to;
  }
  pieces.push({ text: text.slice(at), whole: false });
  const names = hidden.map(({ name }) => name);
  const without = pieces.map(each => each.text).join('');
  // A text that is short enough in any case need not be measured.
  if (atMost === null || 3 * without.length <= atMost) return { text: without, hidden: names, cut: false };
  const size = utf8Length(without);
  if (size <= atMost) return { text: without, hidden: names, cut: false };
  const kept = cutPieces(pieces, atMost);
  const left = size - utf8Length(kept);
  return { text: `${kept}[cut: ${left} of ${size} bytes left out]`, hidden: names, cut: true };
}

function cutPieces(pieces: readonly Piece[], atMost: number): string {
  let kept = '';
  let room = atMost;
  for (const { text, whole } of pieces) {
    const size = utf8Length(text);
    if (size > room) return whole ? kept : kept + cutText(text, room);
    kept += text;
    room -= size;
  }
  return kept;
}

/** As many whole characters as have room. */
function cutText(text: string, room: number): string {
  let end = 0;
  for (let left = room; end < text.length; ) {
    const rune = text.codePointAt(end) as number;
    left -= rune < 0x80 ? 1 : rune < 0x800 ? 2 : rune < 0x10000 ? 3 : 4;
    if (left < 0) break;
    end += rune < 0x10000 ? 1 : 2;
  }
  return text.slice(0, end);
}
