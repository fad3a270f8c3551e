// IBANs (ISO 13616) of the registry's countries, in capitals or small letters, in one piece or in groups of four.

import { ibanLength, isKnownIban } from '../text/iban.ts';
import { dividerAt } from './digits.ts';
import { closes, isDigit, isLetterOrDigit, opens } from './edges.ts';
import { type Find, whole } from './find.ts';

export function findIbans(text: string, stretch = whole(text)): Find[] {
  const finds: Find[] = [];
  // It begins with two letters, which are in front of two digits.
  for (let at = stretch.from; at < stretch.until; at++) {
    if (!isDigit(text.charCodeAt(at + 2)) || !opens(text, at)) continue;
    const to = ibanEnd(text, at);
    if (to === null) continue;
    finds.push({ from: at, to });
    at = to - 1;
  }
  return finds;
}

function ibanEnd(text: string, from: number): number | null {
  if (!isDigit(text.charCodeAt(from + 3))) return null;
  const length = ibanLength(text.slice(from, from + 2).toLowerCase());
  if (length === undefined) return null;
  let form = '';
  let at = from;
  while (form.length < length) {
    if (form.length > 0 && form.length % 4 === 0) at += dividerAt(text, at);
    if (!isLetterOrDigit(text.charCodeAt(at))) return null;
    form += text[at++];
  }
  return closes(text, at) && isKnownIban(form.toLowerCase()) ? at : null;
}
