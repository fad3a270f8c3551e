// subscriptions/listen with `taskIds`: a client wants to be told when its tasks change. subscriptions.ts has the stream.

import { isObject } from '../../core/wire/json.ts';
import { CODES, RpcError, type RpcRequest } from '../protocol.ts';
import type { ClientRequest, McpServices } from '../services.ts';
import { admitTasks, currentTask } from './methods.ts';

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
  return services.tasks.subscriptions.open(asked, id, taskIds, taskId =>
    currentTask(services, asked, taskId),
  );
}
