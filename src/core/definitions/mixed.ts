// Words whose letters are of several scripts, such as a Latin word with a Cyrillic letter in it. Scripts that are written
// without spaces between words stand beside others in what looks like one word, and are honest there.

import type { Finder } from './finding.ts';
import { withoutUnseen } from './hidden.ts';
import { placeName, pointerTo } from './places.ts';
import { quotedAscii } from './quoted.ts';

/** The scripts of living languages, the likeliest first, and those whose letters look like theirs. */
const SCRIPTS = [
  'Latin',
  'Cyrillic',
  'Greek',
  'Arabic',
  'Hebrew',
  'Devanagari',
  'Armenian',
  'Georgian',
  'Bengali',
  'Gurmukhi',
  'Gujarati',
  'Oriya',
  'Tamil',
  'Telugu',
  'Kannada',
  'Malayalam',
  'Sinhala',
  'Ethiopic',
  'Cherokee',
  'Coptic',
  'Lisu',
  'Deseret',
  'Osage',
  'Gothic',
  'Canadian_Aboriginal',
  'Tifinagh',
  'Nko',
  'Vai',
  'Thaana',
  'Syriac',
  'Mongolian',
] as const;

const TESTS = SCRIPTS.map(script => new RegExp(`\\p{Script=${script}}`, 'u'));
/** Belongs to no script, or to one that is written without spaces. */
const ANYWHERE =
  /\p{Script=Common}|\p{Script=Inherited}|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Bopomofo}|\p{Script=Hangul}|\p{Script=Yi}|\p{Script=Thai}|\p{Script=Lao}|\p{Script=Khmer}|\p{Script=Myanmar}|\p{Script=Tibetan}/u;
/** Greek letters that are signs of mathematics and physics in words of other scripts, as in kΩ and μs. */
const SIGN = /[βγδζηθλμπσφψωΓΔΘΛΞΠΣΦΨΩ\u2126]/u;

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const PLAIN = /^[\p{ASCII}]*$/u;

export const mixedIn: Finder = function* ({ places }) {
  for (const place of places) {
    if (PLAIN.test(place.text)) continue;
    const mixed = mixedWords(withoutUnseen(place.text));
    const [first] = mixed;
    if (first === undefined) continue;
    const more = mixed.length > 1 ? `, and so are ${mixed.length - 1} more` : '';
    const what = `the word ${quotedAscii(first)}, whose letters are of several scripts${more}`;
    yield () => ({ where: pointerTo(place), text: `${placeName(place)} has ${what}.` });
  }
};

function mixedWords(text: string): string[] {
  return (text.match(WORD) ?? []).filter(word => !PLAIN.test(word) && isMixed(word));
}

function isMixed(word: string): boolean {
  let first = NONE;
  for (const letter of word) {
    const script = scriptOf(letter);
    if (script === NONE || script === first) continue;
    if (first !== NONE) return true;
    first = script;
  }
  return false;
}

const UNKNOWN = 0;
const NONE = 1;
const OTHER = 2;
/** The scripts of the code points that were met so far, because testing for each script takes some microseconds. */
const met = new Uint8Array(0x20000);

function scriptOf(letter: string): number {
  const point = letter.codePointAt(0)!;
  if (point >= met.length) return NONE;
  if (met[point] === UNKNOWN) met[point] = readScript(letter);
  return met[point]!;
}

function readScript(letter: string): number {
  if (SIGN.test(letter) || ANYWHERE.test(letter)) return NONE;
  const script = TESTS.findIndex(test => test.test(letter));
  return script < 0 ? OTHER : OTHER + 1 + script;
}
