// The final answers of calls that tasks stand for, as the policy leaves them. They are held in memory only, as bytes with
// a bound, and are not stored, so that a task can be asked about more than once and at any replica. When their time is
// over they are let go, and overwritten. Whose task it is, and what else is known of it, is not decided here.

import { isObject, type JsonObject, parseJsonBytes, writeJson } from '../../core/wire/json.ts';
import type { Exchanging } from '../exchange/exchange.ts';
import { type Entry, type HeldFigures, Holding } from '../exchange/holding.ts';
import { type Kind, RESULT } from '../exchange/kinds.ts';

/** A larger answer is not held. */
export const MOST_RESULT_BYTES = 5 * 1024 * 1024;
/** How long it is believed that nobody holds an answer: a client that asks every five seconds looks for it each time. */
const MISSING_MS = 3000;

/** As JSON-RPC has it: what the call came back with, or why it failed. */
export type FinalAnswer = { result: JsonObject } | { error: JsonObject };

/** Waits until there is room, and time, to read so many bytes for whoever asks. */
export type Admit = (bytes: number) => Promise<void>;

/** An answer, and how many bytes it is held as. */
interface Read {
  answer: FinalAnswer;
  bytes: number;
}

type Storing = Pick<Exchanging, 'db' | 'vault' | 'now' | 'mayGive'>;

export class HeldResults {
  /** By the id of the call. */
  readonly #holding: Holding<Entry, Read>;

  /**
   * `limit` is in bytes, for all answers together; where there is no room, the oldest of the key that takes most goes. `mayGive` says whether the
   * store knows the call and its answer may still be fetched. `kind` says how long other replicas are waited for.
   */
  constructor(storing: Storing, limit: number, kind: Kind = RESULT) {
    const options = { limit, copyMs: null, missingMs: MISSING_MS, read, entryOf };
    this.#holding = new Holding(kind, storing, options);
  }

  get figures(): HeldFigures {
    return this.#holding.figures;
  }

  /** Holds the answer of a call of this key. `false`: it is too large. Where there is no room at all, it is lost. */
  hold(toolCallId: string, keyId: string, answer: FinalAnswer, until: number): boolean {
    const bytes = new TextEncoder().encode(writeJson({ ...answer }));
    const isSmall = bytes.length <= MOST_RESULT_BYTES;
    if (isSmall) this.#holding.hold(toolCallId, { bytes, beside: null, until, owner: keyId });
    else {
      bytes.fill(0);
      this.#holding.forget(toolCallId);
    }
    return isSmall;
  }

  /**
   * Null if no replica holds it. `until` is the end of its time, as the store has it, and `keyId` the key for which it is looked up. It may be large, and whoever asks may
   * ask for it often and read slowly: `admit` is waited for before it is read.
   */
  async find(
    toolCallId: string,
    until: number,
    admit: Admit = async () => {},
    keyId: string | null = null,
  ): Promise<FinalAnswer | null> {
    const here = this.#holding.here(toolCallId)?.bytes.length;
    if (here !== undefined) await admit(here);
    const found = await this.#holding.find(toolCallId, until, keyId);
    if (found !== null && here === undefined) await admit(found.bytes);
    return found?.answer ?? null;
  }

  /** Lets go what has expired. It may be called at any time. */
  tend(): void {
    this.#holding.tend();
  }

  /** Lets everything go, when the service stops. */
  close(): void {
    this.#holding.close();
  }
}

function read(bytes: Uint8Array): Read {
  return { answer: answerIn(bytes), bytes: bytes.length };
}

function answerIn(bytes: Uint8Array): FinalAnswer {
  const answer = parseJsonBytes(bytes);
  if (isObject(answer) && isObject(answer['result'])) return { result: answer['result'] };
  if (isObject(answer) && isObject(answer['error'])) return { error: answer['error'] };
  throw new Error('what is held under the id of a call is no answer');
}

const entryOf = (_: Read, bytes: Uint8Array, until: number): Entry => ({
  bytes,
  beside: null,
  until,
  owner: '',
});
