// What one answer to a client has of its key's share: the bytes that were read for it, its turns for large pieces of work,
// and what else it keeps until the client has read it. An answer that stays small neither counts nor waits.

import type { CallerTurns } from './caller-turns.ts';
import type { Part, Shares } from './shares.ts';

/** An answer of at most this many bytes does not count: the buffers of its socket hold it. */
export const SMALL_ANSWER_BYTES = 64 * 1024;

export class AnswerRation {
  /** Whose share it counts for. */
  readonly caller: string;
  readonly #shares: Shares;
  readonly #turns: CallerTurns;
  #part: Part | null = null;
  #bytes = 0;
  #counted = 0;
  #isFree = false;
  /** What is given back together with the bytes. */
  readonly #kept: (() => void)[] = [];

  constructor(caller: string, shares: Shares, turns: CallerTurns) {
    this.caller = caller;
    this.#shares = shares;
    this.#turns = turns;
  }

  /** How many bytes were read for the answer. */
  get bytes(): number {
    return this.#bytes;
  }

  get isLarge(): boolean {
    return isLarge(this.#bytes);
  }

  /**
   * Counts more bytes of the answer. Resolves when the key's share has room for them, and rejects with the reason of the
   * signal. Null: the answer is still small, so there is nothing to wait for.
   */
  grow(bytes: number, signal: AbortSignal): Promise<void> | null {
    this.#bytes += bytes;
    if (!this.isLarge || this.#isFree) return null;
    const more = this.#bytes - this.#counted;
    this.#counted = this.#bytes;
    this.#part ??= this.#shares.part(this.caller);
    // The client may have gone meanwhile.
    return this.#part.growWithRoom(more, signal).then(() => (this.#isFree ? this.#part?.free() : undefined));
  }

  /** Gives bytes back that do not become a part of the answer. */
  shrink(bytes: number): void {
    this.#bytes -= bytes;
    const less = this.#counted - this.#bytes;
    if (less <= 0) return;
    this.#counted -= less;
    this.#part?.shrink(less);
  }

  /** Takes what another ration of the same key has. */
  adopt(other: AnswerRation): void {
    this.#bytes += other.#bytes;
    this.#counted += other.#counted;
    // The part itself, which keeps its age.
    if (this.#part === null) this.#part = other.#part;
    else this.keep(() => other.#part?.free());
    if (this.#isFree) this.#part?.free();
  }

  /** Waits for the key's turn to parse or to write so many bytes. Small work does not wait: null. */
  turn(bytes: number): Promise<void> | null {
    return isLarge(bytes) ? this.#turns.next(this.caller) : null;
  }

  /** Calls `giveBack` when the answer is read, or when nobody wants it any more. */
  keep(giveBack: () => void): void {
    if (this.#isFree) giveBack();
    else this.#kept.push(giveBack);
  }

  /** The answer is read, or nobody wants it any more. It may be called more than once. */
  free(): void {
    this.#isFree = true;
    this.#part?.free();
    for (const giveBack of this.#kept.splice(0)) giveBack();
  }
}

const isLarge = (bytes: number): boolean => bytes > SMALL_ANSWER_BYTES;
