// subscriptions/listen with `taskIds`: a client wants to be told when its tasks change. subscriptions.ts has the stream.

import { isObject } from '../../core/wire/json.ts';
import { CODES, RpcError, type RpcRequest } from '../protocol.ts';
import type { ClientRequest, McpServices } from '../services.ts';
import { admitTasks, askerOf, countRequest } from './methods.ts';
import { isAtServer } from './server-task.ts';
import { findOwnTask, readTask } from './task-state.ts';

/** How many tasks one subscription may name. */
const MAX_TASKS = 50;
const MAX_ID_CHARS = 128;

/** The tasks that a request for a subscription names; null if it is not about tasks. */
export function taskIdsIn({ params }: Pick<RpcRequest, 'params'>): string[] | null {
  const { notifications } = params;
  if (!isObject(notifications) || notifications['taskIds'] === undefined) return null;
  const ids = notifications['taskIds'];
  if (!Array.isArray(ids) || !ids.every(isId) || ids.length > MAX_TASKS)
    throw new RpcError(
      CODES.invalidParams,
      `Invalid params: "taskIds" is a list of at most ${MAX_TASKS} ids, each a string of at most ${MAX_ID_CHARS} characters.`,
    );
  return [...new Set(ids)];
}

const isId = (id: unknown): id is string => typeof id === 'string' && id.length <= MAX_ID_CHARS;

/** Answers a subscription to tasks. */
export async function listenToTasks(
  services: McpServices,
  asked: ClientRequest,
  { id, params }: RpcRequest,
  taskIds: readonly string[],
): Promise<Response> {
  await admitTasks(services, asked, params);
  if (!(asked.request.headers.get('accept') ?? '').includes('text/event-stream'))
    throw new RpcError(CODES.invalidRequest, 'Invalid request: the answer is a stream of events.', {
      status: 406,
    });
  const asker = askerOf(asked, params);
  const find = (taskId: string) => findOwnTask(services.tasks.deps, asker.principal, taskId);
  return services.tasks.subscriptions.open(asked, id, taskIds, {
    async isKnown(taskId) {
      const task = await find(taskId);
      return task !== null && (isAtServer(task) || (await readTask(services, asker, taskId)) !== null);
    },
    async read(taskId, admit) {
      const task = await find(taskId);
      // A tool server is not asked more often for a client that listens than for one that asks.
      if (task !== null && isAtServer(task)) await countRequest(services, asker.principal.keyId);
      return readTask(services, asker, taskId, admit);
    },
  });
}
