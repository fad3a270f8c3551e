// Log and progress messages of a call whose policy has a say about results. Each is looked at by itself and passed on at
// once, in the order in which they came; one that must not be passed on is left out.

import type { JsonObject } from '../core/wire/json.ts';
import type { GuardedCall } from '../guard/check/guarded-call.ts';

/** How many may wait while marks are committed. Clients can do without such messages, so that further ones are left out. */
const MOST_WAITING = 100;

export class GuardedNotes {
  readonly #guarded: GuardedCall;
  readonly #passOn: (notification: JsonObject) => void;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #ended = false;

  constructor(guarded: GuardedCall, passOn: (notification: JsonObject) => void) {
    this.#guarded = guarded;
    this.#passOn = passOn;
  }

  take(notification: JsonObject): void {
    if (this.#waiting >= MOST_WAITING) return;
    this.#waiting++;
    this.#last = this.#last.then(() => this.#lookAt(notification)).finally(() => this.#waiting--);
  }

  /** Resolves once all that were taken are passed on or left out. */
  passed(): Promise<void> {
    return this.#last;
  }

  /** From now on nothing is passed on. */
  end(): void {
    this.#ended = true;
  }

  async #lookAt(notification: JsonObject): Promise<void> {
    if (this.#ended) return;
    const { params } = notification;
    const seen = await this.#guarded.note(params as JsonObject);
    if (seen !== null && !this.#ended) this.#passOn({ ...notification, params: seen });
  }
}
