// The calls of tasks that this process makes because they were approved. Nobody waits for them on a connection, so that they
// are known here: to be cancelled, and to be waited for when the service stops.

/** How long it takes until the end of a call is recorded again that could not be. */
const AGAIN_MS = 1000;

export class TaskRuns {
  readonly #failed: (error: unknown) => void;
  /** What cancels the call of a task, by the id of the task. */
  readonly #cancels = new Map<string, AbortController>();
  /** By the id of the task. */
  readonly #runs = new Map<string, Promise<void>>();
  /** What has to be recorded and could not be yet. */
  readonly #owed = new Set<Promise<void>>();
  /** What goes on although its client may have gone. */
  readonly #others = new Set<Promise<unknown>>();
  #isOver = false;

  /** `failed` is told of what will be tried again. */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** Whether the service stops. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether no call runs for a task. */
  get isIdle(): boolean {
    return this.#cancels.size === 0;
  }

  /** Waits for this too when the service stops. */
  waitFor<T>(work: Promise<T>): Promise<T> {
    const done = work.catch(() => {}).finally(() => this.#others.delete(done));
    this.#others.add(done);
    return work;
  }

  /** Begins the call of a task, unless it is under way. A call that fails is begun again when it is next asked for. */
  begin(taskId: string, run: (cancel: AbortController) => Promise<void>): void {
    if (this.#isOver || this.#runs.has(taskId)) return;
    const cancel = new AbortController();
    const unfollow = this.follow(taskId, cancel);
    const done = run(cancel)
      .catch(this.#failed)
      .finally(() => {
        unfollow();
        this.#runs.delete(taskId);
      });
    this.#runs.set(taskId, done);
  }

  /** A call that runs for a task can be cancelled by its id, until the function is called that this returns. */
  follow(taskId: string, cancel: AbortController): () => void {
    this.#cancels.set(taskId, cancel);
    return () => {
      if (this.#cancels.get(taskId) === cancel) this.#cancels.delete(taskId);
    };
  }

  /** Cancels the call of a task at its tool server. */
  cancel(taskId: string): void {
    this.#cancels.get(taskId)?.abort();
  }

  /** Tries until it succeeds. Resolves after the first attempt: true if that did. */
  async insist(record: () => Promise<void>): Promise<boolean> {
    try {
      await record();
      return true;
    } catch (error) {
      this.#failed(error);
      const owed = this.#again(record).finally(() => this.#owed.delete(owed));
      this.#owed.add(owed);
      return false;
    }
  }

  /** Once the service stops, it is tried a last time. */
  async #again(record: () => Promise<void>): Promise<void> {
    for (let isLast = false; !isLast; ) {
      await Bun.sleep(AGAIN_MS);
      isLast = this.#isOver;
      const isDone = await record().then(
        () => true,
        () => false,
      );
      if (isDone) return;
    }
  }

  /**
   * Begins no more calls, and waits for those under way. `giveUp` ends those that are still under way after the grace
   * period.
   */
  async stop(graceMs: number, giveUp: () => void): Promise<void> {
    this.#isOver = true;
    const late = setTimeout(giveUp, graceMs);
    await Promise.all([...this.#runs.values(), ...this.#others]);
    clearTimeout(late);
    await Promise.all(this.#owed);
  }
}
