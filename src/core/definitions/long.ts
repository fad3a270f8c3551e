// Texts that are so long that nobody reads them to the end.

import type { Finder } from './finding.ts';
import { placeName, pointerTo } from './places.ts';

/** Of some five hundred tools of real servers, a few in a hundred have a longer text. */
const LONG = 3000;
/** All texts of a definition together. */
const LONG_IN_ALL = 20_000;

export const longIn: Finder = function* ({ places }) {
  let all = 0;
  for (const place of places) {
    const { length } = place.text;
    all += length;
    if (length <= LONG) continue;
    const text = `${placeName(place)} has ${length} characters. Read it to its end.`;
    yield () => ({ where: pointerTo(place), text });
  }
  if (all > LONG_IN_ALL) yield () => ({ where: '', text: `Its texts have ${all} characters together.` });
};
