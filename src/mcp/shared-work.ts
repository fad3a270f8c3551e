// What the messages of one HTTP request share: work that is done once however many of them need it, and a bound on all
// their lists. A batch of a hundred `tools/list`, of 5 KB, was answered with 381 MB, which took eleven seconds.

import type { JsonObject } from '../core/wire/json.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import { ANSWER_BYTES } from '../guard/rations/rations.ts';
import { CODES, RpcError } from './protocol.ts';

/** A list that was made, and its size. */
export interface MadeList {
  result: JsonObject;
  bytes: number;
}

export class SharedWork {
  readonly #done = new Map<string, Promise<unknown>>();
  #listBytes = 0;

  /** Does the work with this name, unless it was done before. */
  once<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#done.get(name) as Promise<T> | undefined;
    if (before !== undefined) return before;
    const done = work();
    this.#done.set(name, done);
    return done;
  }

  /**
   * A list, which is made once. `make` counts it for the first message that wants it; each further one counts for itself,
   * and is refused once all lists together are too large. Calls are not bounded together: they have run, and their results
   * wait for room one by one.
   */
  async list(
    name: string,
    { ration, signal }: { ration: AnswerRation; signal: AbortSignal },
    make: () => Promise<MadeList>,
  ): Promise<JsonObject> {
    const isFirst = !this.#done.has(name);
    const { result, bytes } = await this.once(name, make);
    this.#listBytes += bytes;
    if (isFirst) return result;
    if (this.#listBytes > ANSWER_BYTES) throw tooMuch();
    await ration.grow(bytes, signal);
    return result;
  }
}

function tooMuch(): RpcError {
  const what = `The lists that this batch asks for have more than ${ANSWER_BYTES} bytes together.`;
  return new RpcError(CODES.internal, `${what} Ask for this one in a request of its own.`);
}
