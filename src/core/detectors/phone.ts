// Telephone numbers as E.164 writes them: a `+`, the code of a country, and at most 15 digits in all; in one piece, or with
// blanks, hyphens, dots, slashes and brackets between groups.

import { closes, isDigit, opens } from './edges.ts';
import { type Find, matchesIn, whole } from './find.ts';

/** Codes that are assigned: https://www.itu.int/pub/T-SP-E.164D */
const CODES: ReadonlySet<string> = new Set(
  `1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 92
   93 94 95 98 211 212 213 216 218 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241
   242 243 244 245 246 247 248 249 250 251 252 253 254 255 256 257 258 260 261 262 263 264 265 266 267 268 269 290 291 297
   298 299 350 351 352 353 354 355 356 357 358 359 370 371 372 373 374 375 376 377 378 379 380 381 382 383 385 386 387 389
   420 421 423 500 501 502 503 504 505 506 507 508 509 590 591 592 593 594 595 596 597 598 599 670 672 673 674 675 676 677
   678 679 680 681 682 683 685 686 687 688 689 690 691 692 800 808 850 852 853 855 856 870 878 880 881 882 883 886 888 960
   961 962 963 964 965 966 967 968 970 971 972 973 974 975 976 977 979 992 993 994 995 996 998`.split(/\s+/),
);
const MOST_DIGITS = 15;
/** With the code of the country; shorter ones are more often other numbers. */
const LEAST_DIGITS = [11, 9, 8];
/** Of North America: the area and the office begin with 2 to 9. Of Russia and Kazakhstan: the area with 3 to 9. */
const PLANS: Readonly<Record<string, RegExp>> = { '1': /^1[2-9]\d\d[2-9]\d{6}$/, '7': /^7[3-9]\d{9}$/ };

const PLUS = /(?:\+|%2[Bb]|\\u002[Bb])(?=\(?[0-9])/g;
/** One blank stands between two groups, or signs such as `)`, with a blank on either side. */
const GROUP = /(?: ?[-./()]{1,2} ?|[ \u00a0\u202f]|%20)?([0-9]+)/y;
const MAX_GROUPS = 10;

export function findPhones(text: string, stretch = whole(text)): Find[] {
  const finds: Find[] = [];
  for (const { 0: plus, index } of matchesIn(text, PLUS, stretch)) {
    const last = finds.at(-1);
    if ((last !== undefined && index < last.to) || !opens(text, index)) continue;
    const to = phoneEnd(text, index + plus.length);
    if (to !== null) finds.push({ from: index, to });
  }
  return finds;
}

function phoneEnd(text: string, from: number): number | null {
  const groups: string[] = [];
  let end: number | null = null;
  let at = from;
  let digits = '';
  while (groups.length < MAX_GROUPS) {
    GROUP.lastIndex = at;
    const group = GROUP.exec(text)?.[1];
    if (group === undefined || digits.length + group.length > MOST_DIGITS) break;
    groups.push(group);
    digits += group;
    at = GROUP.lastIndex;
    if (isPhone(digits) && isWrittenLike(text.slice(from, at), groups) && endsHere(text, at)) end = at;
  }
  return end;
}

function isPhone(digits: string): boolean {
  const length = [1, 2, 3].find(each => CODES.has(digits.slice(0, each)));
  if (length === undefined || digits.length < (LEAST_DIGITS[length - 1] as number)) return false;
  return length > 1 || (PLANS[digits[0] as string] as RegExp).test(digits.replace(/^70(?=\d{10}$)/, '7'));
}

/** Whether a number is written as telephone numbers are: a single dot makes a fraction, and short groups a list. */
function isWrittenLike(written: string, groups: readonly string[]): boolean {
  if (/^[0-9]+\.[0-9]+$/.test(written)) return false;
  return groups.length < 3 || groups.length > 4 || groups.slice(1).some(each => each.length > 2);
}

/** An extension may follow at once: `x12`. */
const EXTENSION = /^(?:x|ext\.?)[0-9]/i;

function endsHere(text: string, at: number): boolean {
  if (EXTENSION.test(text.slice(at, at + 5))) return true;
  return closes(text, at) && text[at] !== '_' && !(text[at] === '.' && isDigit(text.charCodeAt(at + 1)));
}
