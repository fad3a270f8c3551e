// Moves the write-ahead log of SQLite into the file. SQLite would do it itself, within the commit that has made the log too
// long, and so on the thread that serves: at 2,000 checks per second that took several milliseconds, eight times a second.
// Here a thread of its own does it, beside the commits. If it fails, the log grows and checks go on.

import { FatalStoreError } from './db.ts';
// @ts-expect-error: the compiler does not know that a module can be imported as text.
import moveThread from './sqlite-move-thread.ts' with { type: 'text' };
import { Thread } from './thread.ts';

/** When this many pages of the log (32 MB) are not in the file yet, they are moved. */
const MOVE_AT_PAGES = 8192;
/** When at most this many (4 MB) are left, transactions wait while the rest is moved. */
const LAST_PAGES = 1024;
/** How many commits pass between two looks at the size of the log. */
const LOOK_EVERY = 64;
/** The log, or the file, may not be on the disk although SQLite wanted it to be. */
const NOT_SYNCED = /^SQLITE_IOERR_(DIR_)?FSYNC$/;

export interface MovedLog {
  /** How many pages of the log are not in the file. It must be called between two transactions. */
  unmovedPages(): number;
  /** Runs work between two transactions. */
  between<T>(work: () => Promise<T>): Promise<T>;
  /** An error if the files are not those that are open: the log would be moved into another file. */
  look(): FatalStoreError | null;
  notSynced(error: unknown): void;
  /** Moving has begun to fail, or it works again (null). */
  moving(failure: unknown): void;
}

export class LogMover {
  readonly #path: string;
  readonly #log: MovedLog;
  #thread: Thread<string, null> | null = null;
  #commits = 0;
  #moving: Promise<void> | null = null;
  #isFailing = false;
  /** How many times the log could not be moved. */
  failures = 0;

  constructor(path: string, log: MovedLog) {
    this.#path = path;
    this.#log = log;
  }

  /** Must be called after each commit. It never throws, because the transaction is committed. */
  committed(): void {
    if (++this.#commits % LOOK_EVERY !== 0 || this.#moving !== null) return;
    const unmoved = this.#look();
    if (unmoved < MOVE_AT_PAGES) return;
    this.#moving = this.#move(unmoved).finally(() => {
      this.#moving = null;
    });
  }

  #look(): number {
    try {
      return this.#log.unmovedPages();
    } catch (error) {
      this.#ended(error);
      return 0;
    }
  }

  async close(): Promise<void> {
    await this.#moving;
    this.#thread?.end();
  }

  async #move(unmoved: number): Promise<void> {
    try {
      await this.#moveMost(unmoved);
      this.#ended(null);
    } catch (error) {
      // The store has failed for good and has reported it.
      if (error instanceof FatalStoreError) return;
      if (NOT_SYNCED.test((error as { code?: string }).code ?? '')) this.#log.notSynced(error);
      // After other errors, such as a full disk, the pages are still in the log, and the next commits try again.
      else this.#ended(error);
    }
  }

  /** The next commits may fail in the same way many times a second, so only changes are reported. */
  #ended(failure: unknown): void {
    if (failure !== null) this.failures++;
    if (this.#isFailing === (failure !== null)) return;
    this.#isFailing = failure !== null;
    this.#log.moving(failure);
  }

  /**
   * SQLite starts the log again from its beginning only when all of its pages are in the file, and commits add pages
   * meanwhile. So pages are moved repeatedly, until few are left or the disk is too slow to gain on the commits. The
   * last pages are moved while transactions wait. That step is left out if many pages are left: transactions would wait
   * for too long, or another program that reads an old state of the file keeps them from being moved.
   */
  async #moveMost(unmoved: number): Promise<void> {
    let left = unmoved;
    let before: number;
    do {
      before = left;
      await this.#ask();
      left = await this.#log.between(async () => this.#look());
    } while (left > LAST_PAGES && left < before / 2);
    if (left < MOVE_AT_PAGES) await this.#log.between(() => this.#ask());
  }

  async #ask(): Promise<void> {
    const broken = this.#log.look();
    if (broken !== null) throw broken;
    if (this.#thread === null || this.#thread.ended) this.#thread = new Thread(moveThread);
    await this.#thread.ask(this.#path);
  }
}
