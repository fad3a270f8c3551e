// Finds out when tasks change that clients of this replica listen to. The store is read, so that changes by every replica
// are seen: once a second while somebody listens, and at once when a replica signals work.

import type { Deps } from '../../guard/deps.ts';
import { onHint } from '../../guard/hints.ts';
import { listTaskMarks, type TaskMark } from '../../store/task-marks.ts';

const POLL_MS = 1000;
/** The shortest time between two reads, however much is signalled. */
const REST_MS = 100;
/** How often a tool server is asked for a task on which it works by itself. */
const SERVER_POLL_MS = 5000;
/** How many tasks are read at a time. */
const PAGE = 500;

type Changed = (taskId: string) => void;

export class TaskWatch {
  readonly #deps: Pick<Deps, 'db' | 'now'>;
  readonly #failed: (error: unknown) => void;
  readonly #watched = new Map<string, { mark: string | null; watchers: Set<Changed> }>();
  #running = false;
  #poked = false;
  #wake: () => void = () => {};

  constructor(deps: Pick<Deps, 'db' | 'now'>, failed: (error: unknown) => void) {
    this.#deps = deps;
    this.#failed = failed;
    const poke = () => this.#poke();
    deps.db.onWake(poke);
    onHint(deps.db, 'task', poke);
  }

  /** Calls `changed` once soon, and then whenever the task may have changed. Returns the function that stops it. */
  watch(taskId: string, changed: Changed): () => void {
    const known = this.#watched.get(taskId) ?? { mark: null, watchers: new Set() };
    this.#watched.set(taskId, known);
    known.mark = null;
    known.watchers.add(changed);
    this.#poke();
    if (!this.#running) void this.#run();
    return () => {
      known.watchers.delete(changed);
      if (known.watchers.size > 0 || this.#watched.get(taskId) !== known) return;
      this.#watched.delete(taskId);
      if (this.#watched.size === 0) this.#poke();
    };
  }

  #poke(): void {
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
      const now = this.#deps.now();
      const marks = await listTaskMarks(this.#deps.db, page, now);
      const found = new Map(marks.map(each => [each.id, written(each, now)]));
      for (const id of page) this.#compare(id, found.get(id) ?? 'unknown');
    }
  }

  #compare(id: string, mark: string): void {
    const known = this.#watched.get(id);
    if (known === undefined || known.mark === mark) return;
    known.mark = mark;
    for (const changed of [...known.watchers]) changed(id);
  }
}

/** What a tool server works on by itself changes without our knowing, so it counts as changed from time to time. */
function written({ mark, atServer }: TaskMark, now: number): string {
  return atServer === 1 ? `${mark} ${Math.floor(now / SERVER_POLL_MS)}` : mark;
}
