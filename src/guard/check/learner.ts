// Makes values known in a run: as keyed digests, in slices of work and of rows, so that nobody waits long for a text of
// somebody else. It is done before the text is passed on, or its receipt confirmed. What cannot be written is not known,
// which can only make a decision stricter.

import { digestOf } from '../../core/flows/digests.ts';
import { MAX_KNOWN } from '../../core/flows/words.ts';
import { addKnown, countDropped, countKnownOf } from '../../store/known-values.ts';
import type { Deps } from '../deps.ts';
import type { CallerTurns } from '../rations/caller-turns.ts';
import { keyName } from '../rations/rations.ts';
import type { RunHandle } from './run.ts';

/** How many words and stretches of one text are looked at: all of 64 KiB. */
const MAX_LOOKED_AT = 10 * MAX_KNOWN;
/** How many values the runs of one key can know together, give or take those of texts that are read at the same time. */
const MAX_OF_KEY = 128 * MAX_KNOWN;
/** How long it is remembered how many they are. */
const REMEMBERED_MS = 10_000;
const MOST_REMEMBERED = 10_000;
/** A slice takes about 4 ms, and the transaction that writes it about twice as long on SQLite. */
const SLICE = 4096;

export class Learner {
  readonly #deps: Deps;
  readonly #turns: CallerTurns;
  readonly #failed: (error: unknown) => void;
  readonly #mostOfKey: number;
  /** The keys whose values were counted, with whether they may have more, and until when that counts. */
  readonly #counted = new Map<string, { hasRoom: boolean; until: number }>();

  constructor(
    deps: Deps,
    turns: CallerTurns,
    failed: (error: unknown) => void = () => {},
    mostOfKey = MAX_OF_KEY,
  ) {
    this.#deps = deps;
    this.#turns = turns;
    this.#failed = failed;
    this.#mostOfKey = mostOfKey;
  }

  /** Resolves once all that is named holds on every replica. `named` has values in the form in which they are compared. */
  async learn(run: RunHandle, keyId: string, named: Iterable<string>): Promise<void> {
    const { vault, db } = this.#deps;
    const key = vault.runKey(run.id);
    const values = named[Symbol.iterator]();
    let more = 0;
    let fits = await this.#hasRoom(keyId);
    for (let looked = 0; looked < MAX_LOOKED_AT; looked += SLICE) {
      if (looked > 0) await this.#turns.next(keyName(keyId));
      const { slice, done } = nextOf(values);
      if (!fits) more += slice.length;
      else if (slice.length > 0)
        fits = await db.transaction({}, tx =>
          addKnown(
            tx,
            run.number,
            slice.map(value => digestOf(key, value)),
            MAX_KNOWN,
          ),
        );
      if (done) break;
    }
    // What stands behind the end is only counted, with its repetitions.
    if (more > 0) await db.transaction({}, tx => countDropped(tx, run.number, more));
  }

  async #hasRoom(keyId: string): Promise<boolean> {
    const { db, now } = this.#deps;
    const counted = this.#counted.get(keyId);
    if (counted !== undefined && counted.until > now()) return counted.hasRoom;
    if (this.#counted.size >= MOST_REMEMBERED) this.#counted.clear();
    const hasRoom = (await countKnownOf(db, keyId)) < this.#mostOfKey;
    this.#counted.set(keyId, { hasRoom, until: now() + REMEMBERED_MS });
    return hasRoom;
  }

  /** The same where a call was made and somebody waits for its answer: they get it also if nothing can be written. */
  async tryToLearn(run: RunHandle, keyId: string, named: Iterable<string>): Promise<void> {
    try {
      await this.learn(run, keyId, named);
    } catch (error) {
      this.#failed(error);
    }
  }
}

/** The values among the next that are yielded, of which many are none. */
function nextOf(values: Iterator<string>): { slice: string[]; done: boolean } {
  const slice: string[] = [];
  for (let looked = 0; looked < SLICE; looked++) {
    const next = values.next();
    if (next.done) return { slice, done: true };
    if (next.value !== '') slice.push(next.value);
  }
  return { slice, done: false };
}
