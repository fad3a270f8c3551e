// Pieces of a stranger's text in a sentence for people: short, in quotation marks, and without anything that is not seen.

import { visible } from '../text/visible.ts';

const MAX_QUOTED = 140;

/** The beginning of the text, in which misleading characters are written out. */
export function quoted(text: string): string {
  const cut = cutAt(text, MAX_QUOTED);
  return `"${written(cut, character => visible(character) === character)}${cut === text ? '' : '…'}"`;
}

/** The same with everything written out that is not ASCII, for texts that look like others. */
export function quotedAscii(text: string): string {
  const cut = cutAt(text, MAX_QUOTED);
  return `"${written(cut, () => false)}${cut === text ? '' : '…'}"`;
}

function written(text: string, isPlain: (character: string) => boolean): string {
  return text.replace(/[^\x20-\x7e]/gu, character =>
    isPlain(character) ? character : `[${codePoint(character)}]`,
  );
}

/** The code point as Unicode writes it, such as U+200B. */
export function codePoint(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** A character with its code point; the end of a text has none. */
export function spelledOut(character: string | undefined): string {
  if (character === undefined) return 'missing';
  return /^[!-~]$/.test(character) ? `${character} (${codePoint(character)})` : codePoint(character);
}

/** At most so many UTF-16 units, without half a pair at the end. */
function cutAt(text: string, units: number): string {
  if (text.length <= units) return text;
  return text.slice(0, units).replace(/[\uD800-\uDBFF]$/, '');
}
