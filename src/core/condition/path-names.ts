// `path.secret(p)` and `path.decidesLater(p)` of the condition language: whether a path names something that is on a
// list (path-lists.ts). Programs and disks may take several spellings for the same file, so all spellings that are
// known here count. null is a failure, for characters that cannot be seen. A relative path is judged by the names in
// it.

import { compilePattern, matches, type Pattern } from '../text/pattern.ts';
import { partsOf } from './path.ts';
import { DECIDES_LATER, entriesOf, type PathList, SECRET } from './path-lists.ts';
import { isShortFor, isShortName } from './path-short-names.ts';

const MAX_LENGTH = 4_096;
/** Names in a path. No project is so deep, and each can cost 20 µs. */
const MAX_PARTS = 64;
/** A name with `~1` in it is compared with every entry. */
const MAX_TILDES = 8;
const TILDE = /~/g;
const USUAL = /^[\w./-]*$/;

/** Characters that cannot be seen; HFS+ leaves some of them out of names (`.g\u200cit`). */
const UNSEEN = /[\p{Cc}\p{Cs}\p{Co}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const BACKSLASH = /\\/g;
const ENCODED = /%(?:25)*([0-9a-f]{2})/gi;
/** `HEAD:.env`, `--file=.env`, `user@host:.env`, `.env::$DATA`, `.env?raw`, `".env"`: a name may stand between these. */
const BETWEEN_NAMES = /[:=@?#,;"'`<>|&()]+/;
const PARTS = /[^/:=@?#,;"'`<>|&()]+/g;
/** Most names, which can be spelt in no other way. */
const PLAIN = /^[a-z0-9_.-]*[a-z0-9_-]$/;
/** Windows leaves out blanks and dots at the end. */
const AROUND_NAME = /^\s+|[\s.]+$/g;

interface Part {
  text: string;
  pattern: Pattern;
}

interface Entry {
  parts: readonly Part[];
  /** Whether everything below is listed as well. */
  below: boolean;
}

/** Entries by the first part; those that begin with a `*` are under that. */
type Index = ReadonlyMap<string, readonly Entry[]>;

interface Compiled {
  /** Entries of one part, which has to be the last part of a path. */
  files: Index;
  others: Index;
  /** All of them, by the first letter of the first part. */
  byLetter: Index;
  except: ReadonlySet<string>;
}

const secret = compile(SECRET);
const decidesLater = compile(DECIDES_LATER);

export const pathSecret = (path: string): boolean | null => isListed(path, secret);
export const pathDecidesLater = (path: string): boolean | null => isListed(path, decidesLater);

function compile(list: PathList): Compiled {
  const all = entriesOf(list).map(text => ({
    parts: partsOf(text.toLowerCase()).map(part => ({ text: part, pattern: compilePattern(part) })),
    below: text.endsWith('/'),
  }));
  const isFile = ({ parts, below }: Entry) => parts.length === 1 && !below;
  const first = ({ parts: [part] }: Entry) => {
    const text = part?.text ?? '';
    return text.replace(/^\.*/, '').startsWith('*') ? '*' : text;
  };
  const plain = (entry: Entry) => (entry.parts[0]?.pattern.stars ? '*' : first(entry));
  return {
    files: Map.groupBy(all.filter(isFile), plain),
    others: Map.groupBy(
      all.filter(entry => !isFile(entry)),
      plain,
    ),
    byLetter: Map.groupBy(all, entry => letterOf(first(entry))),
    except: new Set(list.except),
  };
}

function letterOf(name: string): string {
  return name.replace(/^\.+/, '').slice(0, 1);
}

function isListed(path: string, list: Compiled): boolean | null {
  const readings = readingsOf(path);
  if (path === '' || readings.some(each => each.length > MAX_LENGTH || UNSEEN.test(each))) return null;
  if (readings.some(each => count(each, PARTS) > MAX_PARTS || count(each, TILDE) > MAX_TILDES)) return null;
  return readings.some(each => holds(partsOf(each), list));
}

function count(text: string, what: RegExp): number {
  return text.match(what)?.length ?? 0;
}

/** How many steps of a condition each 256 characters are worth, as measured. */
export function weightOf(path: string): number {
  return USUAL.test(path) ? 64 : 512;
}

function readingsOf(path: string): string[] {
  const decoded = path.replace(ENCODED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return [...new Set([path, decoded].flatMap(each => [each, each.replace(BACKSLASH, '/')]))];
}

function holds(parts: readonly string[], list: Compiled): boolean {
  const spelt = parts.map(part => spellingsOf(part, list.except));
  return spelt.some((spellings, at) => {
    const isLast = at === spelt.length - 1;
    const found = new Set(spellings.flatMap(name => candidates(name, isLast, list)));
    return [...found].some(entry => fits(entry, 0, spelt, at));
  });
}

/** The entries that can begin with this name. */
function candidates(name: string, isLast: boolean, { files, others, byLetter }: Compiled): Entry[] {
  const indexes = isLast ? [files, others] : [others];
  const found = indexes.flatMap(index => [...(index.get(name) ?? []), ...(index.get('*') ?? [])]);
  if (!isShortName(name)) return found;
  return [...found, ...(byLetter.get(letterOf(name)) ?? []), ...(byLetter.get('*') ?? [])];
}

/** Whether the entry, from its part `index` on, stands at `at` in the path, and at its end unless everything below counts. */
function fits(entry: Entry, index: number, spelt: readonly string[][], at: number): boolean {
  const wanted = entry.parts[index];
  if (wanted === undefined) return entry.below || at === spelt.length;
  if (wanted.text === '**') {
    const end = spelt.length - (entry.parts.length - index - 1);
    return end >= at && fits(entry, index + 1, spelt, end);
  }
  const here = spelt[at]?.some(name => isNamed(name, wanted)) ?? false;
  return here && fits(entry, index + 1, spelt, at + 1);
}

function isNamed(name: string, { text, pattern }: Part): boolean {
  return matches(pattern, name) || isShortFor(name, text);
}

/** The ways in which programs and disks may take one part of a path, without those that are meant to be read. */
function spellingsOf(part: string, except: ReadonlySet<string>): string[] {
  if (PLAIN.test(part)) return except.has(part) ? [] : [part];
  const pieces = BETWEEN_NAMES.test(part) ? [part, ...part.split(BETWEEN_NAMES)] : [part];
  const names = pieces
    .filter(each => !except.has(each.toLowerCase()))
    .map(folded)
    .flatMap(each => [each, each.replace(AROUND_NAME, '')]);
  return [...new Set(names)].filter(each => each !== '');
}

/** Upper case first: it makes an `s` of the long s, as disks that do not regard case do. */
function folded(part: string): string {
  return part.normalize('NFKC').toUpperCase().toLowerCase();
}
