// What a gateway asks at /ext-authz: it sends the request of its client, or only the headers of it. This file finds out
// which call that is, or which other message. It trusts a client as little as the server behind the gateway should: what
// two readers could read in different ways is refused. Nothing here decides.

import { GuardError } from '../../core/errors.ts';
import { isObject, type JsonObject, MAX_CHECK_VALUES, parseJsonBytes } from '../../core/wire/json.ts';
import { ENVELOPE, type Id, MODERN_VERSION, metaOf, RpcError } from '../../mcp/protocol.ts';
import { readHeaderValue } from '../../mcp/schema.ts';
import { referenceIn } from '../../mcp/translate.ts';
import { isJson } from '../serving/body.ts';
import type { DoorCall } from './door.ts';
import { doorCallAt, isNamed, type Passed, passedOn } from './json-rpc.ts';

/** What is not a call: a method, an answer of the client, or a request of the transport that carries no message. */
export type Other =
  | { kind: 'method'; name: string }
  | { kind: 'answer' }
  | { kind: 'transport'; name: string };

export type Wanted = { doorCall: DoorCall } | { other: Other };

/** The message in a body. */
export interface Message {
  /** Null where it has none that could be answered. */
  id: Id | null;
  passed: Passed;
  params: JsonObject;
}

export function invalid(message: string): GuardError {
  return new GuardError('invalid_input', message);
}

/** Null if the gateway passed on no body. */
export function messageIn(request: Request, bytes: Uint8Array): Message | null {
  const { headers } = request;
  // A WebSocket, or HTTP/2 in the place of HTTP/1.1, would carry calls that nobody sees.
  if (headers.has('upgrade')) throw invalid('A connection must not change its protocol.');
  if ((headers.get('x-envoy-auth-partial-body') ?? 'false') !== 'false')
    throw invalid('The gateway passed on only a part of the body. Let it pass on the whole body.');
  const declared = headers.get('content-length') ?? (headers.has('transfer-encoding') ? '' : '0');
  if (bytes.length === 0 && declared !== '0')
    throw invalid(
      'The request announces a body that cannot be read. Let the gateway keep the method of the request, or leave out Content-Length.',
    );
  if (bytes.length === 0) return null;
  // With another method or content type, the server could understand something else: the end of a session, or another
  // text in the same bytes.
  if (request.method !== 'POST') throw invalid('A message of MCP is sent with POST.');
  if ((headers.has('content-type') && !isJson(request)) || headers.has('content-encoding'))
    throw invalid(
      'The body is read as plain application/json in UTF-8, and it says that it is something else.',
    );
  const value = parseJsonBytes(bytes, MAX_CHECK_VALUES);
  const passed = passedOn(value);
  const { id, params } = value as JsonObject;
  const known = typeof id === 'string' || Number.isSafeInteger(id) ? (id as Id) : null;
  return { id: known, passed, params: isObject(params) ? params : {} };
}

/**
 * `path` is the server in the path: null if the path ends before it. The gateway names the server there or in a header,
 * and where it does both they have to agree.
 */
export function serverOf(path: string | null, { headers }: Request): string {
  const named = headers.get('x-toolgate-server');
  const server = path ?? named;
  if (server === null)
    throw invalid('Name the server: as /ext-authz/<server>, or in the header X-Toolgate-Server.');
  if (named !== null && named !== server)
    throw invalid('The path and the header X-Toolgate-Server name different servers.');
  // A header that was sent twice arrives as one, with a comma.
  if (path === null && server.includes(',')) throw invalid('The header X-Toolgate-Server names one server.');
  return server;
}

export function wantedBy(serverName: string, request: Request, message: Message | null): Wanted {
  if (message === null) return byHeaders(serverName, request);
  const { passed, params } = message;
  if (passed.kind === 'answer') return { other: { kind: 'answer' } };
  requireSame(request.headers, passed.kind === 'call' ? 'tools/call' : passed.method, params);
  if (passed.kind === 'other') return { other: { kind: 'method', name: passed.method } };
  return { doorCall: { ...doorCallAt(serverName, passed), referenceId: approvalIn(params) } };
}

