// What a task has come to, as any replica tells it: from its row, its approval and its call in the store, and from the
// result that one of the replicas holds. A tool server that works on it by itself is asked.

import { shownEntry } from '../../core/log/entry.ts';
import type { JsonObject } from '../../core/wire/json.ts';
import type { Principal } from '../../guard/credentials.ts';
import type { Deps } from '../../guard/deps.ts';
import { isId } from '../../guard/ids.ts';
import { fetchAnswer } from '../../guard/tasks/fetch-answer.ts';
import type { Admit } from '../../guard/tasks/held-results.ts';
import { findAudit } from '../../store/log/audit.ts';
import type { CallOutcome } from '../../store/log/outcomes.ts';
import { type FoundTask, findTask, findTaskOfCall } from '../../store/tasks.ts';
import { inputOfTask } from '../approve-here.ts';
import { elicitsUrl } from '../own-questions.ts';
import { CODES, RpcError } from '../protocol.ts';
import { errorResult, refusal } from '../translate.ts';
import type { Asker } from './ask-server.ts';
import type { Course } from './server-state.ts';
import { courseOf, isAtServer, type ServerTaskServices } from './server-task.ts';

const POLL_MS = 5000;

const GONE = 'Approved, but the call is no longer held: call again';
export const UNKNOWN = 'It is not known whether this call ran';
export const LOST = 'It ran, but its result is no longer held';
const TIMED_OUT = 'Not forwarded: nobody answered in time. If the call is still needed, call again.';
const NEVER_RAN = 'It did not run, and why is no longer held: call again';
/** What a person who denies a call is said to have done, as the decision about the same call says it. */
const DENIED = 'A person denied this call.';

type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** What is told of a task beside its times. */
interface Told {
  status: Status;
  statusMessage?: string;
  /** `result`, `error` or `inputRequests`. */
  more?: JsonObject;
  /** When it ended; null while it has not. */
  endedAt: number | null;
}

/** What is known of a task beside what the store says. */
interface Beside {
  /** What its tool server says of it. */
  course?: Course | null;
  /** What the person at the client is asked while the call waits. */
  input?: JsonObject | null;
  admit?: Admit;
}

/** A task as `tasks/get` shows it. Null if there is none, or if it is not this credential's. */
export async function readTask(
  services: ServerTaskServices,
  asker: Asker,
  taskId: string,
  admit = admitFor(services, asker),
): Promise<JsonObject | null> {
  const { deps } = services.tasks;
  const task = await findOwnTask(deps, asker.principal, taskId);
  if (task === null) return null;
  const input = inputOfTask(services, task, elicitsUrl(asker.capabilities));
  if (!isAtServer(task)) return showTask(deps, task, { input, admit });
  const course = await courseOf(services, asker, task);
  if (course !== null) return showTask(deps, task, { course });
  const ended = await findOwnTask(deps, asker.principal, taskId);
  return ended && showTask(deps, ended, { admit });
}

/** A result counts for the key until its client has read it. */
function admitFor(
  { rations }: Pick<ServerTaskServices, 'rations'>,
  { principal, request, ration }: Asker,
): Admit {
  const turns = ration ?? rations.answer(principal.keyId);
  return async bytes => {
    await ration?.grow(bytes, request.signal);
    await turns.turn(bytes);
  };
}

/** What a client is told whose call has become a task. */
export async function createdTask(deps: Deps, principal: Principal, toolCallId: string): Promise<JsonObject> {
  const found = await findTaskOfCall(deps.db, toolCallId);
  const task = found && (await findOwnTask(deps, principal, found.id));
  const shown = task && (await showTask(deps, task));
  if (shown === null) throw new RpcError(CODES.internal, UNKNOWN);
  return asCreated(shown);
}

/** A task as the answer to its call. What it has ended with, if it has, is told to whoever asks for it. */
export function asCreated({ result: _, error: __, inputRequests: ___, ...created }: JsonObject): JsonObject {
  return { resultType: 'task', ...created };
}

/** The row of a task of this credential. It may be over. */
export async function findOwnTask(
  deps: Pick<Deps, 'db'>,
  principal: Principal,
  taskId: string,
): Promise<FoundTask | null> {
  const task = isId(taskId) ? await findTask(deps.db, taskId) : null;
  return task !== null && isOf(task, principal) ? task : null;
}

/** Each of a company's tokens has a session of its own, so that a person is all that two of them have in common. */
function isOf(task: FoundTask, { keyId, sessionId, personId, companys }: Principal): boolean {
  const isSameSession = task.sessionId === sessionId || (companys === true && personId !== undefined);
  return task.keyId === keyId && task.personId === (personId ?? null) && isSameSession;
}

