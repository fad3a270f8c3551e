// One word of a text, and the form in which it is compared: after NFKC, case folding, and without the punctuation around
// it. Words are equal only if they name the same place: letters of other scripts that look alike stay different, and so
// do ı and i, and, in addresses, ß and ss and the two small sigmas, because `faß.de` and `fass.de` are different hosts.
//
// Characters that show nothing are dropped around a word, like punctuation, because they come along when somebody copies
// it. Within a word they stay, so that it equals no word without them, and they never part a word in two. Those that
// change the shape of their neighbours (joiners, variation selectors, tags of flags) stay everywhere.

import { LONGEST, SHORTEST } from '../condition/known.ts';
import { codePoints } from '../text/text-length.ts';

export interface Word {
  /** As it stands in the text, without the punctuation around it. */
  written: string;
  /** The character directly before it: punctuation that was dropped, or nothing. */
  before: string;
  /** As it is compared: '' for nothing but punctuation, null for one that nobody can ask about, alone or with its neighbours. */
  form: string | null;
  /**
   * The same with what stands directly before it, if that may be the begin of an address or a path: `../notes` is another
   * place than `notes`. Null if nothing of the kind stands there.
   */
  led: string | null;
  /**
   * The same with all around it that makes an address or a path another one, as in `*bob@x.org` and `/srv/notes/..`. A text
   * names all three, a value is this one. Null if nobody can ask about it.
   */
  whole: string | null;
  /** How many characters of the text had to be looked at for it. */
  length: number;
}

/** A stretch of characters without any white space of Unicode, as the no-break and the ideographic space are. */
const UNBROKEN = /\P{White_Space}+/gu;

const NOTHING: Word = { written: '', before: '', form: '', led: null, whole: '', length: 0 };
/** Longer than a URL with a signature in it: what is longer is not looked at. */
const MOST_READ = 16_384;
const TOO_LONG: Word = { ...NOTHING, form: null, whole: null };

/** The words of a text, in order, and a word without a form for what is nothing but punctuation. */
export function* wordsIn(text: string): Generator<Word> {
  for (const [found] of text.matchAll(UNBROKEN)) {
    if (found.length > MOST_READ) {
      yield TOO_LONG;
      continue;
    }
    const [start, end] = edgesOf(found);
    const written = found.slice(start, end);
    const form = formOf(written);
    const { length } = found;
    if (form === '') yield { ...NOTHING, length };
    else {
      const around = withDropped(found.slice(0, start), form, found.slice(end));
      yield { written, before: found[start - 1] ?? '', form, ...around, length };
    }
  }
}

/** What may begin an address or a path, and from where on something before one makes it another one. */
const LEADING = /[-_+.~/\\]+$/;
const BEFORE = /[-_+.~/\\*%@$#&=^|].*$/;
/** Up to where something behind one does. A slash alone does not, nor does what ends a sentence. */
const BEHIND = /^.*(?:[-_+~*%@$#&=^|]|[/\\]\.+)/;

function withDropped(before: string, form: string | null, behind: string): Pick<Word, 'led' | 'whole'> {
  if (before === '' && behind === '') return { led: null, whole: form };
  if (form === null || before.length + behind.length > MOST_AROUND) return { led: null, whole: null };
  const lead = BEFORE.exec(visible(before))?.[0] ?? '';
  const trail = BEHIND.exec(visible(behind))?.[0] ?? '';
  const near = LEADING.exec(lead)?.[0] ?? '';
  const isAddress = ADDRESS.test(form);
  return {
    led: near !== '' && (isAddress || /[/\\~]/.test(near)) ? upToMost(near + form) : null,
    whole: isAddress || /[/\\~]/.test(lead) || /[/\\]/.test(trail) ? upToMost(lead + form + trail) : form,
  };
}

/** With more characters around it than these, nothing is a name. */
const MOST_AROUND = 64;

/** Of what is dropped, the characters that file systems and mail servers understand, also if they were written in full width. */
const visible = (dropped: string): string =>
  dropped === '' ? '' : dropped.normalize('NFKC').replace(/[^!-~]+/g, '');

const upToMost = (form: string): string | null => (codePoints(form) > LONGEST ? null : form);

/** Whether a form has as many characters as somebody can ask about. */
export function canBeAsked(form: string): boolean {
  const count = codePoints(form);
  return count >= SHORTEST && count <= LONGEST;
}

const ASCII = /^[\x21-\x7e]*$/;
/**
 * Marks are sorted by NFKC, in quadratic time: 64 KiB of them took ten seconds. Unicode's Stream-Safe Text Format allows
 * 30 in a row. The last two characters become marks.
 */
const TOO_MANY_MARKS = /[\p{M}\uff9e\uff9f]{31}/u;

function formOf(written: string): string | null {
  const form = ASCII.test(written) ? written.toLowerCase() : normalForm(written);
  return form === null ? null : upToMost(form);
}

function normalForm(written: string): string | null {
  // Halves of characters would all have the same digest.
  if (!written.isWellFormed() || TOO_MANY_MARKS.test(written)) return null;
  const form = folded(written.normalize('NFKC')).normalize('NFKC');
  return form.slice(...edgesOf(form));
}

/** A mark of an address, a host or a path. */
const ADDRESS = /[.@:/\\]/;

/** Unicode's full case folding of a text in NFKC. JavaScript has none, but its capitals fold in the same way, except ı. */
function folded(text: string): string {
  const kept = ADDRESS.test(text) ? /[^ıßς]+/g : /[^ı]+/g;
  return text.replaceAll('ẞ', 'ß').replace(kept, part =>
    // A capital sigma at the end of a word would become another small one than elsewhere.
    part.toUpperCase().replaceAll('Σ', 'σ').toLowerCase(),
  );
}

/**
 * Punctuation, the signs of mathematics, currencies and accents, and characters that show nothing. To Unicode, a tone of
 * skin is such a sign too, but an emoji keeps it.
 */
const DROPPED =
  /(?!\p{Emoji_Modifier})[\p{P}\p{Sm}\p{Sc}\p{Sk}\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/u;
const MARK = /\p{M}/u;
/** The same of each character of ASCII, of which most words consist: a look-up takes a tenth of the time. */
const DROPPED_ASCII = Array.from({ length: 128 }, (_, code) => DROPPED.test(String.fromCharCode(code)));

const isDropped = (character: string): boolean =>
  DROPPED_ASCII[character.charCodeAt(0)] ?? DROPPED.test(character);
const isMark = (character: string): boolean => character.charCodeAt(0) > 127 && MARK.test(character);

/** Where a word begins and ends without the punctuation around it. Marks on punctuation are dropped with it. */
function edgesOf(text: string): [number, number] {
  let start = 0;
  for (let at = 0; at < text.length; ) {
    const character = String.fromCodePoint(text.codePointAt(at)!);
    if (!isDropped(character) && !(at > 0 && isMark(character))) break;
    at += character.length;
    start = at;
  }
  let end = text.length;
  for (let at = end; at > start; ) {
    const character = lastBefore(text, at);
    at -= character.length;
    if (isDropped(character)) end = at;
    else if (!isMark(character)) break;
  }
  return [start, end];
}

function lastBefore(text: string, at: number): string {
  const pair = text.slice(Math.max(0, at - 2), at);
  return pair.length === 2 && pair.codePointAt(0)! > 0xffff ? pair : pair.slice(-1);
}
