// Sends a request about a task of a tool server to that server, through the Connected Tool that the call went to. What a slow
// server is asked takes slots and room of the key that asks, as a call does.

import { GuardError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/wire/json.ts';
import type { AnswerRation } from '../../guard/rations/answer-ration.ts';
import { type ServerTask, serverTaskOf } from '../../guard/tasks/server-tasks.ts';
import type { FoundTask } from '../../store/tasks.ts';
import type { Connected } from '../hub.ts';
import type { RpcResponse } from '../protocol.ts';
import { headerValue } from '../schema.ts';
import type { ClientRequest, McpServices } from '../services.ts';
import { sendTraced } from '../tracing.ts';

export type AskingServices = Pick<McpServices, 'hub' | 'slots' | 'rations' | 'timeoutMs' | 'tasks'>;
/** Who asks about a task, and what their client is capable of. */
export interface Asker extends Pick<ClientRequest, 'principal' | 'request' | 'span'> {
  capabilities: Json;
  /** Counts what the answer has of the key's share. Whoever listens has none: messages are counted one by one. */
  ration?: AnswerRation;
}

export interface Question {
  method: 'tasks/get' | 'tasks/update' | 'tasks/cancel';
  params: JsonObject;
}

/** Nobody can ask for the task any more, so that it will not be known what becomes of the call. */
export class Gone extends Error {}

/** A server that does not say soon how its task is doing is asked again when the client next asks. */
const PATIENCE_MS = 15_000;

/** Does `use` with the answer, which counts for the key until that is done. */
export async function askServer<T>(
  services: AskingServices,
  { principal, request, span, capabilities, ration: ofAnswer }: Asker,
  task: FoundTask,
  { method, params }: Question,
  use: (response: RpcResponse, serverTask: ServerTask, ration: AnswerRation) => Promise<T>,
): Promise<T> {
  const serverTask = serverTaskOf(services.tasks.deps, task);
  const connected = serverTask && (await connectedTo(services, task, serverTask));
  if (serverTask === null || connected === null) throw new Gone();
  const { tool, upstream } = connected;
  const { none, free } = services.slots.take(tool);
  if (none !== undefined)
    throw new GuardError(
      'rate_limited',
      'Too many calls are under way. Ask again when one of them has ended.',
      {
        retryAfter: 1,
      },
    );
  const ration = ofAnswer ?? services.rations.answer(principal.keyId);
  const cancel = new AbortController();
  // A client that listens asks many times with one request, so that nothing of this may stay with its signal.
  const stop = () => cancel.abort();
  request.signal.addEventListener('abort', stop);
  if (request.signal.aborted) stop();
  try {
    const response = await sendTraced(span, tool, method, null, trace =>
      upstream.request(
        method,
        { taskId: serverTask.id, ...params },
        {
          cancel,
          ration,
          timeoutMs: Math.min(services.timeoutMs, PATIENCE_MS),
          capabilities,
          trace,
          headers: () => ({ 'Mcp-Name': headerValue(serverTask.id) }),
        },
      ),
    );
    return await use(response, serverTask, ration);
  } finally {
    request.signal.removeEventListener('abort', stop);
    free();
    if (ofAnswer === undefined) ration.free();
  }
}

/** Null if the key has it no more, or if it stands for another server by now, which the task's name must not reach. */
async function connectedTo(
  { hub }: AskingServices,
  { keyId, personId }: FoundTask,
  { connectedToolId, sourceId }: ServerTask,
): Promise<Connected | null> {
  const find = async () =>
    (await hub.of(keyId, personId)).find(
      ({ tool }) => tool.id === connectedToolId && tool.sourceId === sourceId,
    ) ?? null;
  const found = await find();
  if (found !== null) return found;
  // It may have been connected at another replica just now. What is said to be gone is gone for good.
  hub.doubt(keyId);
  return find();
}
