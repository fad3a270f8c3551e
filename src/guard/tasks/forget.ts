// Removes tasks that nobody may ask about any more. Retention removes executions, together with the audit entries.

import { DAY } from '../../core/time/duration.ts';
import { forgetTasks } from '../../store/tasks.ts';
import { type Chore, everyMinute } from '../chores.ts';

/** A batch takes a few milliseconds on SQLite. */
const BATCH = 500;
/**
 * They are kept this long after nobody may ask about them: the history of approvals says what became of their calls, and a
 * replica whose clock is slow still shows them.
 */
const KEPT_MS = DAY;

export function forgetOldTasks(): Chore {
  return everyMinute(async deps => {
    const removed = await deps.db.transaction({}, tx => forgetTasks(tx, deps.now() - KEPT_MS, BATCH));
    return removed === BATCH;
  });
}
