// The text of a definition for people who look at it: characters that are not seen, or pass for others, stand apart, so
// that a page can draw a box for each. Line breaks, tabs and what belongs to an emoji stay as they are (hidden.ts).

import { visible, writtenOut } from '../text/visible.ts';
import { isHonest } from './hidden.ts';
import { codePoint } from './quoted.ts';

/** What is seen as it is, or what stands for one or more characters that are not: their names and how many they are. */
export type Part = string | { names: string[]; count: number };

/** The most characters in a row that are named. */
const MOST_NAMED = 8;
/** The same as a line break for a reader. */
const BREAK = /\r\n?/g;

export function partsOf(given: string): Part[] {
  const text = given.replace(BREAK, '\n');
  const parts: Part[] = [];
  let from = 0;
  for (const piece of text.split(/([\n\t]+)/)) {
    addParts(parts, piece, text, from);
    from += piece.length;
  }
  return parts;
}

/** `visible` writes a character out or leaves it, so both texts are walked through together. */
function addParts(parts: Part[], piece: string, text: string, from: number): void {
  const shown = /^[\n\t]/.test(piece) ? piece : visible(piece);
  let at = 0;
  let passed = 0;
  for (const character of piece) {
    const isShown = shown.startsWith(character, at);
    at += (isShown ? character : writtenOut(character)).length;
    if (isShown || isHonest(character, text, from + passed)) addSeen(parts, character);
    else addUnseen(parts, character);
    passed += character.length;
  }
}

function addSeen(parts: Part[], character: string): void {
  const last = parts.at(-1);
  if (typeof last === 'string') parts[parts.length - 1] = last + character;
  else parts.push(character);
}

function addUnseen(parts: Part[], character: string): void {
  const last = parts.at(-1);
  if (last === undefined || typeof last === 'string') parts.push({ names: [codePoint(character)], count: 1 });
  else {
    if (last.names.length < MOST_NAMED) last.names.push(codePoint(character));
    last.count++;
  }
}