/** Null once it is not known any more. */
export async function showTask(
  deps: Deps,
  task: FoundTask,
  { course = null, input = null, admit }: Beside = {},
): Promise<JsonObject | null> {
  const now = deps.now();
  const { status, statusMessage, more, endedAt } =
    course !== null
      ? byServer(course)
      : task.toolCallId === null
        ? byApproval(task, now, input)
        : await byCall(deps, task, task.toolCallId, admit);
  const until = endedAt === null ? task.knownUntil : endedAt + deps.settings.resultsFor;
  if (until <= now && (endedAt !== null || task.toolCallId === null)) return null;
  const answeredAt = task.approvalStatus === 'timed_out' ? 0 : (task.resolvedAt ?? 0);
  const changedAt = Math.max(task.changedAt, answeredAt, endedAt ?? 0);
  return {
    taskId: task.id,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: iso(task.createdAt),
    lastUpdatedAt: iso(Math.min(changedAt, now)),
    ttlMs: Math.max(until, now) - task.createdAt,
    pollIntervalMs: POLL_MS,
    ...more,
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** A task whose call has not begun. */
function byApproval(task: FoundTask, now: number, input: JsonObject | null): Told {
  const { approvalStatus, state, note, expiresAt, resolvedAt, changedAt, cancelAskedAt } = task;
  const endedAt = resolvedAt ?? expiresAt ?? changedAt;
  switch (approvalStatus) {
    case 'pending':
      if ((expiresAt ?? now) <= now) return completed(errorResult(TIMED_OUT), expiresAt ?? endedAt);
      if (input === null) return working(waitsFor(task));
      return { ...working(waitsFor(task)), status: 'input_required', more: { inputRequests: input } };
    case 'approved':
      if (cancelAskedAt !== null)
        return cancelled('The call was cancelled before it was made.', cancelAskedAt);
      if (state === 'gone') return failed(GONE, Math.max(endedAt, changedAt));
      return working('It was approved, and the call is about to be made.');
    case 'denied':
      return completed(errorResult(refusal({ reason: DENIED, ...(note !== null && { note }) })), endedAt);
    case 'timed_out':
      return completed(errorResult(TIMED_OUT), expiresAt ?? endedAt);
    default:
      return cancelled('The call was cancelled before it was approved.', endedAt);
  }
}

/** Who is asked. */
function waitsFor({ approverGroup, votesNeeded, state }: FoundTask): string {
  const people = (votesNeeded ?? 1) > 1 ? `${votesNeeded} people have` : 'A person has';
  const group = approverGroup === null ? '' : ` They are asked in the group "${approverGroup}".`;
  const gone = state === 'gone' ? ' Its arguments are no longer held: call again once it is approved.' : '';
  return `${people} to approve this call.${group}${gone}`;
}

/** A task on which its tool server works by itself. */
function byServer({ inputRequests, ...course }: Course): Told {
  return { ...course, ...(inputRequests && { more: { inputRequests } }), endedAt: null };
}

/** A task whose call was decided, and perhaps made. */
async function byCall(
  deps: Deps,
  task: FoundTask,
  toolCallId: string,
  admit: Admit | undefined,
): Promise<Told> {
  const { outcome, executing } = task;
  if (outcome === null && executing === 1) return working('The call is being made.');
  const endedAt = task.endedAt ?? task.changedAt;
  if (outcome === null) return byDecision(deps, toolCallId, endedAt);
  if (outcome === 'outcome_unknown') return failed(UNKNOWN, endedAt);
  if (outcome === 'cancelled') return cancelled('The call was cancelled while it ran.', endedAt);
  const answer = await fetchAnswer(deps, { toolCallId, keyId: task.keyId, endedAt }, admit);
  if (answer === null) return failed(lostAfter(outcome), endedAt);
  if ('result' in answer) return { status: 'completed', more: answer, endedAt };
  const { message } = answer.error;
  const said = typeof message === 'string' && message !== '' ? { statusMessage: message } : {};
  return { status: 'failed', ...said, more: answer, endedAt };
}

const lostAfter = (outcome: CallOutcome): string => (outcome === 'sign_in_needed' ? NEVER_RAN : LOST);

/** A call that was denied by the second decision is not made, so its entry says all there is. */
async function byDecision(deps: Deps, toolCallId: string, endedAt: number): Promise<Told> {
  const entry = await findAudit(deps.db, toolCallId);
  if (entry?.decision === 'deny')
    return completed(errorResult(refusal({ reason: shownEntry(entry).reason })), endedAt);
  return failed(UNKNOWN, endedAt);
}

function working(statusMessage: string): Told {
  return { status: 'working', statusMessage, endedAt: null };
}

function cancelled(statusMessage: string, endedAt: number): Told {
  return { status: 'cancelled', statusMessage, endedAt };
}

function completed(result: JsonObject, endedAt: number): Told {
  return { status: 'completed', more: { result: { resultType: 'complete', ...result } }, endedAt };
}

function failed(message: string, endedAt: number): Told {
  const error = { code: CODES.internal, message };
  return { status: 'failed', statusMessage: message, more: { error }, endedAt };
}
