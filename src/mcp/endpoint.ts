// /mcp: both eras of the protocol on one endpoint. It reads a message, finds out which era it belongs to, and passes it
// to modern.ts or legacy.ts. http/ has already authenticated the caller and parsed the body.

import { GuardError } from '../core/errors.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { EventWriter, STREAM_HEADERS } from '../event-writer.ts';
import { type Answer, accepted, failure, type Reply, responseOf } from './answers.ts';
import { answerLegacy } from './legacy.ts';
import { answerModern, claimsModern } from './modern.ts';
import {
  CODES,
  errorMessage,
  LEGACY_VERSIONS,
  notificationMessage,
  RpcError,
  type RpcMessage,
  readMessage,
} from './protocol.ts';
import type { ClientRequest, McpServices } from './services.ts';

/** POST /mcp. */
export async function post(services: McpServices, asked: ClientRequest, body: Json): Promise<Response> {
  return Array.isArray(body)
    ? batch(services, asked, body)
    : responseOf(await answerTo(services, asked, body));
}

function answerTo(services: McpServices, asked: ClientRequest, body: Json): Answer | Promise<Answer> {
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

/** Only the revision 2025-03-26 has batches; every call in one is checked like any other. */
async function batch(services: McpServices, asked: ClientRequest, messages: Json[]): Promise<Response> {
  const refused = (what: string) =>
    responseOf(failure(null, new RpcError(CODES.invalidRequest, what, { status: 400 })));
  const version = asked.request.headers.get('mcp-protocol-version') ?? (await negotiated(services, asked));
  if (version !== LEGACY_VERSIONS[0]) return refused(`Batches are not part of revision ${version}.`);
  if (messages.length === 0 || messages.length > MAX_BATCH)
    return refused(`A batch has 1 to ${MAX_BATCH} messages.`);
  const quiet = {
    ...asked,
    request: new Request(asked.request.url, {
      headers: withoutStreams(asked.request.headers),
      signal: asked.request.signal,
    }),
  };
  const answers = await Promise.all(messages.map(message => member(services, quiet, message)));
  // If every member was refused for the same reason, the HTTP status says so to clients that do not read the answers.
  const [first] = answers;
  if (first?.refusal && answers.every(each => each.refusal?.code === first.refusal?.code))
    throw first.refusal;
  const said = answers.flatMap(each => each.message ?? []);
  return said.length === 0 ? responseOf(accepted()) : Response.json(said);
}

interface Member {
  /** The answer; null: this message gets none. */
  message: JsonObject | null;
  /** The error that would have refused the whole request if the message had come alone. */
  refusal: GuardError | null;
}

/**
 * Answers one message of a batch, which is asked for without streams. A refusal of one leaves the others as they are: a
 * forwarded call gets its result.
 */
async function member(services: McpServices, asked: ClientRequest, body: Json): Promise<Member> {
  try {
    const { message } = (await answerTo(services, asked, body)) as Reply;
    return { message, refusal: null };
  } catch (error) {
    if (!(error instanceof GuardError)) throw error;
    const message = readMessage(body);
    const { code, message: why } = error;
    const refusal = new RpcError(CODES.internal, why, { data: { code } });
    return { message: message.kind === 'request' ? errorMessage(message.id, refusal) : null, refusal: error };
  }
}

const MAX_BATCH = 100;

async function negotiated(services: McpServices, { request, principal }: ClientRequest): Promise<string> {
  const id = request.headers.get('mcp-session-id');
  if (id === null) return LEGACY_VERSIONS[0];
  return (await services.mcpSessions.find(id, principal)).protocolVersion;
}

function withoutStreams(headers: Headers): Headers {
  const plain = new Headers(headers);
  plain.set('accept', 'application/json');
  return plain;
}

function answer(services: McpServices, asked: ClientRequest, message: RpcMessage): Promise<Answer> {
  const isModern = message.kind !== 'response' && claimsModern(asked.request.headers, message);
  return isModern ? answerModern(services, asked, message) : answerLegacy(services, asked, message);
}
