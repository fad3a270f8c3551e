// tasks/get, tasks/update and tasks/cancel of the newer era, for the credential that made the call. They write no audit entry,
// and a key can send only so many of them in a minute.

import { isObject, type JsonObject } from '../../core/wire/json.ts';
import { cancelTask } from '../../guard/tasks/cancel.ts';
import type { FoundTask } from '../../store/tasks.ts';
import { withoutOwn } from '../own-questions.ts';
import { CODES, ENVELOPE, metaOf, RpcError, type RpcRequest } from '../protocol.ts';
import type { ClientRequest, McpServices } from '../services.ts';
import type { Asker } from './ask-server.ts';
import { declaresTasks, tasksNotDeclared } from './declared.ts';
import { cancel, isAtServer, update } from './server-task.ts';
import { findOwnTask, readTask } from './task-state.ts';

export const TASK_METHODS = ['tasks/get', 'tasks/update', 'tasks/cancel'] as const;

export function isTaskMethod(method: string): boolean {
  return (TASK_METHODS as readonly string[]).includes(method);
}

/** The result of a request about a task, without its `resultType`. */
export async function answerAboutTask(
  services: McpServices,
  asked: ClientRequest,
  { method, params }: RpcRequest,
): Promise<JsonObject> {
  await admitTasks(services, asked, params);
  const { taskId } = params;
  if (typeof taskId !== 'string')
    throw new RpcError(CODES.invalidParams, 'Invalid params: "taskId" is a string.');
  const asker = { ...askerOf(asked, params), ration: asked.ration };
  const task =
    method === 'tasks/get' ? null : await findOwnTask(services.tasks.deps, asker.principal, taskId);
  if (task !== null && isAtServer(task)) {
    await tellServer(services, asker, task, { method, params });
    return {};
  }
  const shown = await readTask(services, asker, taskId);
  if (shown === null) throw unknownTask();
  if (method === 'tasks/get') return shown;
  if (method === 'tasks/cancel') await cancelTask(services.tasks.deps, taskId);
  return {};
}

export function askerOf({ principal, request, span }: ClientRequest, params: JsonObject): Asker {
  return { principal, request, span, capabilities: metaOf(params)[ENVELOPE.capabilities] ?? {} };
}

/** What the client says about a task on which only its tool server works. */
async function tellServer(
  services: McpServices,
  asker: Asker,
  task: FoundTask,
  { method, params: { inputResponses } }: Pick<RpcRequest, 'method' | 'params'>,
): Promise<void> {
  if (method === 'tasks/cancel') return cancel(services, asker, task);
  if (!isObject(inputResponses))
    throw new RpcError(CODES.invalidParams, 'Invalid params: "inputResponses" is an object.');
  // A late answer to our own question, which decides nothing, is none of the server's.
  const theirs = withoutOwn(inputResponses);
  if (theirs !== null) await update(services, asker, task, theirs);
}

/** Throws unless the client may ask about tasks now. */
export async function admitTasks(
  { tasks }: Pick<McpServices, 'tasks'>,
  { principal, confirm }: Pick<ClientRequest, 'principal' | 'confirm'>,
  params: JsonObject,
): Promise<void> {
  await countRequest({ tasks }, principal.keyId);
  await confirm();
  if (!declaresTasks(params) || !(await tasks.areOnFor(principal.keyId))) throw tasksNotDeclared();
}

/** Throws if the key has asked about tasks too often within a minute. */
export function countRequest({ tasks }: Pick<McpServices, 'tasks'>, keyId: string): Promise<void> {
  return tasks.requests.admit(`tasks ${keyId}`, tasks.deps.now());
}

/** In the same words for tasks of others, so that nobody learns of them. */
function unknownTask(): RpcError {
  return new RpcError(CODES.invalidParams, 'There is no such task.');
}
