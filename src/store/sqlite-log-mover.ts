// Moves the write-ahead log of SQLite into the file. SQLite would do it itself, within the commit that has made the log too
// long, and so on the thread that serves: at 2,000 checks per second that took several milliseconds, eight times a second.
// Here a thread of its own does it, beside the commits.

// @ts-expect-error: the compiler does not know that a module can be imported as text.
import moveThread from './sqlite-move-thread.ts' with { type: 'text' };
import { Thread } from './thread.ts';

/** When the log has so many pages that are not in the file, they are moved. They are 32 MB. */
const MOST_PAGES = 8192;
/** Transactions wait while so many are moved. */
const FEW_PAGES = 1024;
/** After so many commits it is asked how many there are. */
const LOOK_EVERY = 64;
/** The log, or the file, may not be on the disk although SQLite wanted it to be. */
const NOT_SYNCED = /^SQLITE_IOERR_(DIR_)?FSYNC$/;

export interface MovedLog {
  /** How many pages of the log are not in the file. It must be called between two transactions. */
  unmovedPages(): number;
  /** Runs work between two transactions. */
  between<T>(work: () => Promise<T>): Promise<T>;
  notSynced(error: unknown): void;
}

export class LogMover {
  readonly #path: string;
  readonly #log: MovedLog;
  #thread: Thread<string, null> | null = null;
  #commits = 0;
  #moving: Promise<void> | null = null;

  constructor(path: string, log: MovedLog) {
    this.#path = path;
    this.#log = log;
  }

  /** Must be called after each commit. It never throws, because the transaction is committed. */
  committed(): void {
    if (++this.#commits % LOOK_EVERY !== 0 || this.#moving !== null) return;
    const unmoved = this.#look();
    if (unmoved < MOST_PAGES) return;
    this.#moving = this.#move(unmoved).finally(() => {
      this.#moving = null;
    });
  }

  #look(): number {
    try {
      return this.#log.unmovedPages();
    } catch {
      return 0;
    }
  }

  async close(): Promise<void> {
    await this.#moving;
    this.#thread?.end();
  }

  /**
   * SQLite begins the log again only when all of its pages are in the file, and commits go on meanwhile. So the pages of
   * those are moved again and again, until they are few or a slow disk does not get ahead of them, and the last of them in
   * a step for which transactions wait. It is left out while many are unmoved: then a program from outside reads an old
   * state of the file, or transactions would wait for too long.
   */
  async #move(unmoved: number): Promise<void> {
    try {
      let left = unmoved;
      let before: number;
      do {
        before = left;
        await this.#ask();
        left = await this.#log.between(async () => this.#look());
      } while (left > FEW_PAGES && left < before / 2);
      if (left < MOST_PAGES) await this.#log.between(() => this.#ask());
    } catch (error) {
      // After other errors, such as a full disk, the pages are still in the log, and the next commits try again.
      if (NOT_SYNCED.test((error as { code?: string }).code ?? '')) this.#log.notSynced(error);
    }
  }

  async #ask(): Promise<void> {
    if (this.#thread === null || this.#thread.ended) this.#thread = new Thread(moveThread);
    await this.#thread.ask(this.#path);
  }
}
