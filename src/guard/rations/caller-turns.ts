// Large pieces of work (a body to parse, a list to write) take turns: one at a time in this process, round robin over
// callers, so that a caller with a hundred of them delays another's only by one. After each piece the event loop is left
// to everything else for as long as the piece took. Small work does not come here.

/**
 * No rest is shorter: those who wait would otherwise be answered together, and come back together with bodies whose mere
 * arrival takes milliseconds each.
 */
const SHORTEST_REST_MS = 2;
/** No rest is longer, however long a piece took. */
const LONGEST_REST_MS = 100;

export class CallerTurns {
  /** The pieces of work that wait, by caller. The caller whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #running = false;

  /** Resolves when it is the caller's turn. The work has to begin at once and to end before anything is waited for. */
  next(caller: string): Promise<void> {
    return new Promise(resolve => {
      const own = this.#waiting.get(caller);
      if (own === undefined) this.#waiting.set(caller, [resolve]);
      else own.push(resolve);
      if (!this.#running) this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (let begin = this.#take(); begin !== undefined; begin = this.#take()) {
      const begun = performance.now();
      begin();
      await new Promise(setImmediate);
      const took = performance.now() - begun;
      await Bun.sleep(Math.min(Math.max(took, SHORTEST_REST_MS), LONGEST_REST_MS));
    }
    this.#running = false;
  }

  /** Takes the next piece, and puts its caller behind the others. */
  #take(): (() => void) | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [caller, own] = first;
    const begin = own.shift();
    this.#waiting.delete(caller);
    if (own.length > 0) this.#waiting.set(caller, own);
    return begin;
  }
}