function approvalIn(params: JsonObject): string | null {
  try {
    return referenceIn(params);
  } catch (error) {
    if (error instanceof RpcError) throw invalid(error.message);
    throw error;
  }
}

/** What the body says decides, but a client whose headers say something else may mean to mislead one of its readers. */
function requireSame(headers: Headers, method: string, params: JsonObject): void {
  const version = metaOf(params)[ENVELOPE.version];
  const said = headers.get('mcp-protocol-version');
  if (version !== undefined && said !== null && said !== version) throw contradiction('MCP-Protocol-Version');
  if ((headers.get('mcp-method') ?? method) !== method) throw contradiction('Mcp-Method');
  const named = method === 'resources/read' ? params['uri'] : params['name'];
  const name = headers.get('mcp-name');
  if (name !== null && readHeaderValue(name) !== named) throw contradiction('Mcp-Name');
}

const contradiction = (header: string): GuardError =>
  invalid(`The header ${header} is not what the body says.`);

const NOTHING_KNOWN =
  'The gateway passed on neither the body nor the headers of MCP 2026-07-28 (MCP-Protocol-Version, Mcp-Method, ' +
  'Mcp-Name), so nobody knows what this request does.';

/** Without a body: only a client of 2026-07-28 says in headers what it wants. */
function byHeaders(serverName: string, request: Request): Wanted {
  const { headers } = request;
  const method = headers.get('mcp-method');
  if (method === null) return { other: transport(request) };
  if (headers.get('mcp-protocol-version') !== MODERN_VERSION) throw invalid(NOTHING_KNOWN);
  // A header that was sent twice arrives as one, with a comma, and servers differ in which of the two they read.
  if (method.includes(',')) throw invalid('The header Mcp-Method names one method.');
  if (method !== 'tools/call') return { other: { kind: 'method', name: method } };
  const toolName = nameIn(headers.get('mcp-name'));
  return { doorCall: { call: { serverName, toolName, unseen: true }, args: undefined } };
}

/**
 * The tool in the header. A name in base64 has to be written in the one usual way, which all readers read alike; other bytes
 * than ASCII are read as Latin-1 by some, and as UTF-8 by others.
 */
function nameIn(header: string | null): string {
  if (header === null) throw invalid('The header Mcp-Name is missing.');
  const name = readHeaderValue(header);
  const encoded = `=?base64?${Buffer.from(name, 'utf8').toString('base64')}?=`;
  const plain = /^[\x20-\x7e]*$/.test(header) && !header.startsWith('=?') && !header.includes(',');
  if (!plain && header !== encoded) throw invalid('The header Mcp-Name names one tool.');
  return name;
}

/**
 * The headers in which some gateways pass on the method of their client. They prove nothing alone, but they must not
 * contradict the request.
 */
const ORIGINAL_METHOD = ['x-forwarded-method', 'x-original-method'];

/** The event stream and the end of a session, of older revisions. */
function transport({ method, headers }: Request): Other {
  const others = ORIGINAL_METHOD.map(name => headers.get(name)).filter(
    said => said !== null && said !== method,
  );
  if ((method !== 'GET' && method !== 'DELETE') || others.length > 0) throw invalid(NOTHING_KNOWN);
  return { kind: 'transport', name: method };
}

/** Whether TOOLGATE_EXT_AUTHZ_OTHER names it. `*` stands for every message, and not for a request without one. */
export function isLetThrough(named: readonly string[], other: Other): boolean {
  switch (other.kind) {
    case 'transport':
      return named.includes(other.name);
    case 'answer':
      return named.includes('responses') || named.includes('*');
    case 'method':
      return isNamed(named, other.name);
  }
}
