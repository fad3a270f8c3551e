// Gives up calls that nobody forwards, although it is recorded that this process does. It was not known of a commit
// whether it took effect, so that the call was not forwarded and its caller got an error. If the commit did take effect,
// nobody else would ever end it.

import { listForwardedBy } from '../../store/executions.ts';
import type { Deps } from '../deps.ts';
import type { Job } from '../outgoing/worker.ts';
import { giveUpCalls } from './end-call.ts';

/** How often they are looked for, and how old they are at least. */
const EVERY_MS = 30_000;
const BATCH = 100;

/** A job of the worker of each process, about its own calls. */
export function strays(deps: Deps): Job {
  const { db, processId, executing, now } = deps;
  let next = now() + EVERY_MS;
  return async () => {
    if (now() < next) return;
    next = now() + EVERY_MS;
    const found = await listForwardedBy(db, processId, now() - EVERY_MS, BATCH + executing.size);
    const strays = found.filter(id => !executing.has(id)).slice(0, BATCH);
    if (strays.length === 0) return;
    await db.transaction({}, tx => giveUpCalls(deps, tx, processId, strays));
    db.wake();
  };
}
