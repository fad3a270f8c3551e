// One run in the transaction of a group: its marks, which grow with the calls that are decided, and the values that
// conditions ask about. What is known of a value is read after the conditions have asked for it: they are evaluated once
// more then (cases.ts).

import { Failure, type Knows } from '../../core/condition/condition.ts';
import { type DigestKey, digestOf } from '../../core/flows/digests.ts';
import { formFor } from '../../core/flows/words.ts';
import type { RunFacts } from '../../core/policy/situation.ts';
import type { FoundRun, RunMark, StoredMark } from '../../store/runs.ts';

/** What other parts of the guard need to know of a run. */
export interface RunHandle {
  number: number;
  id: string;
}

/** A value that conditions or details ask about; `known` is null until it is read. */
export interface Asked {
  readonly digest: string;
  known: boolean | null;
  isWaiting: boolean;
}

const NOT_READ = new Failure('It is not read yet whether the value is known.');

export class Run implements RunFacts {
  readonly found: FoundRun;
  readonly #key: () => DigestKey;
  /** The values that were asked about, which are asked about again when conditions are evaluated once more. */
  readonly #asked = { text: new Map<string, Asked>(), number: new Map<string, Asked>() };
  /** Those for which it was not read yet whether they are known. */
  #unread: Asked[] = [];
  /** How often a value was asked for that was not read yet. */
  asked = 0;
  #marks: readonly string[];

  /** `key` gives the key for digests of this run. */
  constructor(found: FoundRun, key: () => DigestKey) {
    this.found = found;
    this.#key = key;
    this.#marks = namesOf(found.marks, '').sort();
  }

  get handle(): RunHandle {
    return { number: this.found.number, id: this.found.id };
  }

  /**
   * The names of its marks in the order of the alphabet, those of shadows left out. It is another list once it has more
   * marks, those of shadows included.
   */
  get marks(): readonly string[] {
    return this.#marks;
  }

  /** Its marks with the calls that gave them, for people. */
  get shown(): RunMark[] {
    return shownMarks(this.found.marks);
  }

  /** What a policy may know of it, as of whenever it asks. Only the shadow of this policy sees the marks of its own. */
  facts(shadow: string | null): RunFacts {
    return shadow === null ? this : new ShadowedRun(this, shadow);
  }

  /** Its marks with those of a shadow. */
  marksFor(shadow: string): readonly string[] {
    const own = namesOf(this.found.marks, shadow);
    return own.length === 0 ? this.#marks : [...new Set([...this.#marks, ...own])];
  }

  /** Whether a value is known. It fails if that was not read yet. */
  readonly knows: Knows = (kind, written) => {
    const asked = this.#asked[kind].get(written) ?? this.#ask(kind, written);
    if (asked.known !== null) return asked.known;
    this.asked++;
    if (!asked.isWaiting) this.#unread.push(asked);
    asked.isWaiting = true;
    return NOT_READ;
  };

  #ask(kind: 'text' | 'number', written: string): Asked {
    const form = formFor(kind, written);
    const asked: Asked =
      form === null
        ? { digest: '', known: false, isWaiting: false }
        : { digest: this.digest(form), known: null, isWaiting: false };
    this.#asked[kind].set(written, asked);
    return asked;
  }

  readonly isWaiting = (): boolean => this.#unread.length > 0;

  /** The values that have to be read. */
  takeUnread(): Asked[] {
    const unread = this.#unread;
    this.#unread = [];
    for (const asked of unread) asked.isWaiting = false;
    return unread;
  }

  digest(text: string): string {
    return digestOf(this.#key(), text);
  }

  /** Gives it those of the marks that it does not have, and returns them. */
  mark(names: readonly string[], shadow: string, by: Omit<RunMark, 'name'>): StoredMark[] {
    const had = namesOf(this.found.marks, shadow);
    const fresh = names.filter(name => !had.includes(name));
    if (fresh.length === 0) return [];
    const marks = fresh.map(name => ({ run: this.found.number, shadow, name, ...by }));
    this.found.marks.push(...marks);
    this.#marks = shadow === '' ? [...this.#marks, ...fresh].sort() : [...this.#marks];
    return marks;
  }
}

class ShadowedRun implements RunFacts {
  readonly #run: Run;
  readonly #shadow: string;

  constructor(run: Run, shadow: string) {
    this.#run = run;
    this.#shadow = shadow;
  }

  get marks(): readonly string[] {
    return this.#run.marksFor(this.#shadow);
  }

  get knows(): Knows {
    return this.#run.knows;
  }

  get isWaiting(): () => boolean {
    return this.#run.isWaiting;
  }
}

/** Those that are not a shadow's. */
export function shownMarks(marks: readonly StoredMark[]): RunMark[] {
  return marks.filter(({ shadow }) => shadow === '').map(({ run: _, shadow: __, ...mark }) => mark);
}

function namesOf(marks: readonly StoredMark[], shadow: string): string[] {
  return marks.filter(mark => mark.shadow === shadow).map(({ name }) => name);
}
