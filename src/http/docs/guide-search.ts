// Searches the documentation. Its sections, each from one heading to the next, are read once, when somebody searches for
// the first time. A search then looks at each of them once for each word.

import { nearest } from '../../core/text/did-you-mean.ts';
import { type Html, html } from '../serving/page.ts';

/** A section as it is searched. */
interface Section {
  page: string;
  id: string;
  title: string;
  heading: string;
  text: string;
  /** Title, heading and text in lower case. */
  lower: readonly [title: string, heading: string, text: string];
}

export interface Found {
  page: string;
  id: string;
  title: string;
  heading: string;
  excerpt: Html;
}

export const MAX_QUERY = 200;
const MAX_WORDS = 8;
const MAX_FOUND = 20;
const BEFORE = 80;
const EXCERPT = 260;
const HEADING_WORD = /[\p{L}\p{N}]{3,}/gu;

/** The sections of a page that was rendered. It begins with its title. */
export function sectionsOf(page: string, body: Html): Section[] {
  const parts = body.markup.split(/(?=<h[1-6] id=")/);
  const [, , title] = headed(parts[0] ?? '');
  return parts.map(part => {
    const [id, text, heading] = headed(part);
    const lower = [title.toLowerCase(), heading.toLowerCase(), text.toLowerCase()] as const;
    return { page, id, title, heading, text, lower };
  });
}

function headed(part: string): [id: string, text: string, heading: string] {
  const [whole = '', id = '', heading = ''] = /^<h\d id="([^"]*)">(.*?)<\/h\d>/s.exec(part) ?? [];
  return [id, plain(part.slice(whole.length)), plain(heading)];
}

const CHARACTERS: Record<string, string> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&#96;': '`',
};

function plain(markup: string): string {
  return markup
    .replace(/<\/(?:p|li|td|th|tr|pre|h\d)>/g, ' ')
    .replace(/<[^>]*>/g, '')
    .replace(/&[#\w]+;/g, found => CHARACTERS[found] ?? found)
    .replace(/\s+/g, ' ')
    .trim();
}

export function wordsOf(query: string): string[] {
  const words = query.slice(0, MAX_QUERY).toLowerCase().split(/\s+/).filter(Boolean);
  return [...new Set(words)].slice(0, MAX_WORDS);
}

/** The sections that have all words, the best first. */
export function search(sections: readonly Section[], words: readonly string[]): Found[] {
  if (words.length === 0) return [];
  return sections
    .map(section => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_FOUND)
    .map(({ section }) => found(section, words));
}

/**
 * The same words, with each that no section has replaced by one of the headings that is close to it; null if that finds
 * nothing either. Headings have few words, so such a search costs little even if strangers mistype on purpose.
 */
export function meantWords(sections: readonly Section[], words: readonly string[]): string[] | null {
  const known = new Set(
    sections.flatMap(({ lower: [title, heading] }) => `${title} ${heading}`.match(HEADING_WORD) ?? []),
  );
  const isAnywhere = (word: string) => sections.some(section => scoreOf(section, [word]) > 0);
  const meant = words.map(word => (isAnywhere(word) ? word : nearest(word, known)));
  return !meant.includes('') && search(sections, meant).length > 0 ? meant : null;
}

/** A word in the heading counts most, then one in the title of the page; 0 if a word is missing. */
function scoreOf({ lower: [title, heading, text] }: Section, words: readonly string[]): number {
  let score = 0;
  for (const word of words) {
    const counted = (has(heading, word) ? 8 : 0) + (has(title, word) ? 5 : 0) + (has(text, word) ? 1 : 0);
    if (counted === 0) return 0;
    score += counted;
  }
  return score;
}

const has = (text: string, word: string): boolean => placeOf(text, word) >= 0;

/** Where a word of the text begins with this one: “per” is not searched for in “operator”. */
function placeOf(text: string, word: string): number {
  let place = text.indexOf(word);
  while (place > 0 && goesOn(text.charCodeAt(place - 1))) place = text.indexOf(word, place + 1);
  return place;
}

/** Whether a character in lower case is a letter or a digit; all that are not ASCII count as letters. */
const goesOn = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || code > 127;

function found({ page, id, title, heading, text, lower }: Section, words: readonly string[]): Found {
  return { page, id, title, heading, excerpt: excerptOf(text, lower[2], words) };
}

const beginning = (word: string): string => `(?<![\\p{L}\\p{N}])${RegExp.escape(word)}`;

function excerptOf(text: string, lower: string, words: readonly string[]): Html {
  const any = new RegExp(`(${words.map(beginning).join('|')})`, 'iu');
  const places = words.map(word => placeOf(lower, word)).filter(place => place >= 0);
  const first = Math.min(...places, text.length);
  const from = first <= BEFORE || places.length === 0 ? 0 : text.indexOf(' ', first - BEFORE) + 1;
  const space = text.lastIndexOf(' ', from + EXCERPT);
  const to = from + EXCERPT < text.length && space > from ? space : from + EXCERPT;
  const parts = text.slice(from, to).split(any);
  const marked = parts.map((part, index) => (index % 2 === 1 ? html`<mark>${part}</mark>` : part));
  return html`${from > 0 ? '… ' : ''}${marked}${to < text.length ? ' …' : ''}`;
}
