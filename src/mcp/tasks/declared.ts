// Which clients know tasks: those of the newer era that declare the extension in the very request. The older era has
// tasks of another kind, which are not offered.

import { isObject, type Json, type JsonObject } from '../../core/wire/json.ts';
import { CODES, ENVELOPE, metaOf, RpcError } from '../protocol.ts';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Whether a request of the newer era declares that its client knows tasks. */
export function declaresTasks(params: JsonObject): boolean {
  return namesTasks(metaOf(params)[ENVELOPE.capabilities]);
}

function namesTasks(capabilities: Json | undefined): boolean {
  if (!isObject(capabilities)) return false;
  const { extensions } = capabilities;
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/** The capabilities of a client, for a server whose task would not be followed. */
export function withoutTasks(capabilities: Json): Json {
  if (!namesTasks(capabilities)) return capabilities;
  const { extensions, ...rest } = capabilities as JsonObject;
  const { [TASKS_EXTENSION]: _, ...others } = extensions as JsonObject;
  return { ...rest, extensions: others };
}

/** The capabilities of a client that waits for a task: nobody is there who could answer a tool's questions. */
export function withoutPeople(params: JsonObject): JsonObject {
  const meta = metaOf(params);
  const { elicitation: _, sampling: __, roots: ___, ...rest } = meta[ENVELOPE.capabilities] as JsonObject;
  return { ...params, _meta: { ...meta, [ENVELOPE.capabilities]: rest } };
}

/** What a client is told that asks about tasks and does not declare that it knows them. */
export function tasksNotDeclared(): RpcError {
  const data = { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } };
  const message = `Only clients that declare the extension ${TASKS_EXTENSION} can ask about tasks.`;
  return new RpcError(CODES.missingCapability, message, { status: 400, data });
}
