// A slice of time for work that a group does while its transaction holds locks. It is asked before each piece whether it
// is used up, so it is exceeded by one piece at most, and the first piece is always done.

export class Slice {
  readonly #ms: number;
  readonly #clock: () => number;
  #used = 0;

  constructor(ms: number, clock: () => number) {
    this.#ms = ms;
    this.#clock = clock;
  }

  get isUsedUp(): boolean {
    return this.#used >= this.#ms;
  }

  /** Does a piece of work that waits for nothing, and counts the time that it takes. */
  spend<T>(work: () => T): T {
    const begun = this.#clock();
    try {
      return work();
    } finally {
      this.#used += this.#clock() - begun;
    }
  }
}
