// The spans of MCP requests, by OpenTelemetry's semantic conventions for MCP and for tools of generative AI: one for the
// request of a client, and within it one for what is sent to the tool server. They never hold arguments, results or
// addresses with a query; nor the id of a session, which servers take for a secret.

import { GuardError } from '../core/errors.ts';
import { joinName } from '../core/text/name.ts';
import type { Json, JsonObject } from '../core/wire/json.ts';
import type { Attributes, Span, Tracer } from '../core/wire/span.ts';
import { readTraceParent } from '../core/wire/trace-context.ts';
import type { ConnectedTool } from '../store/connected-tools.ts';
import { type Id, metaOf, RpcError, type RpcResponse } from './protocol.ts';
import { SignInFirst } from './sign-in.ts';
import { UpstreamTimeout } from './time-limit.ts';
import { UpstreamError } from './wire.ts';

/** An id that a client chose is shown if it is not longer than this. */
const MAX_ID = 64;

/** What a request carries of its trace, under the names of W3C Trace Context. */
export type Trace = ReturnType<Span['headers']>;

interface Begun {
  method: string;
  params: JsonObject;
  id: Id;
  protocolVersion?: string;
  /** The span of the HTTP request that carried the message. */
  around: Span | undefined;
  startedAt: number;
  /** The tool, if there is one of that name. */
  tool: { serverName: string; toolName: string } | null;
}

/**
 * Begins the span of a client's request. It belongs to the trace that the message itself names in `_meta`, else to that of
 * the HTTP request.
 */
export function beginMcpSpan(tracer: Tracer | null, begun: Begun): Span | undefined {
  if (tracer === null) return undefined;
  const { method, params, id, protocolVersion, around, startedAt, tool } = begun;
  const meta = metaOf(params);
  const parent = readTraceParent(text(meta['traceparent']), () => text(meta['tracestate']));
  const toolName = tool === null ? null : joinName(tool.serverName, tool.toolName);
  const name = toolName === null ? method : `${method} ${toolName}`;
  const span =
    parent === null
      ? around?.child(name, 'server', startedAt)
      : tracer.begin(name, 'server', parent, startedAt);
  span?.set({
    ...about(method, toolName),
    ...(protocolVersion !== undefined && { 'mcp.protocol.version': protocolVersion }),
    'network.transport': 'tcp',
    'network.protocol.name': 'http',
    ...(String(id).length <= MAX_ID && { 'jsonrpc.request.id': String(id) }),
  });
  return span ?? undefined;
}

const text = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null);

function about(method: string, toolName: string | null): Attributes {
  if (toolName === null) return { 'mcp.method.name': method };
  return {
    'mcp.method.name': method,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': toolName,
  };
}

/** Does the work of a client's request within its span. `work` returns the result for the client. */
export function withinSpan(span: Span | undefined, work: () => Promise<JsonObject>): Promise<JsonObject> {
  return span === undefined ? work() : ending(span, work);
}

async function ending(span: Span, work: () => Promise<JsonObject>): Promise<JsonObject> {
  try {
    const result = await work();
    span.end(result['isError'] === true ? TOOL_ERROR : null);
    return result;
  } catch (error) {
    if (error instanceof RpcError) span.set({ 'rpc.response.status_code': codeOf(error) });
    span.end(failureOf(error));
    throw error;
  }
}

const TOOL_ERROR = 'tool_error';

/** A server chooses the code of its errors, and could put anything into it: only what the protocol reserves is shown. */
function codeOf({ code }: { code: number }): string {
  return code >= -32768 && code <= -32000 ? String(code) : '_OTHER';
}

function failureOf(error: unknown): string {
  if (error instanceof RpcError) return codeOf(error);
  if (error instanceof GuardError) return error.code;
  if (error instanceof UpstreamTimeout) return 'timeout';
  if (error instanceof SignInFirst) return 'sign_in_needed';
  return error instanceof UpstreamError ? 'upstream_failure' : '_OTHER';
}

/** Sends a request to a tool server within a span of its own. `send` is given what the request has to carry of it. */
export function sendTraced(
  around: Span | undefined,
  upstream: ConnectedTool,
  method: string,
  toolName: string | null,
  send: (trace: Trace | undefined) => Promise<RpcResponse>,
): Promise<RpcResponse> {
  return around === undefined ? send(undefined) : sendWithin(around, upstream, method, toolName, send);
}

async function sendWithin(
  around: Span,
  upstream: ConnectedTool,
  method: string,
  toolName: string | null,
  send: (trace: Trace | undefined) => Promise<RpcResponse>,
): Promise<RpcResponse> {
  const span = around.child(toolName === null ? method : `${method} ${toolName}`, 'client');
  span.set({ ...about(method, toolName), ...peerOf(upstream) });
  try {
    const response = await send(span.headers());
    if (response.error !== null) span.set({ 'rpc.response.status_code': codeOf(response.error) });
    span.end(toldBy(response));
    return response;
  } catch (error) {
    span.end(failureOf(error));
    throw error;
  }
}

function toldBy({ error, result }: RpcResponse): string | null {
  if (error !== null) return codeOf(error);
  return result?.['isError'] === true ? TOOL_ERROR : null;
}

/** Of an address only host and port: its path and query may hold a secret. */
function peerOf({ transport, target, name }: ConnectedTool): Attributes {
  const server = { 'toolgate.server_name': name };
  if (transport === 'stdio') return { ...server, 'network.transport': 'pipe' };
  const { hostname, port, protocol } = new URL(target);
  return {
    ...server,
    'network.transport': 'tcp',
    'network.protocol.name': 'http',
    'server.address': hostname,
    'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
  };
}
