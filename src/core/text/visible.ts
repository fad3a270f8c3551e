// Makes text from outside safe to read. An agent chooses names that an approver reads, and may try to hide or reorder
// parts of them, or to pass a letter of one script for that of another (mixed-scripts.ts).

import { withoutMixedScripts } from './mixed-scripts.ts';

// Besides control and format characters (bidirectional and zero-width ones among them), these are all other code points
// that show nothing (fillers, variation selectors, the Braille blank), all spaces except the plain one, line
// separators, private-use code points and lone surrogates.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** The text with all invisible or misleading characters written out, like `\u{202E}`. */
export function visible(text: string): string {
  return withoutMixedScripts(text, writtenOut).replace(UNSEEN, writtenOut);
}

/** A character as `visible` writes it. */
export function writtenOut(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `\\u{${hex}}`;
}

/** The most line breaks of a value that are kept: more of them could push what stands below it out of sight. */
export const MOST_BREAKS = 20;

/** The same for values of several lines: up to so many line breaks stay. */
export function visibleLines(text: string, breaks = MOST_BREAKS): string {
  const lines = text.split('\n');
  const rest = lines.slice(breaks).join('\n');
  return [...lines.slice(0, breaks), ...(lines.length > breaks ? [rest] : [])].map(visible).join('\n');
}

/** JSON in which invisible characters are escaped; it reads back as the same value. */
export function safeJson(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(/[^\x20-\x7e\n]/gu, each =>
    visible(each) === each ? each : escaped(each),
  );
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map(unit => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
