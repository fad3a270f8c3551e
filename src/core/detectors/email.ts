// E-mail addresses: a name of RFC 5322's dot-atom, and a domain of at least two labels.

import type { Find } from './find.ts';

const BEFORE = /[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]/;
const LABELS = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z]/;
const LONGEST_NAME = 64;
const LONGEST_DOMAIN = 255;

export function findEmails(text: string): Find[] {
  const finds: Find[] = [];
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    const [domain] = LABELS.exec(text.slice(at + 1, at + 1 + LONGEST_DOMAIN)) ?? [];
    if (domain === undefined) continue;
    let from = at;
    while (from > 0 && at - from < LONGEST_NAME && BEFORE.test(text[from - 1] as string)) from--;
    while (from < at && text[from] === '.') from++;
    if (from < at && text[at - 1] !== '.') finds.push({ from, to: at + 1 + domain.length });
  }
  return finds;
}
