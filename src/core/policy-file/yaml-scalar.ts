// Finds the place in a YAML text at which a character of a scalar is written: in a plain scalar, in quotes with their
// escapes, or in a block, over several lines too.

import type { Scalar } from 'yaml';

const BLANK = /[ \t\r\n]/;

/**
 * The offset in the text of the character at an offset of the scalar's value. YAML folds and trims blanks in many ways but
 * keeps every other character in its order, so those are counted.
 */
export function placeInScalar(text: string, scalar: Scalar, offset: number): number {
  const value = String(scalar.value);
  const at = Math.min(offset, value.length);
  let wanted = 0;
  for (let unit = 0; unit < at; unit++) if (!isBlank(value, unit)) wanted++;
  let blanks = 0;
  while (blanks < at && isBlank(value, at - 1 - blanks)) blanks++;
  const written = unitsOf(text, scalar);
  if (at < value.length && !isBlank(value, at)) return written[wanted]?.begin ?? start(scalar);
  // A blank, or the end: it stands behind the character before it.
  const before = written[wanted - 1]?.end ?? written[0]?.begin ?? start(scalar);
  return at < value.length ? before + blanks : before;
}

const isBlank = (text: string, at: number): boolean => BLANK.test(text.charAt(at));
const start = (scalar: Scalar): number => scalar.range?.[0] ?? 0;

/** Where a UTF-16 unit of the value, which is no blank, is written. */
interface Unit {
  begin: number;
  end: number;
}

function unitsOf(text: string, scalar: Scalar): Unit[] {
  const [begin, end] = scalar.range ?? [0, 0];
  switch (scalar.type) {
    case 'QUOTE_DOUBLE':
      return pieces(text, begin + 1, end - 1, /\\(?:x.{2}|u.{4}|U.{8}|\r\n|.)|./gs).flatMap(unescaped);
    case 'QUOTE_SINGLE':
      return pieces(text, begin + 1, end - 1, /''|./gs).flatMap(plain);
    case 'BLOCK_LITERAL':
    case 'BLOCK_FOLDED':
      // The first line has the header, and perhaps a comment.
      return pieces(text, text.indexOf('\n', begin) + 1, end, /./gs).flatMap(plain);
    default:
      return pieces(text, begin, end, /./gs).flatMap(plain);
  }
}

type Piece = Unit & { text: string };

function pieces(text: string, begin: number, end: number, form: RegExp): Piece[] {
  return Array.from(text.slice(begin, end).matchAll(form), ({ 0: found, index }) => ({
    text: found,
    begin: begin + index,
    end: begin + index + found.length,
  }));
}

function plain(piece: Piece): Unit[] {
  return BLANK.test(piece.text) ? [] : [piece];
}

/** `\t`, `\n` and the like are blanks in the value, and a line break behind a backslash is not in the value at all. */
function unescaped(piece: Piece): Unit[] {
  const { text } = piece;
  if (!text.startsWith('\\')) return plain(piece);
  const code = /^\\[xuU](.+)$/.exec(text)?.[1];
  if (code === undefined) return /^\\[tnr \t\r\n]/.test(text) ? [] : [piece];
  const value = String.fromCodePoint(Number.parseInt(code, 16));
  return BLANK.test(value) ? [] : Array.from({ length: value.length }, () => piece);
}
