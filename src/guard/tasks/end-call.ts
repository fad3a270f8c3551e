// Records what became of a call whose client was promised to learn it: its outcome, that it does not run any more, and the
// end of its task, in one transaction. Whoever tells of the end does so after this.

import type { Transaction } from '../../store/engine/db.ts';
import { endExecution, giveUpExecution, giveUpExecutions } from '../../store/executions.ts';
import { forgetIdempotentCall } from '../../store/idempotent-calls.ts';
import { insertOutcomes, type OutcomeRecord } from '../../store/log/outcomes.ts';
import { endTaskOf, findTaskOfCall } from '../../store/tasks.ts';
import type { Deps } from '../deps.ts';
import { giveHint } from '../hints.ts';

export interface EndedCall extends Omit<OutcomeRecord, 'at'> {
  /** It is certain that nothing was sent to the tool server: the same idempotency key may make the call. */
  unmade?: true;
}

type Storing = Pick<Deps, 'db' | 'now' | 'settings' | 'executing'>;

/** Records the outcome of a call that was forwarded. One that was given up before stays unknown. */
export function endCall(storing: Storing, ended: EndedCall): Promise<void> {
  const { toolCallId, unmade } = ended;
  return end(storing, toolCallId, (tx, at) => {
    // In the order in which calls are given up, so that neither waits for the other.
    endExecution(tx, toolCallId);
    insertOutcomes(tx, [{ ...ended, at }]);
    if (unmade || ended.outcome === 'sign_in_needed') forgetIdempotentCall(tx, toolCallId);
  });
}

/** Gives up calls that a process was to forward: nobody will learn from us whether they ran. Returns how many there were. */
export async function giveUpCalls(
  { now, settings }: Pick<Deps, 'now' | 'settings'>,
  tx: Transaction,
  processId: string,
  toolCallIds: readonly string[],
): Promise<number> {
  const at = now();
  const lost = await giveUpExecutions(tx, processId, toolCallIds, at);
  for (const toolCallId of lost) endTaskOf(tx, toolCallId, at, at + settings.resultsFor);
  return lost.length;
}

/** Nobody waits for the answer of this call any more, and nobody knows whether it ran. */
export function giveUpCall(storing: Storing, toolCallId: string): Promise<void> {
  return end(storing, toolCallId, (tx, at) => giveUpExecution(tx, toolCallId, at));
}

async function end(
  { db, now, settings, executing }: Storing,
  toolCallId: string,
  record: (tx: Transaction, at: number) => void | Promise<void>,
): Promise<void> {
  const at = now();
  const task = await db.transaction({}, async tx => {
    await record(tx, at);
    endTaskOf(tx, toolCallId, at, at + settings.resultsFor);
    return findTaskOfCall(tx, toolCallId);
  });
  executing.delete(toolCallId);
  if (task !== null) giveHint(db, 'task', task.id);
}
