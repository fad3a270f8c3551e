// `path.within(p, root)` and `path.join(base, p)` of the condition language: whether a path lies in a folder, and where a
// path leads from a folder, by their text alone. POSIX paths, with `.`, `..` and repeated slashes resolved; links are not
// followed, because a guard does not see the tool's disk. null is a failure, for everything that tools read in different
// ways. path-names.ts judges paths by the names in them.

/** No system opens a longer one. */
const MAX_LENGTH = 4_096;

/** Control characters, halves of characters, and blanks at the end, which some tools cut off (`/srv/a/.. `). */
const UNCLEAR = /[\p{Cc}\p{Cs}]|\s$/u;

/** POSIX takes these literally. A tool for Windows takes the one for a slash, and a tool for URLs decodes the others. */
const READ_DIFFERENTLY = /[\\%]/;
const BACKSLASH = /\\/g;
const ENCODED = /%(?:25)*(2e|2f|5c|00)/gi;
const DECODED: Record<string, string> = { '2e': '.', '2f': '/', '5c': '\\', '00': '\0' };

type Reading = (path: string) => string;
const withSlashes: Reading = path => path.replace(BACKSLASH, '/');
const decoded: Reading = path =>
  path.replace(ENCODED, (_, code: string) => DECODED[code.toLowerCase()] as string);
const OTHER_READINGS: Reading[] = [withSlashes, decoded, path => withSlashes(decoded(path))];

/** The root itself is within. All ways of reading the two paths have to agree. */
export function pathWithin(path: string, root: string): boolean | null {
  if (!isClear(path) || !isClear(root)) return null;
  const answer = isWithin(path, root);
  if (!READ_DIFFERENTLY.test(path) && !READ_DIFFERENTLY.test(root)) return answer;
  return OTHER_READINGS.every(read => isWithin(read(path), read(root)) === answer) ? answer : null;
}

/**
 * The path that `path` means in the folder `base`, normalised: an absolute one stays. Besides what `pathWithin` fails on,
 * it fails on the beginnings that make another path of a relative one: `~`, blanks that are cut off, `@`, which stands for
 * a mention in some agents, and the scheme of a URL (`file:`) or a drive.
 */
export function pathJoin(base: string, path: string): string | null {
  if (ANOTHER_BEGINNING.test(path) || path === '') return null;
  const joined = path.startsWith('/') ? path : `${base}/${path}`;
  if (!isClear(base) || !isClear(joined)) return null;
  const normalised = normal(joined);
  return OTHER_READINGS.every(read => normal(read(joined)) === normalised) ? normalised : null;
}

const ANOTHER_BEGINNING = /^(?:[\s~@]|[a-z][\w+.-]*:)/i;

const normal = (path: string): string => `/${partsOf(path).join('/')}`;

function isClear(path: string): boolean {
  if (path.length > MAX_LENGTH || !path.startsWith('/')) return false;
  return !UNCLEAR.test(path) && !decoded(path).includes('\0');
}

function isWithin(path: string, root: string): boolean {
  const parts = partsOf(path);
  return partsOf(root).every((part, i) => parts[i] === part);
}

/** The names in a path, from the root or from wherever it begins. */
export function partsOf(path: string): string[] {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts;
}
