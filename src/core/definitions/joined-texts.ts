// Texts in lower case as one text, so that each thing that is sought in them is sought once, however many texts there are.

import type { Place } from './places.ts';

export class JoinedTexts {
  readonly #text: string;
  readonly #places: { from: number; place: Place }[] = [];

  constructor(places: readonly Place[]) {
    const texts: string[] = [];
    let from = 0;
    for (const place of places) {
      const lower = place.text.toLowerCase();
      this.#places.push({ from, place });
      texts.push(lower);
      from += lower.length + 1;
    }
    // Nothing that is sought has a line break, so nothing is found across two texts.
    this.#text = texts.join('\n');
  }

  *find(sought: string): Generator<number> {
    for (let at = this.#text.indexOf(sought); at >= 0; at = this.#text.indexOf(sought, at + 1)) yield at;
  }

  slice(from: number, to: number): string {
    return this.#text.slice(Math.max(0, from), to);
  }

  placeAt(at: number): Place {
    let low = 0;
    let high = this.#places.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#places[middle]!.from <= at) low = middle;
      else high = middle - 1;
    }
    return this.#places[low]!.place;
  }
}
