// Numbers that people write in groups: how far one goes, digit by digit, and what may stand between two groups.

import { isDigit } from './edges.ts';

const SPACE = 0x20;
const HYPHEN = 0x2d;
const PLUS = 0x2b;
const NO_BREAK = 0xa0;
const NARROW_NO_BREAK = 0x202f;

/**
 * How many characters of a text divide two groups at a place: a blank, a hyphen, or the `+` and `%20` that stand for a blank
 * in an address; 0 if nothing of this is there.
 */
export function dividerAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit === SPACE || unit === HYPHEN || unit === PLUS || unit === NO_BREAK || unit === NARROW_NO_BREAK)
    return 1;
  return unit === 0x25 && text.startsWith('%20', at) ? 3 : 0;
}

/** Groups of digits, with at most one divider between two of them. */
export interface Groups {
  readonly digits: string;
  /** After how many digits each group ends, and where in the text. */
  readonly ends: readonly { readonly count: number; readonly at: number }[];
}

/** The groups of digits that begin at a place, up to so many digits. */
export function groupsAt(text: string, from: number, most: number): Groups {
  let digits = '';
  const ends: { count: number; at: number }[] = [];
  let at = from;
  while (digits.length <= most) {
    const start = at;
    while (digits.length <= most && isDigit(text.charCodeAt(at))) digits += text[at++];
    if (at === start) break;
    ends.push({ count: digits.length, at });
    at += dividerAt(text, at);
  }
  return { digits, ends };
}
