// Answers clients of the newer era (2026-07-28): it has no sessions, every request carries an envelope, and headers
// repeat parts of the body.

import { isObject, type JsonObject } from '../core/wire/json.ts';
import type { Principal } from '../guard/credentials.ts';
import { answerCall } from './answer-call.ts';
import { accepted, capabilities, json, type Reply, type ReplyOrStream, toolsOf } from './answers.ts';
import { elicitsUrl } from './own-questions.ts';
import {
  CODES,
  ENVELOPE,
  type Id,
  MODERN_VERSION,
  metaOf,
  RpcError,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  resultMessage,
  SUPPORTED_VERSIONS,
} from './protocol.ts';
import { isRelayed, relay } from './relay.ts';
import { readHeaderValue } from './schema.ts';
import type { ClientRequest, McpServices } from './services.ts';
import { declaresTasks, TASKS_EXTENSION } from './tasks/declared.ts';
import { listenToTasks, taskIdsIn } from './tasks/listen.ts';
import { answerAboutTask, isTaskMethod, TASK_METHODS } from './tasks/methods.ts';

/**
 * Whether a message belongs to the newer era: its envelope says so, or its header does. A message that has only the
 * header is refused later, because its envelope is missing.
 */
export function claimsModern(headers: Headers, { method, params }: RpcRequest | RpcNotification): boolean {
  if (metaOf(params)[ENVELOPE.version] !== undefined) return true;
  return headers.get('mcp-protocol-version') === MODERN_VERSION && method !== 'initialize';
}

export async function answerModern(
  services: McpServices,
  asked: ClientRequest,
  message: RpcMessage,
): Promise<ReplyOrStream> {
  if (message.kind !== 'request') {
    await asked.confirm();
    return accepted();
  }
  checkEnvelope(asked.request.headers, message);
  const { method, id } = message;
  if (method === 'tools/call') {
    const { [ENVELOPE.logLevel]: logLevel, [ENVELOPE.capabilities]: capable } = metaOf(message.params);
    const options = { logLevel, elicitsUrl: elicitsUrl(capable), protocolVersion: MODERN_VERSION };
    const tasks = declaresTasks(message.params);
    return answerCall(services, asked, message, { modern: true, tasks, ...options });
  }
  if (isTaskMethod(method)) return complete(id, await answerAboutTask(services, asked, message), false);
  const listensTo = method === 'subscriptions/listen' ? taskIdsIn(message) : null;
  if (listensTo !== null) return listenToTasks(services, asked, message, listensTo);
  await asked.confirm();
  if (method === 'server/discover') return complete(id, await discovered(services, asked.principal), true);
  if (method === 'tools/list') return complete(id, await toolsOf(services, asked), true);
  const relayed = isRelayed(method) ? await relay(services, asked, message) : null;
  if (relayed !== null) return complete(id, relayed, method !== 'completion/complete');
  throw new RpcError(CODES.methodNotFound, `Method not found: ${method}`, { status: 404 });
}

function complete(id: Id, result: JsonObject, cacheable: boolean): Reply {
  const cache = cacheable ? { ttlMs: 0, cacheScope: 'private' } : {};
  return json(resultMessage(id, { resultType: 'complete', ...result, ...cache }));
}

async function discovered(services: McpServices, principal: Principal): Promise<JsonObject> {
  const extensions = (await services.tasks.areOnFor(principal.keyId)) ? { [TASKS_EXTENSION]: {} } : null;
  return {
    supportedVersions: [...SUPPORTED_VERSIONS],
    capabilities: {
      ...(await capabilities(services, principal, false)),
      ...(extensions !== null && { extensions }),
    },
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'toolgate', version: services.version } },
  };
}

/** The parameter that the header Mcp-Name repeats, for the methods that have one. */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ...TASK_METHODS.map(method => [method, 'taskId'] as const),
]);

/** Headers repeat what the body says, for proxies on the way. A request in which they disagree is refused. */
function checkEnvelope(headers: Headers, { method, params }: RpcRequest): void {
  const meta = metaOf(params);
  const version = meta[ENVELOPE.version];
  if (version === undefined) throw lacking(ENVELOPE.version);
  if (headers.get('mcp-protocol-version') !== version) throw mismatch('MCP-Protocol-Version');
  if (headers.get('mcp-method') !== method) throw mismatch('Mcp-Method');
  const namedBy = NAMED_BY.get(method);
  if (namedBy !== undefined) {
    const name = headers.get('mcp-name');
    if (name === null || readHeaderValue(name) !== params[namedBy]) throw mismatch('Mcp-Name');
  }
  if (version !== MODERN_VERSION) {
    const data = { supported: [...SUPPORTED_VERSIONS], requested: version ?? null };
    throw new RpcError(CODES.unsupportedVersion, 'Unsupported protocol version.', { status: 400, data });
  }
  if (!isObject(meta[ENVELOPE.capabilities])) throw lacking(ENVELOPE.capabilities);
}

function lacking(key: string): RpcError {
  return new RpcError(CODES.invalidParams, `Invalid params: _meta lacks ${key}.`, { status: 400 });
}

function mismatch(header: string): RpcError {
  const message = `The header ${header} is missing or is not what the body says.`;
  return new RpcError(CODES.headerMismatch, message, { status: 400 });
}
