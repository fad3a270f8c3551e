// E-mail addresses: a name of the characters that are in use for names, and a domain of at least two labels. Letters may be of
// any script (RFC 6531), and the `@` may be escaped in JSON or in an address of the web.

import { type Find, joined, matchesIn, whole } from './find.ts';

const AT = /(?:@|%40|\\u0040)(?=[\p{L}\p{N}])/gu;
/** RFC 5322 has further ones, such as `/`, `=`, `?` and `&`, which far more often stand before an address. */
const BEFORE = /[\p{L}\p{N}.!#$%'*+^_~-]/u;
const FIRST = /[\p{L}\p{N}_%]/u;
const LABELS = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,8}\p{L}[\p{L}\p{N}-]{0,61}\p{L}/u;
/** A version behind the name of a package, and a picture of double size. */
const NO_DOMAIN =
  /^[0-9]+\.[0-9]+\.[0-9]|\.(?:[cm]?js|jsx|tsx?|json|png|jpe?g|gif|svg|webp|s?css|html?|ya?ml|xml|txt|lock|tgz|gz|exe|dll)$/i;
const LONGEST_NAME = 64;
const LONGEST_DOMAIN = 255;
/** What begins an escape of JSON, whose letter is none of the name. */
const ESCAPE = /^\\[nrtbf]/;
/** What stands before a name in an address of the web, up to the last escape that is none of `+`, `-`, `.` and `_`. */
const DIVIDER = /^.*%(?!2[BbDdEe]|5[Ff])[0-9A-Fa-f]{2}/;

export function findEmails(text: string, stretch = whole(text)): Find[] {
  const finds: Find[] = [];
  for (const { 0: sign, index } of matchesIn(text, AT, stretch)) {
    const start = index + sign.length;
    const [domain] = LABELS.exec(text.slice(start, start + LONGEST_DOMAIN)) ?? [];
    if (domain === undefined || NO_DOMAIN.test(domain)) continue;
    const from = nameStart(text, index);
    if (isLogin(text, from, index)) continue;
    if (from < index && text[index - 1] !== '.') finds.push({ from, to: start + domain.length });
  }
  return joined(finds);
}

const PASSWORD = /:\/\/[^\s/@]{0,64}:$/;

/** Whether it is a password before a host, or the name git, with which repositories are fetched. */
function isLogin(text: string, from: number, index: number): boolean {
  if (text[from - 1] === ':') return PASSWORD.test(text.slice(Math.max(0, from - 68), from));
  return text.slice(from, index) === 'git';
}

function nameStart(text: string, end: number): number {
  let from = end;
  while (from > 0 && end - from < LONGEST_NAME && BEFORE.test(text[from - 1] as string)) from--;
  if (ESCAPE.test(text.slice(from - 1, from + 1))) from++;
  from += DIVIDER.exec(text.slice(from, end))?.[0].length ?? 0;
  while (from < end && !FIRST.test(text[from] as string)) from++;
  return from;
}
