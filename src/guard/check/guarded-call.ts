// Looks at what a call brings back before anybody gets it, as the `results` of the policy version that decided the call say
// (core/results). Marks that come of it are committed before it is passed on. What cannot be looked at is withheld.

import {
  type CallError,
  guardError,
  guardNote,
  guardResult,
  type InTurns,
  type ResultGuard,
  type Outcome as ResultOutcome,
  WITHHELD,
  WITHHELD_CODE,
} from '../../core/results/results.ts';
import type { JsonObject } from '../../core/wire/json.ts';
import { findRun, insertMarks } from '../../store/runs.ts';
import type { Deps } from '../deps.ts';
import type { Watched } from './request.ts';
import { MOST_ROUNDS } from './run-cases.ts';
import { resolveAsked } from './runs.ts';

/** What may be passed on in the place of a result that could not be looked at. */
const UNSEEN = 'Withheld: Toolgate could not look at this result, so it is not passed on. The call was made.';

interface Seen {
  marks: readonly string[];
}

export class GuardedCall {
  readonly #deps: Deps;
  readonly #watched: Watched;
  readonly #failed: (error: unknown) => void;
  readonly #given = new Set<string>();

  /** `failed` is told why something could not be looked at, in an error that holds nothing of it. */
  constructor(deps: Deps, watched: Watched, failed: (error: unknown) => void) {
    this.#deps = deps;
    this.#watched = watched;
    this.#failed = failed;
  }

  /** What may be passed on of a result, once its marks are committed. */
  async result(result: JsonObject): Promise<{ result: JsonObject; outcome: ResultOutcome }> {
    const seen = await this.#look(guard => guardResult(guard, result));
    if (seen !== null) return seen;
    return {
      result: { content: [{ type: 'text', text: UNSEEN }], isError: true },
      outcome: WITHHELD,
    };
  }

  /** The same of an error in the words of JSON-RPC. */
  async error({ code, message, data }: CallError): Promise<{ error: CallError; outcome: ResultOutcome }> {
    const error = data === undefined ? { code, message } : { code, message, data };
    const seen = await this.#look(guard => guardError(guard, error));
    if (seen !== null) return seen;
    return {
      error: { code: WITHHELD_CODE, message: UNSEEN },
      outcome: WITHHELD,
    };
  }

  /** The same of a log or progress message; null if it must not be passed on. */
  async note(params: JsonObject): Promise<JsonObject | null> {
    return (await this.#look(guard => guardNote(guard, params)))?.params ?? null;
  }

  /**
   * What may be passed on of a list of resources or prompts. Clients read lists as soon as they connect, so that they give
   * no marks.
   */
  async list(items: readonly JsonObject[]): Promise<JsonObject[]> {
    const seen = await this.#look(function* (guard) {
      return { ...(yield* guardResult(guard, { items: [...items] })), marks: [] };
    });
    return seen === null || seen.outcome.withheld ? [] : (seen.result['items'] as JsonObject[]);
  }

  /** Null if it could not be looked at, or its marks could not be committed. */
  async #look<T extends Seen>(look: (guard: ResultGuard) => InTurns<T>): Promise<T | null> {
    const { guard, run } = this.#watched;
    try {
      let seen = await safely(look(guard));
      for (let round = 0; round < MOST_ROUNDS && run?.isWaiting(); round++) {
        await resolveAsked(this.#deps.db, [run]);
        seen = await safely(look(guard));
      }
      await this.#mark(seen.marks);
      return seen;
    } catch (error) {
      this.#failed(error);
      return null;
    }
  }

  /** A run that has ended meanwhile can be given no marks, and then nothing is passed on that should have given them. */
  async #mark(marks: readonly string[]): Promise<void> {
    const fresh = marks.filter(mark => !this.#given.has(mark));
    if (fresh.length === 0) return;
    const { by, run } = this.#watched;
    const since = this.#deps.now();
    await this.#deps.db.transaction({}, async tx => {
      const found = run && (await findRun(tx, run.found.id, since));
      if (found === null) throw new Error('the run of the call has ended, so it cannot be marked');
      insertMarks(
        tx,
        fresh.map(name => ({ run: found.number, shadow: '', name, since, ...by })),
      );
    });
    for (const mark of fresh) this.#given.add(mark);
  }
}

/** Others have a turn in between. An error that comes of looking at a result may quote it, so that only its kind is told. */
async function safely<T>(looking: InTurns<T>): Promise<T> {
  try {
    for (;;) {
      const turn = looking.next();
      if (turn.done) return turn.value;
      await new Promise(setImmediate);
    }
  } catch (error) {
    throw new Error(`looking at the result failed with ${error instanceof Error ? error.name : 'no error'}`);
  }
}
