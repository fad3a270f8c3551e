// Numbers of payment cards (ISO/IEC 7812): 13 to 19 digits of a known issuer, with the check digit of Luhn; in one piece, or
// in the groups in which they are printed.

import { dividerAt, type Groups, groupsAt } from './digits.ts';
import { isDigit, isLetterOrDigit, numberStart, opens } from './edges.ts';
import { type Find, whole } from './find.ts';

interface Issuer {
  /** Which numbers are the issuer's, by their first digits: from and to. */
  readonly from: string;
  readonly to: string;
  readonly lengths: readonly number[];
}

const LONG = [16, 17, 18, 19];

/** https://en.wikipedia.org/wiki/Payment_card_number#Issuer_identification_number_(IIN) */
const ISSUERS: readonly Issuer[] = (
  [
    ['4', '4', [13, 16, 18, 19]], // Visa
    ['51', '55', [16]], // Mastercard
    ['2221', '2720', [16]],
    ['34', '34', [15]], // American Express
    ['37', '37', [15]],
    ['300', '305', [14, ...LONG]], // Diners Club
    ['3095', '3095', [14, ...LONG]],
    ['36', '36', [14, ...LONG]],
    ['38', '39', [14, ...LONG]],
    ['6011', '6011', LONG], // Discover
    ['622126', '622925', LONG],
    ['644', '649', LONG],
    ['65', '65', LONG],
    ['3528', '3589', LONG], // JCB
    ['62', '62', LONG], // UnionPay
    ['81', '81', LONG],
    ['5018', '5018', [13, 14, 15, ...LONG]], // Maestro
    ['5020', '5020', [13, 14, 15, ...LONG]],
    ['5038', '5038', [13, 14, 15, ...LONG]],
    ['5893', '5893', [13, 14, 15, ...LONG]],
    ['6304', '6304', [13, 14, 15, ...LONG]],
    ['6759', '6759', [13, 14, 15, ...LONG]],
    ['6761', '6763', [13, 14, 15, ...LONG]],
    ['5019', '5019', [16]], // Dankort
    ['4571', '4571', [16]],
    ['2200', '2204', LONG], // Mir
    ['60', '60', [16]], // RuPay
    ['82', '82', [16]],
    ['508', '508', [16]],
    ['353', '353', [16]],
    ['356', '356', [16]],
    ['506099', '506198', [16, 18, 19]], // Verve
    ['650002', '650027', [16, 18, 19]],
    ['507865', '507964', [16, 18, 19]],
    ['636', '636', LONG], // InterPayment
    ['637', '639', [16]], // InstaPayment
    ['9792', '9792', [16]], // Troy
  ] as const
).map(([from, to, lengths]) => ({ from, to, lengths }));

/** How the digits of cards are printed. */
const PRINTED: ReadonlySet<string> = new Set([
  '4-4-4-1',
  '4-6-4',
  '4-6-5',
  '4-4-4-4',
  '4-4-4-6',
  '4-4-4-4-2',
  '4-4-4-4-3',
  '6-13',
]);
const LEAST = 13;
const MOST = 19;
const DOT = 0x2e;

export function findCards(text: string, stretch = whole(text)): Find[] {
  const finds: Find[] = [];
  for (let at = stretch.from; at < stretch.until; at++) {
    if (!isDigit(text.charCodeAt(at))) continue;
    const from = numberStart(text, at);
    while (isDigit(text.charCodeAt(at + 1))) at++;
    if (!mayBegin(at + 1 - from) || !opens(text, from) || isFraction(text, from)) continue;
    const to = cardEnd(text, groupsAt(text, from, MOST));
    if (to === null) continue;
    finds.push({ from, to });
    at = to - 1;
  }
  return finds;
}

/** Whether a card may begin with a group of so many digits. Most numbers are left out here. */
const mayBegin = (digits: number): boolean =>
  digits === 4 || digits === 6 || (digits >= LEAST && digits <= MOST);

/** Whether what begins at a place is the fraction of a number. */
function isFraction(text: string, at: number): boolean {
  return at > 0 && text.charCodeAt(at - 1) === DOT && !isLetter(text.charCodeAt(at - 2));
}

const isLetter = (unit: number): boolean => isLetterOrDigit(unit) && !isDigit(unit);

/** Where the longest card ends that the groups begin with. */
function cardEnd(text: string, { digits, ends }: Groups): number | null {
  for (let last = ends.length; last >= 1; last--) {
    const { count, at } = ends[last - 1] as Groups['ends'][number];
    if (count < LEAST) break;
    if (count > MOST || !endsHere(text, at)) continue;
    const form = ends.slice(0, last).map((end, index) => end.count - (ends[index - 1]?.count ?? 0));
    if (last > 1 && (!PRINTED.has(form.join('-')) || goesOn(text, at, ends))) continue;
    if (isCard(digits.slice(0, count))) return at;
  }
  return null;
}

/** Whether the groups belong to a row of numbers: it has differing dividers, or four more digits behind the same divider. */
function goesOn(text: string, to: number, ends: Groups['ends']): boolean {
  const dividers = ends.slice(0, -1).map(({ at }) => text[at]);
  const until = ends.findIndex(({ at }) => at === to);
  if (new Set(dividers.slice(0, until)).size > 1) return true;
  return (
    dividers[until] === dividers[0] && /^[0-9]{4}(?![0-9])/.test(text.slice(to + dividerAt(text, to), to + 8))
  );
}

function endsHere(text: string, at: number): boolean {
  const after = text.charCodeAt(at);
  if (isLetterOrDigit(after)) return false;
  return after !== DOT || !isDigit(text.charCodeAt(at + 1));
}

function isCard(digits: string): boolean {
  if (!hasLuhn(digits)) return false;
  const known = ISSUERS.some(({ from, to, lengths }) => {
    const start = digits.slice(0, from.length);
    return start >= from && start <= to && lengths.includes(digits.length);
  });
  if (!known) return false;
  // Visa has given out no numbers of 13 digits for long, while many articles of shops have them.
  return digits.length !== 13 || !isArticle(digits);
}

function hasLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = digits.length - 1, twice = false; at >= 0; at--, twice = !twice) {
    const digit = digits.charCodeAt(at) - 0x30;
    sum += twice ? (digit < 5 ? 2 * digit : 2 * digit - 9) : digit;
  }
  return sum % 10 === 0;
}

/** Whether it is a GTIN-13, the number of an article, by its check digit. */
function isArticle(digits: string): boolean {
  let sum = 0;
  for (let at = 0; at < 13; at++) sum += (digits.charCodeAt(at) - 0x30) * (at % 2 === 0 ? 1 : 3);
  return sum % 10 === 0;
}
