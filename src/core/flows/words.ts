// What a text makes known, and the form in which a value is compared with it: the words behind `known()` of conditions.
// A value is known if it is a stretch of 1 to 8 words of a text that somebody trusted wrote. Whoever compares has only
// digests of the forms (digests.ts), hence two values are equal exactly if their forms are.
//
// All of it takes time in proportion to the text, and little between two values that a generator yields, so that
// a caller can work in slices.

import { urlHost } from '../condition/url.ts';
import { isIban } from '../text/iban.ts';
import { readDecimal } from '../wire/decimal.ts';
import { ExactNumber } from '../wire/exact-number.ts';
import { type Json, parseJson } from '../wire/json.ts';
import { canBeAsked, type Word, wordsIn } from './word.ts';

/** How many values can be known in a run. */
export const MAX_KNOWN = 65_536;

const MOST_WORDS = 8;
/** An IBAN of 34 characters in groups of four. */
const MOST_IBAN_WORDS = 9;

/** The form in which a value is compared; null for one that no text makes known: without words, too short or too long. */
export function comparable(value: string): string | null {
  return PLAIN.test(value) && canBeAsked(value) ? withoutBlanks(value.toLowerCase()) : formOf(value);
}

/**
 * What most values are: up to 8 words of ASCII with a blank between them and nothing around them that is dropped. To find
 * their form takes a tenth of the time that other values take.
 */
const PLAIN = /^[a-z0-9](?:[!-~]*[a-z0-9])?(?: [a-z0-9](?:[!-~]*[a-z0-9])?){0,7}$/i;

function withoutBlanks(form: string): string {
  const joined = form.replaceAll(' ', '');
  return isIban(joined) ? joined : form;
}

/** The same for any value. */
export function formOf(value: string): string | null {
  const forms: string[] = [];
  for (const { whole } of wordsIn(value)) {
    if (whole === null || (whole !== '' && forms.push(whole) > MOST_IBAN_WORDS)) return null;
  }
  return stretchForm(forms);
}

/** The form of words in a row. Blanks in an IBAN are not compared. */
function stretchForm(forms: readonly string[]): string | null {
  const joined = forms.join('');
  if (isIban(joined)) return joined;
  const form = forms.join(' ');
  return forms.length <= MOST_WORDS && canBeAsked(form) ? form : null;
}

/** The form in which a value is compared that a condition asks about; null for one that nothing makes known. */
export const formFor = (kind: 'text' | 'number', written: string): string | null =>
  kind === 'text' ? comparable(written) : comparableNumber(written);

/** No word has a tab in it. */
const NUMBER = 'number\t';

/**
 * The form in which a number is compared, which no text has: decimal and exact, so that 98.70 is 98.7. Takes what
 * conditions have as numbers; a text is the number as JSON writes it.
 */
export function comparableNumber(value: number | bigint | string): string {
  const text = String(value);
  const read = readDecimal(text);
  if (read?.digits === 0n) return `${NUMBER}0`;
  // NaN, and numbers with more digits than anybody reads, are compared as they are written.
  if (read === null || !Number.isSafeInteger(read.exponent)) return NUMBER + text;
  return `${NUMBER}${read.digits}e${read.exponent}`;
}

/**
 * What a text, or any other JSON value, makes known, each as it is compared: the single words of all strings in it and its
 * numbers first, then stretches of 2 to 8 words. A string that is a JSON object or list is read as JSON. The names in
 * objects make nothing known. Values may repeat. Between them stands '', which is no value, once for each word and for each 64
 * characters of a long one, so that whoever works in slices can stop also where nothing is named.
 */
export function* namedIn(value: Json): Generator<string> {
  for (const part of partsOf(value)) {
    if (typeof part === 'string') yield* singlesIn(part);
    else yield comparableNumber(part instanceof ExactNumber ? part.text : part);
  }
  for (const part of partsOf(value)) if (typeof part === 'string') yield* stretchesIn(part);
}

/** The texts and numbers in a value, in order. */
function* partsOf(value: Json): Generator<string | number | ExactNumber> {
  if (typeof value === 'string') {
    const read = jsonIn(value);
    if (read === null) yield value;
    else yield* partsOf(read);
  } else if (typeof value === 'number' || value instanceof ExactNumber) yield value;
  else if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) yield* partsOf(each);
}

/** How a JSON object or list begins. An exception for each text that begins with a bracket would take long. */
const BEGINS_JSON = /^[ \t\r\n]*(?:\{[ \t\r\n]*["}]|\[[ \t\r\n]*["[\]{0-9tfn-])/;

/** The JSON object or list that a text is, or null. */
function jsonIn(text: string): Json {
  if (!BEGINS_JSON.test(text)) return null;
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

const PAUSE = 64;

function* pauses({ length }: Word): Generator<string> {
  for (let at = 0; at <= length; at += PAUSE) yield '';
}

/** What single words make known: themselves, the host of a URL, and the number that a word is. */
function* singlesIn(text: string): Generator<string> {
  for (const word of wordsIn(text)) {
    yield* pauses(word);
    const host = hostOf(word);
    if (host !== null) yield host;
    const { form, led, whole } = word;
    if (form === null) continue;
    if (canBeAsked(form)) yield form;
    if (led !== null && canBeAsked(led)) yield led;
    if (whole !== null && whole !== form && whole !== led && canBeAsked(whole)) yield whole;
    const number = numberOf(word);
    if (number !== null) yield comparableNumber(number);
  }
}

/** The form of a URL's host. The URL may be longer than anybody can ask about, as signed ones are. */
function hostOf({ written }: Word): string | null {
  const host = written.includes('://') ? urlHost(written) : null;
  return host === null ? null : comparable(host);
}

const JSON_NUMBER = /^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/** The number that a word is, with the minus before it. A point, a comma or another minus makes it another number. */
function numberOf({ written, before }: Word): string | null {
  if (!JSON_NUMBER.test(written) || /[.,\u2212]/.test(before)) return null;
  return before === '-' ? `-${written}` : written;
}

/** What stretches of several words make known. */
function* stretchesIn(text: string): Generator<string> {
  let last: Named[] = [];
  for (const word of wordsIn(text)) {
    yield* pauses(word);
    const { form, led, whole } = word;
    if (form === '') continue;
    // A word that nobody can ask about parts what is before it from what is after it.
    last = form === null ? [] : [...last.slice(1 - MOST_IBAN_WORDS), { form, led, whole }];
    for (let from = last.length - 2; from >= 0; from--) {
      const words = last.slice(from);
      const stretch = stretchForm(words.map(word => word.form));
      if (stretch !== null) yield stretch;
      // Where nothing stands around a word, all three are the same.
      if (words.every(word => word.whole === word.form)) continue;
      const led = stretchForm(words.map(word => word.led ?? word.form));
      if (led !== null && led !== stretch) yield led;
      const whole = stretchForm(words.map(word => word.whole ?? word.form));
      if (whole !== null && whole !== stretch && whole !== led) yield whole;
    }
  }
}

type Named = { form: string; led: string | null; whole: string | null };
