// Private keys as PEM writes them (RFC 7468), from the first hyphen to the last: of a text as it is, and of one that is
// escaped in JSON or in an address, quoted or numbered line by line. A key whose end is missing is one too.

import type { Find } from './find.ts';

const HEADER =
  /-----BEGIN(?: |%20|\+)(?:[A-Z0-9]{1,12}(?: |%20|\+)){0,3}PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)?-----/y;
const FOOTER = /-----END[ %+A-Z0-9]{1,60}-----/y;
/** A line of a key is longer than any word that describes one. */
const LINE = /(?:[0-9A-Za-z+/]|\\\/|%2[BbFf]|\\u002[BbFf]){40}/;
/**
 * What may stand between the lines of a key whose end is missing. It never goes beyond the beginning of another key, so that
 * no part of a text is read for several keys.
 */
const LINES =
  /(?:(?:[0-9A-Za-z+/=]|\\\/|%2[BbFf]|%3[Dd]|\\u00[23][BbDdFf]){16,}|[A-Za-z-]{1,20}: (?:(?!-----)[^\r\n\\]){1,80}|\\[nr]|%0[AaDd]|[\s"',])*/y;
const MAX_BODY = 65_536;

export function findPrivateKey(text: string, at: number): Find[] {
  HEADER.lastIndex = at;
  if (!HEADER.test(text)) return [];
  const start = HEADER.lastIndex;
  const next = text.indexOf('-----', start);
  const end = next < 0 || next - start > MAX_BODY ? start : next;
  FOOTER.lastIndex = end;
  if (end > start && FOOTER.test(text))
    return LINE.test(text.slice(start, end)) ? [{ from: at, to: FOOTER.lastIndex }] : [];
  LINES.lastIndex = 0;
  const [lines = ''] = LINES.exec(text.slice(start, start + MAX_BODY)) ?? [];
  return LINE.test(lines) ? [{ from: at, to: start + endOf(lines) }] : [];
}

/** Where the last line ends. What closes a quotation stays. It looks from behind, because `+$` would begin at each blank. */
function endOf(lines: string): number {
  let to = lines.length;
  while (to > 0) {
    if (BETWEEN.test(lines[to - 1] as string)) to--;
    else if (to > 1 && /[nr]/.test(lines[to - 1] as string) && lines[to - 2] === '\\') to -= 2;
    else break;
  }
  return to;
}
const BETWEEN = /[\s"',]/;
