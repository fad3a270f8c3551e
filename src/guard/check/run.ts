// One run in the transaction of a group: its marks, which grow with the calls that are decided, and the values that
// conditions ask about. What is known of a value is read after the conditions have asked for it: they are evaluated once
// more then (cases.ts).

import { Failure } from '../../core/condition/condition.ts';
import { type DigestKey, digestOf } from '../../core/flows/digests.ts';
import type { RunFacts } from '../../core/policy/situation.ts';
import type { FoundRun, RunMark, StoredMark } from '../../store/runs.ts';

/** What other parts of the guard need to know of a run. */
export interface RunHandle {
  number: number;
  id: string;
}

const NOT_READ = new Failure('It is not read yet whether the value is known.');

export class Run {
  readonly found: FoundRun;
  readonly #key: () => DigestKey;
  /** Of the values that were asked about, because conditions are evaluated more than once. */
  readonly #digests = new Map<string, string>();
  readonly #forms = new Map<string, string | null>();
  /** Whether values are known, by their digests. */
  readonly #known = new Map<string, boolean>();
  /** What was asked for since it was last read. */
  #unread = new Set<string>();
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

  /** What a policy may know of it. Only the shadow of this policy sees the marks of its own. */
  facts(shadow: string | null): RunFacts {
    const own = shadow === null ? [] : namesOf(this.found.marks, shadow);
    const marks = own.length === 0 ? this.#marks : [...new Set([...this.#marks, ...own])];
    return { marks, knows: this.knows, forms: this.#forms, isWaiting: this.#isWaiting };
  }

  /** Whether a value, in the form in which values are compared, is known. It fails if that was not read yet. */
  readonly knows = (value: string): boolean | Failure => {
    let digest = this.#digests.get(value);
    if (digest === undefined) {
      digest = digestOf(this.#key(), value);
      this.#digests.set(value, digest);
    }
    const known = this.#known.get(digest);
    if (known !== undefined) return known;
    this.asked++;
    this.#unread.add(digest);
    return NOT_READ;
  };

  readonly #isWaiting = (): boolean => this.#unread.size > 0;

  /** The digests that have to be read. */
  takeUnread(): string[] {
    const unread = [...this.#unread];
    this.#unread = new Set();
    return unread;
  }

  learned(digest: string, isKnown: boolean): void {
    this.#known.set(digest, isKnown);
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

/** Those that are not a shadow's. */
export function shownMarks(marks: readonly StoredMark[]): RunMark[] {
  return marks.filter(({ shadow }) => shadow === '').map(({ run: _, shadow: __, ...mark }) => mark);
}

function namesOf(marks: readonly StoredMark[], shadow: string): string[] {
  return marks.filter(mark => mark.shadow === shadow).map(({ name }) => name);
}
