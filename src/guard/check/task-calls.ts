// What a decided call means for tasks. A call that waits may become one, and the process that took it holds it. The held
// call of a task is decided only if this process still holds it. If the same call is repeated first, the task follows the
// repeat. All of it is in the transaction that records the decision.

import { GuardError } from '../../core/errors.ts';
import { DAY } from '../../core/time/duration.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { type ExecutionRecord, insertExecutions } from '../../store/executions.ts';
import { beginTask, endTaskOf, loseBegun, nameCall, passTaskOn, putTask } from '../../store/tasks.ts';
import { type RepeatedApproval, spendApproval } from '../../store/usable-approvals.ts';
import type { Deps } from '../deps.ts';
import type { Case, Group } from './cases.ts';
import type { Made } from './follow-run.ts';
import type { CheckRequest, Verdict } from './request.ts';

/** How long a task is known at least while its call runs. When the call ends, the end of its time is set anew. */
const RUNNING_MS = DAY;

/**
 * Says that the held call of a task was not decided: this process does not hold it any more, it has run by another way, or it
 * would have to wait again. Nothing was recorded. Whoever submitted it lets go of it. No client ever gets this.
 */
export class NotResumed extends GuardError {
  constructor() {
    super('conflict', 'This process does not hold the call of this task any more.');
  }
}

/** What the calls of one group share. */
interface Tasking {
  deps: Deps;
  tx: Transaction;
  group: Group;
  /** The calls of which it is recorded that they are forwarded. */
  executions: ExecutionRecord[] | null;
}

/**
 * Takes the task whose held call this is. False: it may not be decided. It must be called only if the call is then decided.
 * A key may have lost its tasks meanwhile: its client is told to repeat the call, so that must stay the only way to make it.
 */
export async function mayResume(
  { deps, tx, group: { now } }: Tasking,
  taskId: string,
  { key }: Pick<Case, 'key'>,
): Promise<boolean> {
  if (key.tasks !== 1) return false;
  return beginTask(tx, taskId, { processId: deps.processId, now, knownUntil: now + RUNNING_MS });
}

/** The held call of a task would wait again: nobody is asked, and its client has to call again. */
export async function waitsAgain({ tx, group }: Tasking, taskId: string): Promise<NotResumed> {
  await loseBegun(tx, taskId, group.now);
  return new NotResumed();
}

/** Whether the call, once decided, has anything to do with tasks. */
export function concernsTask({ tracked, resumes }: CheckRequest, { spent }: Made): boolean {
  return tracked === true || resumes !== undefined || spent !== undefined;
}

/** Records that an allowed call is forwarded, and which task ends as it does. */
export async function followTask(
  tasking: Tasking,
  { request: { tracked, resumes, call } }: Case,
  { entry, result, spent }: Made,
): Promise<void> {
  if (entry === null || result instanceof GuardError) return;
  const { deps, tx, group } = tasking;
  const { processId, settings } = deps;
  const { id: toolCallId, keyId } = entry;
  const { now } = group;
  const isAllowed = entry.decision === 'allow';
  const passed =
    spent !== undefined &&
    resumes === undefined &&
    (await passTaskOn(tx, spent, { toolCallId, processId, now, knownUntil: now + RUNNING_MS }));
  if (passed) result.freedTask = spent;
  // If somebody has to sign in first, nothing is forwarded, and only a task is told so.
  const isRun = resumes !== undefined || (call.unsent !== true && (tracked === true || passed));
  if (isAllowed && isRun) {
    tasking.executions ??= [];
    tasking.executions.push({ toolCallId, keyId, processId, at: now });
    result.executing = true;
  }
  if (resumes === undefined) return;
  nameCall(tx, resumes, toolCallId);
  if (!isAllowed) endTaskOf(tx, toolCallId, now, now + settings.resultsFor);
  // The question was about this one call. Where the call needs no approval by now, the answer must not free a further one.
  else if (spent === undefined && call.unsent !== true) await spendApproval(tx, resumes, now);
}

export function writeExecutions({ tx, executions }: Tasking): void {
  if (executions !== null) insertExecutions(tx, executions);
}

/**
 * What a verdict says beside `pending` of a call on `/mcp`, whose client may know tasks. A task belongs to one session, as its
 * question does: to another session of the same person the same call is no task.
 */
export function asTask(
  { deps, tx, group }: Tasking,
  { request, key }: Case,
  before: RepeatedApproval | null,
  { referenceId, expiresAt }: { referenceId: string; expiresAt: number },
): Partial<Verdict> {
  if (request.surface !== 'mcp') return {};
  const { keyId, sessionId, personId = null, companys } = request.principal;
  const here: Partial<Verdict> = key.approveHere === 1 ? { approveHere: true } : {};
  const isTask = request.taskable === true && key.tasks === 1;
  // Each of a company's tokens has a session of its own.
  const isSame =
    before === null || before.sessionId === sessionId || (companys === true && personId !== null);
  if (!isTask || !isSame) return here;
  const createdAt = before?.createdAt ?? group.now;
  putTask(tx, {
    id: referenceId,
    keyId,
    sessionId,
    personId,
    state: 'waiting',
    processId: deps.processId,
    toolCallId: null,
    serverTaskEncrypted: null,
    createdAt,
    changedAt: group.now,
    knownUntil: expiresAt + deps.settings.resultsFor,
  });
  return { ...here, task: true };
}
