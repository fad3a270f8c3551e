// Addresses of the Internet Protocol. Of IPv4: four numbers up to 255 that are no part of a longer row and are not called a
// version or a section. Of IPv6: the usual forms of RFC 4291, of the ranges that are in use, because `a::b` is also code in many languages.

import { closes, isDigit, numberStart, opens } from './edges.ts';
import { type Find, type Stretch, whole } from './find.ts';

export function findAddresses(text: string, stretch = whole(text)): Find[] {
  // An IPv6 address may end in one of IPv4; then both are the same find.
  const six = findSix(text, stretch);
  const fours = findFour(text, stretch);
  if (six.length === 0) return fours;
  const all = [...six];
  let next = 0;
  for (const four of fours) {
    while (next < six.length && (six[next] as Find).to <= four.from) next++;
    if (next === six.length || four.from < (six[next] as Find).from) all.push(four);
  }
  return all.sort((a, b) => a.from - b.from);
}

const FOUR = /[0-9]{1,3}(?:\.[0-9]{1,3}){3}/y;
const DOT = 0x2e;
/** What is numbered with dots, too: versions, sections of documents, and files with a version in their name. */
const NUMBERED =
  /(?:(?:version|section|sect|chapter|clause|appnote|oid)[.#]?["'\\]{0,2}[ \t]?[=:]?[ \t]?["'\\]{0,2}|[A-Za-z]-)$/i;
const LONGEST_BEFORE = 16;
/** Object identifiers of X.500 are in every certificate. */
const IDENTIFIER = /^2\.5\.(?:4|29)\./;
/** Of a number with the escape before it. */
const MOST_DIGITS = 7;

function findFour(text: string, { from, until }: Stretch): Find[] {
  const finds: Find[] = [];
  for (let dot = text.indexOf('.', from); dot >= 0 && dot < until; dot = text.indexOf('.', dot + 1)) {
    let first = dot;
    while (first > 0 && dot - first < MOST_DIGITS && isDigit(text.charCodeAt(first - 1))) first--;
    const at = numberStart(text, first);
    if (at >= dot) continue;
    FOUR.lastIndex = at;
    if (!FOUR.test(text)) continue;
    const to = FOUR.lastIndex;
    if (isFour(text, at, to)) finds.push({ from: at, to });
    // A row that is too long is left behind whole.
    dot = to - 1;
    while (text.charCodeAt(dot + 1) === DOT && isDigit(text.charCodeAt(dot + 2))) {
      dot += 2;
      while (isDigit(text.charCodeAt(dot + 1))) dot++;
    }
  }
  return finds;
}

function isFour(text: string, from: number, to: number): boolean {
  if (!opens(text, from) || !closes(text, to)) return false;
  if (text.charCodeAt(from - 1) === DOT || (text.charCodeAt(to) === DOT && isDigit(text.charCodeAt(to + 1))))
    return false;
  if (!areOctets(text.slice(from, to))) return false;
  return (
    !IDENTIFIER.test(text.slice(from, to)) &&
    !NUMBERED.test(text.slice(Math.max(0, from - LONGEST_BEFORE), from))
  );
}

/** Numbers with a zero in front have three digits, if any are padded. */
function areOctets(four: string): boolean {
  return four.split('.').every(each => Number(each) <= 255 && (each[0] !== '0' || each.length !== 2));
}

const RUN = /[0-9A-Fa-f:.]+/g;
/** An address has at most 45 characters. An escape may stand before it, and a sentence go on behind it. */
const LONGEST_RUN = 51;

function findSix(text: string, stretch: Stretch): Find[] {
  const finds: Find[] = [];
  let colon = text.indexOf(':', stretch.from);
  while (colon >= 0 && colon < stretch.until) {
    // The run of characters that an address may have, around the colon.
    let from = colon;
    while (from > 0 && isOfSix(text.charCodeAt(from - 1))) from--;
    RUN.lastIndex = from;
    RUN.exec(text);
    const end = RUN.lastIndex;
    const find = end - from <= LONGEST_RUN ? sixIn(text, numberStart(text, from), end) : null;
    if (find !== null) finds.push(find);
    colon = text.indexOf(':', end);
  }
  return finds;
}

const isOfSix = (unit: number): boolean =>
  (unit >= 0x2e && unit <= 0x3a && unit !== 0x2f) ||
  (unit >= 0x41 && unit <= 0x46) ||
  (unit >= 0x61 && unit <= 0x66);

/** The address that a run is, apart from a colon or dot of the sentence around it. */
function sixIn(text: string, start: number, end: number): Find | null {
  let from = start;
  let to = end;
  if (text[from] === ':' && text[from + 1] !== ':') from++;
  while (text[to - 1] === '.' || (text[to - 1] === ':' && text[to - 2] !== ':')) to--;
  if (!opens(text, from) || !closes(text, to) || text[to] === '_' || text[from - 1] === '_') return null;
  return isSix(text.slice(from, to)) ? { from, to } : null;
}

function isSix(address: string): boolean {
  const groups = groupsOf(address);
  return groups !== null && isInUse(groups) && !isHardware(address);
}

/** Eight numbers, or null if it is no address. */
function groupsOf(address: string): number[] | null {
  const halves = address.split('::');
  if (halves.length > 2 || !address.includes(':')) return null;
  const [head, tail] = halves.map((half, at) => groupsOfHalf(half, at === halves.length - 1));
  if (head == null || tail === null) return null;
  if (tail === undefined) return head.length === 8 ? head : null;
  const left = 8 - head.length - tail.length;
  return left < 1 ? null : [...head, ...Array(left).fill(0), ...tail];
}

function groupsOfHalf(half: string, mayEndInFour: boolean): number[] | null {
  if (half === '') return [];
  const groups: number[] = [];
  const parts = half.split(':');
  for (const [at, part] of parts.entries()) {
    if (mayEndInFour && at === parts.length - 1 && part.includes('.')) {
      const octets = part.split('.').map(Number);
      if (octets.length !== 4 || !/^[0-9.]+$/.test(part) || !areOctets(part)) return null;
      const [a, b, c, d] = octets as [number, number, number, number];
      groups.push(a * 256 + b, c * 256 + d);
    } else if (/^[0-9A-Fa-f]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16));
    else return null;
  }
  return groups;
}

/**
 * Global (2000::/3), local (fc00::/7), of the link (fe80::/10) and multicast (ff00::/8); those that stand for one of IPv4
 * (::ffff:0:0/96, 64:ff9b::/96), and the loopback address.
 */
function isInUse(groups: readonly number[]): boolean {
  const first = groups[0] as number;
  if (first >= 0x2000 && first < 0x4000) return true;
  if (first >= 0xfc00 && first < 0xfe00) return true;
  if (first >= 0xfe80 && first < 0xfec0) return true;
  if (first >= 0xff00) return true;
  if (first === 0x64) return groups[1] === 0xff9b;
  const zeros = groups.findIndex(each => each !== 0);
  return (zeros === 5 && groups[5] === 0xffff) || (zeros === 7 && groups[7] === 1);
}

/** Eight times two digits are the address of a device. */
const isHardware = (address: string): boolean => /^[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){7}$/.test(address);
