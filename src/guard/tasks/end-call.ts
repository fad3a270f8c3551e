// Records what became of a call whose client was promised to learn it: its outcome, that it does not run any more, and the
// end of its task, in one transaction. Whoever tells of the end does so after this.

import { endExecution, giveUpExecution } from '../../store/executions.ts';
import { insertOutcomes, type OutcomeRecord } from '../../store/log/outcomes.ts';
import { endTaskOf, findTaskOfCall } from '../../store/tasks.ts';
import type { Deps } from '../deps.ts';
import { giveHint } from '../hints.ts';

export type EndedCall = Omit<OutcomeRecord, 'at'>;

type Storing = Pick<Deps, 'db' | 'now' | 'settings'>;

/** Records the outcome of a call that was forwarded. */
export async function endCall({ db, now, settings }: Storing, ended: EndedCall): Promise<void> {
  const at = now();
  const { toolCallId } = ended;
  const task = await db.transaction({}, async tx => {
    insertOutcomes(tx, [{ ...ended, at }]);
    endExecution(tx, toolCallId);
    endTaskOf(tx, toolCallId, at, at + settings.resultsFor);
    return findTaskOfCall(tx, toolCallId);
  });
  if (task !== null) giveHint(db, 'task', task.id);
}

/** Nobody waits for the answer of this call any more, and nobody knows whether it ran. */
export async function giveUpCall({ db, now, settings }: Storing, toolCallId: string): Promise<void> {
  const at = now();
  const task = await db.transaction({}, async tx => {
    await giveUpExecution(tx, toolCallId, at);
    endTaskOf(tx, toolCallId, at, at + settings.resultsFor);
    return findTaskOfCall(tx, toolCallId);
  });
  if (task !== null) giveHint(db, 'task', task.id);
}
