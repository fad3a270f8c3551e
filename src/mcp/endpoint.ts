// /mcp: both eras of the protocol on one endpoint. Reads a message, tells the eras apart, answers what is ours to
// answer and hands calls to call.ts. Who is asking was settled before; how bytes come in and go out over HTTP
// beyond a Request and a Response is the web surface's.

import { GuardError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { Principal } from '../guard/credentials.ts';
import { type Call, type CallServices, callTool } from './call.ts';
import type { Connections } from './connections.ts';
import { EventWriter, STREAM_HEADERS } from './event-stream.ts';
import { type Forwarding, forward, isForwarded } from './forward.ts';
import { shown } from './listing.ts';
import {
  CODES,
  ENVELOPE,
  errorMessage,
  type Id,
  isObject,
  type JsonObject,
  LATEST_LEGACY,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  metaOf,
  notificationMessage,
  RpcError,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  readMessage,
  resultMessage,
  SUPPORTED_VERSIONS,
} from './protocol.ts';
import { readHeaderValue } from './schema.ts';

export interface McpServices extends CallServices, Forwarding {
  version: string;
  connections: Connections;
  /** Whether a credential could ever call a tool; for listings that leave the others out. */
  callable: ((principal: Principal) => Promise<(serverName: string, toolName: string) => boolean>) | null;
}

export interface Asked {
  request: Request;
  principal: Principal;
  startedAt: number;
  /** Asks the store whether the credential still lives; a call asks in its commit. */
  confirm: () => Promise<void>;
}

const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
/** What a client of the older era hears that never set a level. */
const DEFAULT_LOG_LEVEL = 'info';

/** POST /mcp. */
export async function post(services: McpServices, asked: Asked, body: Json): Promise<Response> {
  if (Array.isArray(body)) return batch(services, asked, body);
  let message: RpcMessage;
  try {
    message = readMessage(body);
  } catch (error) {
    return failure(null, error);
  }
  try {
    return await answer(services, asked, message);
  } catch (error) {
    return failure(message.kind === 'request' ? message.id : null, error);
  }
}

/** GET /mcp: a stream of what we have to say unasked; null when there is none for this request. */
export async function listen(services: McpServices, asked: Asked): Promise<Response | null> {
  const id = asked.request.headers.get('mcp-session-id');
  if (id === null || !(asked.request.headers.get('accept') ?? '').includes('text/event-stream')) return null;
  await services.connections.find(id, asked.principal);
  const stop = services.hub.onListChanged(asked.principal.keyId, () =>
    writer.hint(notificationMessage('notifications/tools/list_changed', {})),
  );
  // A credential that died ends the stream at the next keep-alive.
  const ended = () => {
    stop();
    services.connections.streamEnded(id, writer);
  };
  const writer = new EventWriter(ended, () => asked.confirm().catch(() => writer.close()));
  services.connections.stream(id, writer);
  writer.open();
  return new Response(writer.body, { headers: STREAM_HEADERS });
}

/** DELETE /mcp: ends a connection. */
export async function end(services: McpServices, asked: Asked): Promise<Response> {
  const id = asked.request.headers.get('mcp-session-id');
  if (id === null) throw new GuardError('invalid_input', 'The header Mcp-Session-Id is missing.');
  await services.connections.end(id, asked.principal);
  return new Response(null, { status: 204 });
}

/** Only the revision 2025-03-26 has batches; every call in one is judged like any other. */
async function batch(services: McpServices, asked: Asked, messages: Json[]): Promise<Response> {
  const refused = (what: string) => failure(null, new RpcError(CODES.invalidRequest, what, { status: 400 }));
  const version = asked.request.headers.get('mcp-protocol-version') ?? (await negotiated(services, asked));
  if (version !== LEGACY_VERSIONS[0]) return refused(`Batches are not part of revision ${version}.`);
  if (messages.length === 0 || messages.length > MAX_BATCH)
    return refused(`A batch has 1 to ${MAX_BATCH} messages.`);
  const quiet = {
    ...asked,
    request: new Request(asked.request.url, { headers: withoutStreams(asked.request.headers) }),
  };
  const answers = await Promise.all(messages.map(message => post(services, quiet, message)));
  const bodies = await Promise.all(answers.filter(each => each.status !== 202).map(each => each.text()));
  const refusal = answers.find(each => each.status === 401 || each.status === 503 || each.status === 404);
  if (refusal !== undefined) return new Response(null, { status: refusal.status });
  if (bodies.length === 0) return new Response(null, { status: 202 });
  return new Response(`[${bodies.join(',')}]`, { headers: { 'Content-Type': 'application/json' } });
}

const MAX_BATCH = 100;

async function negotiated(services: McpServices, { request, principal }: Asked): Promise<string> {
  const id = request.headers.get('mcp-session-id');
  if (id === null) return LEGACY_VERSIONS[0];
  return (await services.connections.find(id, principal)).protocolVersion;
}

function withoutStreams(headers: Headers): Headers {
  const plain = new Headers(headers);
  plain.set('accept', 'application/json');
  return plain;
}

function answer(services: McpServices, asked: Asked, message: RpcMessage): Promise<Response> {
  const isModern = message.kind !== 'response' && claimsModern(asked.request.headers, message);
  return isModern ? answerModern(services, asked, message) : answerLegacy(services, asked, message);
}

/** By its envelope, or by its header where the envelope is missing: then it is told so. */
function claimsModern(headers: Headers, { method, params }: RpcRequest | RpcNotification): boolean {
  if (metaOf(params)[ENVELOPE.version] !== undefined) return true;
  return headers.get('mcp-protocol-version') === MODERN_VERSION && method !== 'initialize';
}

async function answerModern(services: McpServices, asked: Asked, message: RpcMessage): Promise<Response> {
  if (message.kind !== 'request') {
    await asked.confirm();
    return accepted();
  }
  checkEnvelope(asked.request.headers, message);
  const { method, id } = message;
  const level = metaOf(message.params)[ENVELOPE.logLevel];
  if (method === 'tools/call') return call(services, asked, message, true, level);
  await asked.confirm();
  if (method === 'server/discover') return complete(id, await discovered(services, asked.principal), true);
  if (method === 'tools/list') return complete(id, await toolsOf(services, asked.principal), true);
  const forwarded = isForwarded(method) ? await forward(services, asked, message) : null;
  if (forwarded !== null) return complete(id, forwarded, method !== 'completion/complete');
  throw new RpcError(CODES.methodNotFound, `Method not found: ${method}`, { status: 404 });
}

function complete(id: Id, result: JsonObject, cacheable: boolean): Response {
  const cache = cacheable ? { ttlMs: 0, cacheScope: 'private' } : {};
  return json(resultMessage(id, { resultType: 'complete', ...result, ...cache }));
}

async function discovered(services: McpServices, principal: Principal): Promise<JsonObject> {
  return {
    supportedVersions: [...SUPPORTED_VERSIONS],
    capabilities: await capabilities(services, principal, false),
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'toolgate', version: services.version } },
  };
}

