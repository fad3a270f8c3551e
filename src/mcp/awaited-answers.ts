// Waits until people have answered approvals, for the calls and clients of this process whose people were sent to the page of
// one (approve-here.ts). Whoever waits holds nothing of the store meanwhile. How many may wait is bounded.

import { findPending } from '../store/approvals.ts';
import type { Db } from '../store/engine/db.ts';
import { forAWhile } from './own-questions.ts';
import { StoreWatch } from './store-watch.ts';

/** Beyond it, nobody waits: the client asks again at once. */
const MAX_WAITING = 1000;
const PENDING = 'pending';

export class AwaitedAnswers {
  readonly #watch: StoreWatch;
  /** What ends the waits of calls. */
  readonly #waits = new Set<() => void>();
  /** The clients that are told afterwards. */
  readonly #told = new Set<string>();
  #isOver = false;

  constructor(db: Db, failed: (error: unknown) => void) {
    const read = async (ids: readonly string[]) =>
      new Map((await findPending(db, ids)).map(id => [id, PENDING]));
    this.#watch = new StoreWatch(db, read, failed);
  }

  /** Whether the approval is answered, or lapses, within a while. */
  async within(referenceId: string, signal: AbortSignal): Promise<boolean> {
    if (this.#isFull || this.#isOver) return false;
    let ended = false;
    await forAWhile(done => {
      this.#waits.add(done);
      const stop = this.#onEnded(referenceId, () => {
        ended = true;
        done();
      });
      return () => {
        stop();
        this.#waits.delete(done);
      };
    }, signal);
    return ended;
  }

  /** Calls `tell` once the approval has ended; only once for the same name. */
  afterwards(name: string, referenceId: string, tell: () => void): void {
    if (this.#isFull || this.#told.has(name)) return;
    this.#told.add(name);
    const stop = this.#onEnded(referenceId, () => {
      stop();
      this.#told.delete(name);
      tell();
    });
  }

  /** The service stops: nobody waits any longer. */
  giveUp(): void {
    this.#isOver = true;
    for (const done of [...this.#waits]) done();
  }

  get #isFull(): boolean {
    return this.#waits.size + this.#told.size >= MAX_WAITING;
  }

  #onEnded(referenceId: string, ended: () => void): () => void {
    return this.#watch.watch(referenceId, (_, mark) => mark !== PENDING && ended());
  }
}
