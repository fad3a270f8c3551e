// Addresses in a definition. The names of schemas look like addresses, too, and nobody opens them.

import type { Finder } from './finding.ts';
import { lastStep, placeName, pointerTo } from './places.ts';
import { quoted } from './quoted.ts';

const URL_FORM = /\b(?:https?|wss?|ftp|file|data|javascript):(?:\/\/)?[^\s"'<>`()[\]{}\\]{1,140}/giu;
const SCHEMA_NAMES = new Set(['$schema', '$id', '$ref']);

export const urlsIn: Finder = function* ({ places }) {
  for (const place of places) {
    const last = lastStep(place);
    if (!place.isName && typeof last === 'string' && SCHEMA_NAMES.has(last)) continue;
    const found = (place.text.match(URL_FORM) ?? []).filter(each =>
      /^(?:data|javascript):|:\/\//i.test(each),
    );
    const [first] = found;
    if (first === undefined) continue;
    const more = found.length > 1 ? `, and ${found.length - 1} more` : '';
    yield () => ({
      where: pointerTo(place),
      text: `${placeName(place)} has the address ${quoted(first)}${more}.`,
    });
  }
};
