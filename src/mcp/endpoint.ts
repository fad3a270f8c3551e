// /mcp: both eras of the protocol on one endpoint. It reads a message, finds out which era it belongs to, and passes it
// to modern.ts or legacy.ts. http/ has already authenticated the caller and parsed the body.

import { GuardError } from '../core/errors.ts';
import type { Json } from '../core/wire/json.ts';
import { EventWriter, STREAM_HEADERS } from '../guard/rations/event-writer.ts';
import { failure, type ReplyOrStream, responseOf } from './answers.ts';
import { answerBatch } from './batch.ts';
import { answerLegacy } from './legacy.ts';
import { answerModern, claimsModern } from './modern.ts';
import { notificationMessage, type RpcMessage, readMessage } from './protocol.ts';
import type { ClientRequest, McpServices } from './services.ts';

/** POST /mcp. */
export async function post(services: McpServices, asked: ClientRequest, body: Json): Promise<Response> {
  try {
    return Array.isArray(body)
      ? await answerBatch(services, asked, body, answer)
      : await responseOf(await answerTo(services, asked, body), asked);
  } catch (error) {
    asked.ration.free();
    throw error;
  }
}

function answerTo(
  services: McpServices,
  asked: ClientRequest,
  body: Json,
): ReplyOrStream | Promise<ReplyOrStream> {
  let message: RpcMessage;
  try {
    message = readMessage(body);
  } catch (error) {
    return failure(null, error);
  }
  const id = message.kind === 'request' ? message.id : null;
  return answer(services, asked, message).catch(error => failure(id, error));
}

/** GET /mcp: opens a stream for our notifications. Null when the request does not ask for one. */
export async function listen(services: McpServices, asked: ClientRequest): Promise<Response | null> {
  const id = asked.request.headers.get('mcp-session-id');
  if (id === null || !(asked.request.headers.get('accept') ?? '').includes('text/event-stream')) return null;
  await services.mcpSessions.find(id, asked.principal);
  services.mcpSessions.admitStream(id, asked.principal);
  const { keyId, personId = null } = asked.principal;
  const changed = () => writer.hint(notificationMessage('notifications/tools/list_changed', {}));
  const stop = services.hub.onListChanged(keyId, changed, personId);
  // A credential that was revoked ends the stream at the next keep-alive.
  const ended = () => {
    stop();
    services.mcpSessions.streamEnded(id, writer);
  };
  const writer = new EventWriter(ended, () => asked.confirm().catch(() => writer.close()));
  services.mcpSessions.stream(id, asked.principal, writer);
  writer.open();
  return new Response(writer.body, { headers: STREAM_HEADERS });
}

/** DELETE /mcp: ends an MCP session. */
export async function end(services: McpServices, asked: ClientRequest): Promise<Response> {
  const id = asked.request.headers.get('mcp-session-id');
  if (id === null) throw new GuardError('invalid_input', 'The header Mcp-Session-Id is missing.');
  await services.mcpSessions.end(id, asked.principal);
  return new Response(null, { status: 204 });
}

function answer(services: McpServices, asked: ClientRequest, message: RpcMessage): Promise<ReplyOrStream> {
  const isModern = message.kind !== 'response' && claimsModern(asked.request.headers, message);
  return isModern ? answerModern(services, asked, message) : answerLegacy(services, asked, message);
}
