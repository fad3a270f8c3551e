// Texts that address the model, by the phrases of phrases.ts. That is a hint and no proof: honest descriptions use some
// of them, and who knows the list can avoid it.

import type { Finder } from './finding.ts';
import { withoutUnseen } from './hidden.ts';
import { JoinedTexts } from './joined-texts.ts';
import { GROUPS } from './phrases.ts';
import { type Place, placeName, pointerTo } from './places.ts';
import { quoted } from './quoted.ts';

/** How many words `…` may stand for. */
const MAX_GAP = 5;

interface Step {
  /** The number of its phrase, and its place in it. */
  phrase: number;
  at: number;
  isLast: boolean;
  /** How many words further than the step before it may stand. */
  reach: number;
}

const PHRASES = GROUPS.flatMap(({ does, phrases }) => phrases.map(phrase => ({ does, phrase })));
const LITERALS = GROUPS.flatMap(({ does, literals = [] }) => literals.map(literal => ({ does, literal })));
const STEPS = stepsByWord();
const MOST_STEPS = 12;

/** For each word, the steps of phrases that it can be; of one phrase the last step first. */
function stepsByWord(): Map<string, Step[]> {
  const steps = new Map<string, Step[]>();
  for (const [phrase, { phrase: text }] of PHRASES.entries()) {
    const parts = text.split(' ').filter(part => part !== '…');
    let rest = text.split(' ');
    for (const [at, part] of parts.entries()) {
      const reach = rest[0] === '…' ? MAX_GAP + 1 : 1;
      rest = rest.slice(rest.indexOf(part) + 1);
      const step = { phrase, at, isLast: at === parts.length - 1, reach };
      for (const word of part.split('|')) steps.set(word, [step, ...(steps.get(word) ?? [])]);
    }
  }
  return steps;
}

export const instructsIn: Finder = function* ({ places }) {
  const readable = places.filter(place => place.text.length >= SHORTEST).map(seen);
  yield* literalsIn(readable);
  for (const place of readable)
    for (const [does, words] of phrasesIn(place)) yield () => finding(place, does, words);
};

/** The fewest characters of anything that is sought. */
const SHORTEST = 4;

/** The place with its text as a reader sees it. */
const seen = (place: Place): Place => {
  const text = withoutUnseen(place.text);
  return text === place.text ? place : { ...place, text };
};

const finding = (place: Place, does: string, words: string) => ({
  where: pointerTo(place),
  text: `${placeName(place)} ${does}, as far as its words tell: ${quoted(words)}.`,
});

/** The most places of one literal text that are told. */
const MAX_LITERALS = 5;

function* literalsIn(places: readonly Place[]): ReturnType<Finder> {
  const texts = new JoinedTexts(places);
  for (const { does, literal } of LITERALS) {
    let count = 0;
    for (const at of texts.find(literal)) {
      if (++count > MAX_LITERALS) break;
      const [words = ''] = texts.slice(at, at + 60).split('\n');
      yield () => finding(texts.placeAt(at), does, words);
    }
  }
}

const WORD = /[\p{L}\p{N}]+(?:['’][\p{L}]+)?/gu;

/**
 * What the text says, and in which words, once for each group of phrases. For each phrase it is kept where its steps were
 * reached last, so every word is looked at once, however the text is made. The latest place is always the best one,
 * because steps have only to be near enough.
 */
function phrasesIn({ text, isName }: Place): Map<string, string> {
  const plain = isName ? text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2') : text;
  const reached = new Map<number, Reached>();
  const found = new Map<string, string>();
  let number = 0;
  for (const { 0: word, index } of plain.replaceAll('_', ' ').matchAll(WORD)) {
    number++;
    for (const { phrase, at, isLast, reach } of STEPS.get(word.toLowerCase().replace('’', "'")) ?? []) {
      const before = at === 0 ? { number, index } : reached.get(phrase * MOST_STEPS + at - 1);
      if (before === undefined || (at > 0 && number - before.number > reach)) continue;
      reached.set(phrase * MOST_STEPS + at, { number, index: before.index });
      const { does } = PHRASES[phrase]!;
      if (isLast && !found.has(does)) found.set(does, plain.slice(before.index, index + word.length));
    }
  }
  return found;
}

interface Reached {
  number: number;
  /** Where the phrase began. */
  index: number;
}
