// What happens to runs beside the checks: operators see them and clear their marks, and those that have ended are removed.

import { GuardError } from '../../core/errors.ts';
import { deleteEndedRuns, deleteMarks, type FoundRun, findRun, listRuns } from '../../store/runs.ts';
import { recordChange } from '../changes.ts';
import { type Chore, everyMinute } from '../chores.ts';
import type { Actor, Deps } from '../deps.ts';
import { keyLock } from '../locks.ts';

/** Those that have not ended, newest first. */
export function listedRuns(
  { db, now }: Deps,
  filter: { keyId?: string | undefined; marked?: boolean | undefined },
  limit: number,
  before: string,
): Promise<FoundRun[]> {
  return listRuns(db, filter, now(), limit, before);
}

export async function requireRun({ db, now }: Deps, id: string): Promise<FoundRun> {
  const run = await findRun(db, id, now());
  if (run === null) throw noSuchRun();
  return run;
}

/** Once this has returned, calls of the run are decided as if it had read nothing so far. What is known stays known. */
export async function clearRun(deps: Deps, actor: Actor, id: string): Promise<void> {
  const { keyId } = await requireRun(deps, id);
  await deps.db.transaction({ exclusive: [keyLock(keyId)] }, async tx => {
    const run = await findRun(tx, id, deps.now());
    if (run === null) throw noSuchRun();
    const marks = [...new Set(run.marks.map(({ name }) => name))].sort();
    await deleteMarks(tx, run.number);
    await recordChange(tx, deps, actor, 'run.clear', id, { keyId, marks });
  });
}

function noSuchRun(): GuardError {
  return new GuardError('not_found', 'There is no run with this id, or it has ended.');
}

/** A batch takes a few milliseconds on SQLite. */
const BATCH = 500;
/** Runs are kept this long after their end, because a replica whose clock is slow still reads them. */
const KEPT_MS = 3_600_000;

/** Removes runs that ended an hour ago, once a minute. */
export function forgetRuns(): Chore {
  return everyMinute(deps => deps.db.transaction({}, tx => deleteEndedRuns(tx, deps.now() - KEPT_MS, BATCH)));
}
