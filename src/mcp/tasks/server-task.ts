// A tool server that answers a call with a task of its own. The client gets a task of ours, and what it asks, answers or
// cancels is passed on to the server; the server's own name of the task reaches no client. What the server says in the end
// is looked at and held like the answer of any other call. Nothing is remembered of what it says before.

import { namedInResult } from '../../core/flows/named-in-result.ts';
import type { JsonObject } from '../../core/wire/json.ts';
import type { GuardedCall } from '../../guard/check/guarded-call.ts';
import { RUN, type Verdict } from '../../guard/check/request.ts';
import { timeOfId } from '../../guard/ids.ts';
import type { AnswerRation } from '../../guard/rations/answer-ration.ts';
import { endCall, giveUpCall } from '../../guard/tasks/end-call.ts';
import { followTaskOfServer, type ServerTask } from '../../guard/tasks/server-tasks.ts';
import type { CallOutcome, LookedAt } from '../../store/log/outcomes.ts';
import type { FoundTask } from '../../store/tasks.ts';
import type { KnownTool } from '../known-tool.ts';
import { lookAt } from '../looked-at.ts';
import { CODES, RpcError, type RpcResponse } from '../protocol.ts';
import type { McpServices } from '../services.ts';
import { SignInFirst } from '../sign-in.ts';
import type { Begun } from '../tool-call.ts';
import { errorForClient, resultForClient } from '../translate.ts';
import { UpstreamError } from '../wire.ts';
import { type Asker, type AskingServices, askServer, Gone, type Question } from './ask-server.ts';
import { asError, holdAnswer } from './final-answer.ts';
import { type Course, courseIn, type End, endIn } from './server-state.ts';

export type ServerTaskServices = AskingServices & Pick<McpServices, 'learner' | 'serverSignIns'>;

const MOST_ID_CHARS = 1024;
const SILENT = 'The tool server works on it, and could not be asked just now.';
const SIGN_IN = 'The tool server works on it, and cannot be asked before somebody has signed in to it.';

export const isTask = ({ result }: Pick<RpcResponse, 'result'>): boolean => result?.['resultType'] === 'task';

/** Whether only its tool server knows how the task is doing. */
export const isAtServer = ({ serverTaskEncrypted, outcome, executing }: FoundTask): boolean =>
  serverTaskEncrypted !== null && outcome === null && executing === 1;

/** Follows the task with which a server has answered a call. Throws if it is none that can be followed. What comes back is a task. */
export async function follow(
  { tasks }: Pick<ServerTaskServices, 'tasks'>,
  { principal }: Pick<Begun, 'principal'>,
  { connectedTool }: Pick<KnownTool, 'connectedTool'>,
  { toolCallId, [RUN]: learns }: Verdict,
  { result }: Pick<RpcResponse, 'result'>,
): Promise<JsonObject> {
  const { taskId: id, ttlMs } = result ?? {};
  if (typeof id !== 'string' || id === '' || id.length > MOST_ID_CHARS)
    throw new UpstreamError('the upstream answered with a task that has no usable id');
  const { id: connectedToolId, sourceId } = connectedTool;
  const lasts = typeof ttlMs === 'number' && ttlMs >= 0 ? ttlMs : null;
  await followTaskOfServer(
    tasks.deps,
    { toolCallId, principal, ttlMs: lasts },
    { id, connectedToolId, sourceId, ...(learns && { learns }) },
  );
  return { resultType: 'task' };
}

/** What the server says of its task. Null if the task has ended, which is recorded then. */
export async function courseOf(
  services: ServerTaskServices,
  asker: Asker,
  task: FoundTask,
): Promise<Course | null> {
  const toolCallId = task.toolCallId as string;
  try {
    return await askServer(
      services,
      asker,
      task,
      { method: 'tasks/get', params: {} },
      async (response, ...more) => {
        const { result, error } = response;
        if (error?.code === CODES.invalidParams) throw new Gone();
        if (result === null) return { status: 'working', statusMessage: SILENT };
        if (result['status'] === 'cancelled') {
          await record(services, toolCallId, 'cancelled', null);
          return null;
        }
        const guarded = await services.tasks.earlierCall(asker.principal, toolCallId);
        const end = endIn(result);
        if (end === null) return courseIn(result, guarded);
        await conclude(services, task, guarded, end, ...more);
        return null;
      },
    );
  } catch (error) {
    if (error instanceof Gone) {
      await giveUpCall(services.tasks.deps, toolCallId);
      return null;
    }
    if (error instanceof SignInFirst) return { status: 'working', statusMessage: SIGN_IN };
    if (error instanceof UpstreamError) return { status: 'working', statusMessage: SILENT };
    throw error;
  }
}

/** Holds what may be passed on of the answer, and records the outcome. Whoever asks from then on finds both. */
async function conclude(
  services: ServerTaskServices,
  { keyId, toolCallId }: FoundTask,
  guarded: GuardedCall | null,
  end: End,
  { learns }: ServerTask,
  ration: AnswerRation,
): Promise<void> {
  const { deps } = services.tasks;
  const call = { toolCallId: toolCallId as string, keyId };
  const seen = await lookAt(guarded, ration, end);
  const failed = end.error !== null || end.result?.['isError'] === true;
  if (seen.error !== null) holdAnswer(deps, call, { error: asError(errorForClient(seen.error, true)) });
  else {
    const result = seen.result ?? {};
    if (learns !== undefined && result['isError'] !== true)
      await services.learner.tryToLearn(learns, keyId, namedInResult(result));
    holdAnswer(deps, call, {
      result: { ...resultForClient(result, true), resultType: 'complete' },
    });
  }
  await record(services, call.toolCallId, failed ? 'tool_error' : 'ok', seen.lookedAt);
}

async function record(
  { tasks: { deps } }: ServerTaskServices,
  toolCallId: string,
  outcome: CallOutcome,
  result: LookedAt | null,
): Promise<void> {
  const durationMs = Math.max(0, deps.now() - timeOfId(toolCallId));
  await endCall(deps, { toolCallId, outcome, durationMs, result });
}

/** Tells the server what the client answered. */
export function update(
  services: ServerTaskServices,
  asker: Asker,
  task: FoundTask,
  inputResponses: JsonObject,
): Promise<void> {
  return tell(services, asker, task, { method: 'tasks/update', params: { inputResponses } });
}

/** The server may or may not stop. What it does is seen when its task is asked for. */
export function cancel(services: ServerTaskServices, asker: Asker, task: FoundTask): Promise<void> {
  return tell(services, asker, task, { method: 'tasks/cancel', params: {} });
}

async function tell(
  services: ServerTaskServices,
  asker: Asker,
  task: FoundTask,
  question: Question,
): Promise<void> {
  try {
    await askServer(services, asker, task, question, async ({ error }) => {
      // That the server does not know the task is told to whoever asks for it next.
      if (error !== null && error.code !== CODES.invalidParams)
        throw new RpcError(CODES.internal, 'The tool server refused it.');
    });
  } catch (error) {
    if (error instanceof Gone) return;
    if (!(error instanceof UpstreamError)) throw error;
    throw new RpcError(CODES.internal, 'The tool server could not be told. Try again.');
  }
}