/** Headers repeat what the body says, for those on the way; where they disagree, nothing is judged. */
function checkEnvelope(headers: Headers, { method, params }: RpcRequest): void {
  const meta = metaOf(params);
  const version = meta[ENVELOPE.version];
  if (version === undefined) throw lacking(ENVELOPE.version);
  if (headers.get('mcp-protocol-version') !== version) throw mismatch('MCP-Protocol-Version');
  if (headers.get('mcp-method') !== method) throw mismatch('Mcp-Method');
  const named = method === 'resources/read' ? params['uri'] : params['name'];
  if (['tools/call', 'prompts/get', 'resources/read'].includes(method)) {
    const name = headers.get('mcp-name');
    if (name === null || readHeaderValue(name) !== named) throw mismatch('Mcp-Name');
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

async function answerLegacy(services: McpServices, asked: Asked, message: RpcMessage): Promise<Response> {
  if (message.kind === 'request' && message.method === 'initialize')
    return initialize(services, asked, message);
  const { headers } = asked.request;
  const version = headers.get('mcp-protocol-version');
  if (version !== null && !(LEGACY_VERSIONS as readonly string[]).includes(version)) {
    throw new RpcError(CODES.invalidRequest, `Unsupported protocol version: ${version}.`, { status: 400 });
  }
  const connectionId = headers.get('mcp-session-id');
  if (connectionId === null) {
    throw new RpcError(CODES.invalidRequest, 'The header Mcp-Session-Id is missing.', { status: 400 });
  }
  const connection = await services.connections.find(connectionId, asked.principal);
  if (message.kind !== 'request' || message.method !== 'tools/call') await asked.confirm();
  if (message.kind === 'notification') {
    if (message.method === 'notifications/cancelled') {
      services.connections.cancel(connectionId, message.params['requestId'] as Id);
    }
    return accepted();
  }
  if (message.kind === 'response') return accepted();
  const { id, method, params } = message;
  switch (method) {
    case 'tools/call': {
      const level = connection.logLevel ?? DEFAULT_LOG_LEVEL;
      return call(services, asked, withLevel(message, level), false, level, connectionId);
    }
    case 'ping':
      return json(resultMessage(id, {}));
    case 'tools/list':
      return json(resultMessage(id, await toolsOf(services, asked.principal)));
    case 'logging/setLevel':
      if (!LOG_LEVELS.includes(params['level'] as string)) {
        throw new RpcError(
          CODES.invalidParams,
          `Invalid params: "level" is one of ${LOG_LEVELS.join(', ')}.`,
        );
      }
      await services.connections.setLevel(connection.id, params['level'] as string);
      return json(resultMessage(id, {}));
    default: {
      const forwarded = isForwarded(method) ? await forward(services, asked, message) : null;
      if (forwarded !== null) return json(resultMessage(id, forwarded));
      throw new RpcError(CODES.methodNotFound, `Method not found: ${method}`);
    }
  }
}

/** Upstreams of the newer era keep silent unless the request itself asks for log messages. */
function withLevel(message: RpcRequest, level: string): RpcRequest {
  const _meta = { ...metaOf(message.params), [ENVELOPE.logLevel]: level };
  return { ...message, params: { ...message.params, _meta } };
}

function isWanted({ method, params }: JsonObject, level: Json | undefined): boolean {
  if (method !== 'notifications/message') return true;
  const said = isObject(params) ? params['level'] : undefined;
  return level !== undefined && LOG_LEVELS.indexOf(said as string) >= LOG_LEVELS.indexOf(level as string);
}

async function initialize(
  services: McpServices,
  asked: Asked,
  { id, params }: RpcRequest,
): Promise<Response> {
  await asked.confirm();
  const wished = params['protocolVersion'];
  const known = LEGACY_VERSIONS.find(version => version === wished);
  const protocolVersion = known ?? LATEST_LEGACY;
  const connectionId = await services.connections.open(asked.principal, protocolVersion);
  // All at once, and not waited for: a dead upstream must not hold up the client.
  for (const upstream of await services.hub.of(asked.principal.keyId)) upstream.connect().catch(() => {});
  const result: JsonObject = {
    protocolVersion,
    capabilities: await capabilities(services, asked.principal, true),
    serverInfo: { name: 'toolgate', version: services.version },
  };
  return json(resultMessage(id, result), 200, { 'Mcp-Session-Id': connectionId });
}

/** What is declared has to be answered: only what the key forwards besides tools. */
async function capabilities(
  services: McpServices,
  { keyId, scope }: Principal,
  listChanged: boolean,
): Promise<JsonObject> {
  const offered = scope === null ? await services.forwards(keyId) : [];
  return {
    tools: { listChanged },
    logging: {},
    ...(offered.includes('resources') ? { resources: {} } : {}),
    ...(offered.includes('prompts') ? { prompts: {} } : {}),
    ...(offered.includes('completion') ? { completions: {} } : {}),
  };
}

async function toolsOf(services: McpServices, principal: Principal): Promise<JsonObject> {
  const tools = await services.listing.list(principal.keyId);
  const callable = services.callable === null ? null : await services.callable(principal);
  const listed = callable === null ? tools : tools.filter(each => callable(each.serverName, each.toolName));
  return { tools: listed.map(shown) };
}

/**
 * Answered as JSON when the result is the first thing that the upstream says, and as a stream of events from
 * the moment it says something else before.
 */
async function call(
  services: McpServices,
  asked: Asked,
  { id, params }: RpcRequest,
  modern: boolean,
  logLevel: Json | undefined,
  connectionId: string | null = null,
): Promise<Response> {
  const { request, principal, startedAt } = asked;
  const streams = (request.headers.get('accept') ?? '').includes('text/event-stream');
  const cancel = new AbortController();
  if (modern) request.signal.addEventListener('abort', () => cancel.abort());
  const forget = connectionId === null ? () => {} : services.connections.follow(connectionId, id, cancel);
  const spoken = Promise.withResolvers<'spoken'>();
  const early: JsonObject[] = [];
  let writer: EventWriter | null = null;
  let status = 200;
  const onNotification = (notification: JsonObject) => {
    if (!streams || !isWanted(notification, logLevel)) return;
    if (writer !== null) return writer.hint(notification);
    early.push(notification);
    spoken.resolve('spoken');
  };
  const judged: Call = { principal, params, startedAt, signal: cancel.signal, modern, onNotification };
  const done = callTool(services, judged)
    .then(result => resultMessage(id, modern ? { resultType: 'complete', ...result } : result))
    .catch(error => {
      if (error instanceof RpcError) {
        status = error.status;
        return errorMessage(id, error);
      }
      if (writer === null) throw error;
      return errorMessage(id, internal(error));
    })
    .finally(forget);
  const first = await Promise.race([done, spoken.promise]);
  if (first !== 'spoken') return json(first, status);
  const stream = new EventWriter(() => {
    if (modern) cancel.abort();
  });
  writer = stream;
  for (const notification of early) stream.hint(notification);
  done.then(message => stream.send(message)).finally(() => stream.close());
  return new Response(stream.body, { headers: STREAM_HEADERS });
}

/** What the protocol has an answer for; the rest (401, 503) is the web surface's. */
function failure(id: Id | null, error: unknown): Response {
  if (error instanceof RpcError) return json(errorMessage(id, error), error.status);
  if (error instanceof GuardError && error.code !== 'audit_failed') throw error;
  return json(errorMessage(id, internal(error)));
}

function internal(error: unknown): RpcError {
  const said = error instanceof GuardError ? error.message : 'Something went wrong on our side.';
  return new RpcError(CODES.internal, said);
}

function accepted(): Response {
  return new Response(null, { status: 202 });
}

function json(message: JsonObject, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(message, { status, headers });
}
