// tasks/get, tasks/update and tasks/cancel of the newer era, for the credential that made the call. They write no audit entry,
// and a key can send only so many of them in a minute.

import type { JsonObject } from '../../core/wire/json.ts';
import { cancelTask } from '../../guard/tasks/cancel.ts';
import { CODES, RpcError, type RpcRequest } from '../protocol.ts';
import type { ClientRequest, McpServices } from '../services.ts';
import { declaresTasks, tasksNotDeclared } from './declared.ts';
import { readTask } from './task-state.ts';

export const TASK_METHODS = ['tasks/get', 'tasks/update', 'tasks/cancel'] as const;
type TaskMethod = (typeof TASK_METHODS)[number];

export function isTaskMethod(method: string): method is TaskMethod {
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
  const task = await currentTask(services, asked, taskId);
  if (task === null) throw unknownTask();
  switch (method as TaskMethod) {
    case 'tasks/get':
      return task;
    case 'tasks/update':
      return {};
    case 'tasks/cancel':
      await cancelTask(services.tasks.deps, taskId);
      return {};
  }
}

/** What a task has come to; null if the credential has no such task. */
export function currentTask(
  { tasks }: Pick<McpServices, 'tasks'>,
  { principal }: Pick<ClientRequest, 'principal'>,
  taskId: string,
): Promise<JsonObject | null> {
  return readTask(tasks.deps, principal, taskId);
}

/** Throws unless the client may ask about tasks now. */
export async function admitTasks(
  { tasks }: Pick<McpServices, 'tasks'>,
  { principal, confirm }: Pick<ClientRequest, 'principal' | 'confirm'>,
  params: JsonObject,
): Promise<void> {
  await tasks.requests.admit(`tasks ${principal.keyId}`, tasks.deps.now());
  await confirm();
  if (!declaresTasks(params) || !(await tasks.areOnFor(principal.keyId))) throw tasksNotDeclared();
}

/** In the same words for tasks of others, so that nobody learns of them. */
export function unknownTask(): RpcError {
  return new RpcError(CODES.invalidParams, 'There is no such task.');
}
