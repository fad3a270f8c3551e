// Finds out when rows of the store change that requests of this replica wait for. The store is read, so that changes by every
// replica are seen: once a second while somebody waits, and at once when a replica signals work.

import type { Db } from '../store/engine/db.ts';

const POLL_MS = 1000;
/** The shortest time between two reads, however much is signalled. */
const REST_MS = 100;
/** How many rows are read at a time. */
const PAGE = 500;
/** The mark of a row that was not found. */
const UNKNOWN = 'unknown';

type Changed = (id: string, mark: string) => void;

interface Watched {
  mark: string | null;
  watchers: Set<Changed>;
}

/** Reads a text for each of these rows. It is another one once the row has changed. */
type ReadMarks = (ids: readonly string[]) => Promise<Map<string, string>>;

export class StoreWatch {
  readonly #read: ReadMarks;
  readonly #failed: (error: unknown) => void;
  readonly #watched = new Map<string, Watched>();
  #running = false;
  #poked = false;
  #wake: () => void = () => {};

  constructor(db: Pick<Db, 'onWake'>, read: ReadMarks, failed: (error: unknown) => void) {
    this.#read = read;
    this.#failed = failed;
    db.onWake(() => this.poke());
  }

  /** Calls `changed` once soon, and then whenever the row may have changed. Returns the function that stops it. */
  watch(id: string, changed: Changed): () => void {
    const known = this.#watched.get(id) ?? { mark: null, watchers: new Set() };
    this.#watched.set(id, known);
    known.mark = null;
    known.watchers.add(changed);
    this.poke();
    if (!this.#running) void this.#run();
    return () => {
      known.watchers.delete(changed);
      if (known.watchers.size > 0 || this.#watched.get(id) !== known) return;
      this.#watched.delete(id);
      if (this.#watched.size === 0) this.poke();
    };
  }

  /** Something may have changed. */
  poke(): void {
    this.#poked = true;
    this.#wake();
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (;;) {
      await this.#pause();
      if (this.#watched.size === 0) break;
      this.#poked = false;
      try {
        await this.#look();
      } catch (error) {
        this.#failed(error);
      }
      await Bun.sleep(REST_MS);
    }
    this.#running = false;
  }

  async #pause(): Promise<void> {
    if (this.#poked) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, POLL_MS);
    await promise;
    clearTimeout(timer);
  }

  async #look(): Promise<void> {
    const ids = [...this.#watched.keys()];
    for (let at = 0; at < ids.length; at += PAGE) {
      const page = ids.slice(at, at + PAGE);
      const marks = await this.#read(page);
      for (const id of page) this.#compare(id, marks.get(id) ?? UNKNOWN);
    }
  }

  #compare(id: string, mark: string): void {
    const known = this.#watched.get(id);
    if (known === undefined || known.mark === mark) return;
    known.mark = mark;
    for (const changed of [...known.watchers]) changed(id, mark);
  }
}
