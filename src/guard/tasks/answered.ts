// Finds the waiting tasks of this process whose questions have ended. Their calls are made if they were approved, and let go
// if they were not. Also finds those whose calls run and are to be cancelled. A signal wakes the worker as soon as somebody
// has answered or cancelled; it looks every second as well.

import { listDueTasks, listWaitingTasks } from '../../store/tasks.ts';
import type { Deps } from '../deps.ts';

/** A key whose calls find no place must not keep those of others from being found. */
const BATCH = 1000;
/**
 * A call is held a moment after its row was written. If nobody holds it after this long, its process was too slow with it,
 * or had no answer from the store.
 */
const PATIENCE_MS = 5000;

/** How often it is looked whether the calls that are held are still needed. */
const NEEDED_MS = 10_000;
/**
 * How often a process without a call looks. It has no task either, unless it was not known of a commit whether it took
 * effect.
 */
const IDLE_MS = 10_000;

/** The calls that this process holds, by the ids of their tasks. */
export interface Holder {
  held: () => readonly string[];
  holds: (taskId: string) => boolean;
  /** Whether no call is held, and none runs for a task. */
  isIdle: () => boolean;
  /** Begins to make a call, unless it has begun. */
  resume: (taskId: string) => void;
  /** Another process holds the call now, or it was repeated and freed by another way. */
  letGo: (taskId: string) => void;
  /** The call will not be made. */
  lose: (taskId: string) => void;
  /** Cancels the call that runs for the task. It is asked again until the call has ended. */
  cancel: (taskId: string) => void;
}

/** The job of the worker. */
export function answers({ db, processId, now }: Pick<Deps, 'db' | 'processId' | 'now'>, holder: Holder) {
  /** Tasks whose calls were not held when they were first looked for. */
  let missing = new Map<string, number>();
  let next = 0;
  let looked = 0;
  const letGoOthers = async () => {
    // A call is held after its row was written, so that all of these have been written.
    const held = holder.held();
    if (now() < next || held.length === 0) return;
    next = now() + NEEDED_MS;
    const waiting = new Set(await listWaitingTasks(db, processId));
    for (const id of held) if (!waiting.has(id)) holder.letGo(id);
  };
  return async (): Promise<void> => {
    if (holder.isIdle() && missing.size === 0 && now() - looked < IDLE_MS) return;
    looked = now();
    const stillMissing = new Map<string, number>();
    for (const { id, state, approvalStatus } of await listDueTasks(db, processId, BATCH)) {
      if (state === 'begun') holder.cancel(id);
      else if (approvalStatus !== 'approved') holder.lose(id);
      else if (holder.holds(id)) holder.resume(id);
      else {
        const since = missing.get(id) ?? now();
        if (now() - since >= PATIENCE_MS) holder.lose(id);
        else stillMissing.set(id, since);
      }
    }
    missing = stillMissing;
    await letGoOthers();
  };
}
