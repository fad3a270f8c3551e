// What is remembered of a run that is only tried, by `simulate` and by the sequences of `toolgate test`: its marks, and what
// was named in it. The service remembers the same, as keyed digests in its store.

import type { Knows } from '../condition/condition.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import { namedInResult } from './named-in-result.ts';
import { formFor, MAX_KNOWN, namedIn } from './words.ts';

export class TriedRun {
  readonly #marks = new Set<string>();
  readonly #known = new Set<string>();
  #dropped = 0;

  /** In the order of the alphabet. */
  get marks(): readonly string[] {
    return [...this.#marks].sort();
  }

  readonly knows: Knows = (kind, written) => {
    const form = formFor(kind, written);
    return form !== null && this.#known.has(form);
  };

  /** How many values are not known because the run had no room for them, with their repetitions. */
  get dropped(): number {
    return this.#dropped;
  }

  mark(names: readonly string[]): void {
    for (const name of names) this.#marks.add(name);
  }

  /** Makes known what a text, or a value of JSON, names. */
  learn(from: Json): void {
    this.#learn(namedIn(from));
  }

  /** The same for the result of a call. */
  learnResult(result: JsonObject): void {
    this.#learn(namedInResult(result));
  }

  #learn(named: Iterable<string>): void {
    for (const value of named) {
      if (value === '') continue;
      if (this.#known.size < MAX_KNOWN) this.#known.add(value);
      else if (!this.#known.has(value)) this.#dropped++;
    }
  }
}
