// Calls of which nobody knows whether they ran: listed, and settled by somebody who has found out. Settling changes
// nothing for the client of the call, which was told that it is not known. We never run such a call again.

import { GuardError } from '../../core/errors.ts';
import { joinName } from '../../core/text/name.ts';
import type { Queries } from '../../store/engine/db.ts';
import { findUnknown, listUnknown, settleExecution, type UnknownCall } from '../../store/executions.ts';
import { findAudit } from '../../store/log/audit.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';

export interface Unsettled extends UnknownCall {
  /** Null if retention has removed it. */
  entry: AuditEntry | null;
}

/** Those that nobody has settled, the newest first. */
export async function unsettledCalls(deps: Deps, limit: number, before: string): Promise<Unsettled[]> {
  const calls = await listUnknown(deps.db, limit, before);
  return Promise.all(calls.map(each => withEntry(deps, each)));
}

interface Settlement {
  ran: boolean;
  note: string | null;
}

export async function settleCall(
  deps: Deps,
  actor: Actor,
  toolCallId: string,
  { ran, note }: Settlement,
): Promise<Unsettled> {
  const settled = await deps.db.transaction({}, async tx => {
    const entry = await findAudit(tx, toolCallId);
    if (entry === null) throw new GuardError('not_found', 'There is no call with this toolCallId.');
    if (!(await settleExecution(tx, toolCallId, { ran, by: actor, at: deps.now(), note })))
      throw new GuardError('conflict', await whyNot(tx, toolCallId));
    const tool = joinName(entry.serverName, entry.toolName);
    await recordChange(tx, deps, actor, 'call.settle', toolCallId, { tool, ran });
    return findUnknown(tx, toolCallId);
  });
  return withEntry(deps, settled as UnknownCall);
}

async function whyNot(tx: Queries, toolCallId: string): Promise<string> {
  return (await findUnknown(tx, toolCallId)) === null
    ? 'The outcome of this call is not unknown, so there is nothing to settle.'
    : 'This call was settled before.';
}

async function withEntry({ db }: Deps, call: UnknownCall): Promise<Unsettled> {
  return { ...call, entry: await findAudit(db, call.toolCallId) };
}
