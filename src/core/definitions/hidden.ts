// Characters of a definition that people do not see, while models read them: control characters, bidirectional ones, tag
// characters and everything else that shows nothing. Line breaks, tabs, and what belongs to an emoji or to an ideograph
// are honest. Spaces of other widths count as spaces.

import type { JsonObject } from '../wire/json.ts';
import type { Finder } from './finding.ts';
import { type Place, placeName, placesOf, pointerTo } from './places.ts';
import { codePoint } from './quoted.ts';

/**
 * All that may show nothing. Unicode calls some signs formats that are shown, such as the Arabic number sign; the
 * Braille blank is called a symbol, and is empty, as are a head of a note, a filler of Khitan and two blanks of hieroglyphs.
 */
const UNSEEN =
  /(?![\t\n\r])\p{Cc}|(?![\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u{110BD}\u{110CD}])\p{Cf}|\p{Default_Ignorable_Code_Point}|\p{Cs}|[\u2800\u{1D159}\u{16FE4}\u{13441}\u{13442}]/gu;
const SOME_UNSEEN = new RegExp(UNSEEN.source, 'u');

/** What may stand before a character that is looked at: an emoji with its colour and selector, say. */
const BEFORE = 6;
const JOINED_BEFORE = /\p{Extended_Pictographic}(?:\uFE0F|\p{Emoji_Modifier})?$/u;
const JOINED_AFTER = /^\p{Extended_Pictographic}/u;
const KEYCAP_BEFORE = /[0-9#*]$/;
const EMOJI_BEFORE = /(?![0-9#*])\p{Emoji}$/u;
/** Ideographs and signs of mathematics have standard variations. The other 240 selectors can smuggle any byte. */
const VARIED_BEFORE = /[\p{Script=Han}\p{Sm}]$/u;

/**
 * More of those that could be honest than this are not honest any more: somebody writes a message with them. It bounds
 * the time that a hostile text takes.
 */
const MAX_LOOKED_AT = 1000;

/** Whether a definition has a text with hidden characters. */
export const hidesText = (definition: JsonObject): boolean => hidesIn(placesOf(definition));

export function hidesIn(places: readonly Place[]): boolean {
  return places.some(({ text }) => unseenIn(text, 1).length > 0);
}

export const hiddenIn: Finder = function* ({ places }) {
  for (const place of places) {
    if (!SOME_UNSEEN.test(place.text)) continue;
    const unseen = unseenIn(place.text, MAX_LOOKED_AT);
    if (unseen.length > 0) yield () => ({ where: pointerTo(place), text: told(place, unseen) });
  }
};

/** The text as a reader sees it. */
export function withoutUnseen(text: string): string {
  return SOME_UNSEEN.test(text) ? text.replace(UNSEEN, '') : text;
}

/** The hidden characters of a text, up to this number. */
function unseenIn(text: string, most: number): string[] {
  const unseen: string[] = [];
  if (!SOME_UNSEEN.test(text)) return unseen;
  let lookedAt = 0;
  for (const { 0: character, index } of text.matchAll(UNSEEN)) {
    if (++lookedAt <= MAX_LOOKED_AT && isHonest(character, text, index)) continue;
    unseen.push(character);
    if (unseen.length === most) break;
  }
  return unseen;
}

/** Whether a character that shows nothing by itself belongs to what stands around it in the text. */
export function isHonest(character: string, text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - BEFORE), at);
  const after = text.slice(at + character.length, at + character.length + 2);
  if (character === '\u200D') return JOINED_BEFORE.test(before) && JOINED_AFTER.test(after);
  if (character === '\uFE0F' && KEYCAP_BEFORE.test(before)) return after.startsWith('\u20E3');
  if (character === '\uFE0E' || character === '\uFE0F') return EMOJI_BEFORE.test(before);
  return /^[\uFE00-\uFE02]$/.test(character) && VARIED_BEFORE.test(before);
}

/** The most different characters, and the most of a message in tag characters, that are told. */
const MAX_TOLD = 8;
const MAX_SPELLED = 200;

function told(place: Place, unseen: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const character of unseen) counts.set(character, (counts.get(character) ?? 0) + 1);
  const some = [...counts]
    .slice(0, MAX_TOLD)
    .map(([character, count]) => codePoint(character) + times(count));
  const others = counts.size - some.length;
  const which = `${some.join(', ')}${others > 0 ? ` and ${others} others` : ''}`;
  const least = unseen.length === MAX_LOOKED_AT ? 'at least ' : '';
  const how = unseen.length === 1 ? 'a character that is' : `${least}${unseen.length} characters that are`;
  return `${placeName(place)} contains ${how} not shown: ${which}.${spelled(unseen)}`;
}

const times = (count: number) => (count === 1 ? '' : ` (${count} times)`);

/** Tag characters are ASCII once more, unseen, and models read them. */
function spelled(unseen: readonly string[]): string {
  const letters = unseen
    .map(character => character.codePointAt(0)! - 0xe0000)
    .filter(point => point >= 0x20 && point < 0x7f)
    .map(point => String.fromCharCode(point));
  if (letters.length === 0) return '';
  const message = letters.slice(0, MAX_SPELLED).join('');
  return ` In tag characters it says ${JSON.stringify(message)}${letters.length > MAX_SPELLED ? ' and more' : ''}.`;
}
