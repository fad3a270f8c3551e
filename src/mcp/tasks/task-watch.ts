// Finds out when tasks change that clients of this replica listen to.

import type { Deps } from '../../guard/deps.ts';
import { onHint } from '../../guard/hints.ts';
import { listTaskMarks, type TaskMark } from '../../store/task-marks.ts';
import { StoreWatch } from '../store-watch.ts';

/** How often a tool server is asked for a task on which it works by itself. */
const SERVER_POLL_MS = 5000;

export class TaskWatch extends StoreWatch {
  constructor({ db, now }: Pick<Deps, 'db' | 'now'>, failed: (error: unknown) => void) {
    const read = async (ids: readonly string[]) => {
      const at = now();
      return new Map((await listTaskMarks(db, ids, at)).map(each => [each.id, written(each, at)]));
    };
    super(db, read, failed);
    onHint(db, 'task', () => this.poke());
  }
}

/** What a tool server works on by itself changes without our knowing, so it counts as changed from time to time. */
function written({ mark, atServer }: TaskMark, now: number): string {
  return atServer === 1 ? `${mark} ${Math.floor(now / SERVER_POLL_MS)}` : mark;
}
