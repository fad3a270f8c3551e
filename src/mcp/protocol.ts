// The protocol's own words: versions, JSON-RPC messages, error codes. Two eras share one endpoint. The older era opens
// an MCP session with `initialize`; the newer one has no sessions and carries an envelope in every request's `_meta`.

import { isObject, type Json, type JsonObject } from '../core/wire/json.ts';

export const LEGACY_VERSIONS = ['2025-03-26', '2025-06-18', '2025-11-25'] as const;
export const LATEST_LEGACY = '2025-11-25';
export const MODERN_VERSION = '2026-07-28';
export const SUPPORTED_VERSIONS = [...LEGACY_VERSIONS, MODERN_VERSION];

export const ENVELOPE = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
} as const;

/** The key in `_meta` that names the approval which a call is to spend. */
export const REFERENCE_META = 'toolgate/referenceId';

export type Id = string | number;

/**
 * The longest text of a client, in characters, that our answers repeat. They are not counted for its key: an `id` of four
 * megabytes came back as an answer that nobody had to read, on as many connections as a client liked.
 */
export const MAX_REPEATED = 1024;

export interface RpcRequest {
  kind: 'request';
  id: Id;
  method: string;
  params: JsonObject;
}

export interface RpcNotification {
  kind: 'notification';
  method: string;
  params: JsonObject;
}

export interface RpcResponse {
  kind: 'response';
  id: Id | null;
  result: JsonObject | null;
  error: { code: number; message: string; data?: Json | undefined } | null;
}

export type RpcMessage = RpcRequest | RpcNotification | RpcResponse;

export const CODES = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  /** Of the revision 2025-11-25 alone. */
  urlElicitationRequired: -32042,
} as const;

/** An error in the words of the protocol. `status` is the HTTP status of the answer that carries it. */
export class RpcError extends Error {
  readonly code: number;
  readonly status: number;
  readonly data: Json | undefined;

  constructor(code: number, message: string, { status = 200, data }: { status?: number; data?: Json } = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.data = data;
  }
}

/** Reads one message from parsed JSON. */
export function readMessage(value: Json): RpcMessage {
  if (!isObject(value) || value['jsonrpc'] !== '2.0')
    throw invalid('a message is an object with "jsonrpc": "2.0"');
  const { id, method, params } = value;
  if (method === undefined) return readResponse(value);
  if (!isRepeatable(method)) throw invalid(`"method" is a string of at most ${MAX_REPEATED} characters`);
  if (params !== undefined && !isObject(params)) throw invalid('"params" is an object');
  if (id === undefined) return { kind: 'notification', method, params: params ?? {} };
  if (!isRepeatable(id) && !Number.isInteger(id))
    throw invalid(`"id" is a string of at most ${MAX_REPEATED} characters or an integer`);
  return { kind: 'request', id: id as Id, method, params: params ?? {} };
}

export function isRepeatable(value: Json | undefined): value is string {
  return typeof value === 'string' && value.length <= MAX_REPEATED;
}

function readResponse(value: JsonObject): RpcResponse {
  const { id, result, error } = value;
  const known = typeof id === 'string' || typeof id === 'number' ? id : null;
  if (isObject(error)) {
    const code = typeof error['code'] === 'number' ? error['code'] : CODES.internal;
    const message = typeof error['message'] === 'string' ? error['message'] : '';
    const data = error['data'];
    return {
      kind: 'response',
      id: known,
      result: null,
      error: data === undefined ? { code, message } : { code, message, data },
    };
  }
  if (!isObject(result)) throw invalid('a response has a "result" or an "error"');
  return { kind: 'response', id: known, result, error: null };
}

function invalid(what: string): RpcError {
  return new RpcError(CODES.invalidRequest, `Invalid request: ${what}.`, { status: 400 });
}

export function metaOf(params: JsonObject): JsonObject {
  const meta = params['_meta'];
  return isObject(meta) ? meta : {};
}

export function resultMessage(id: Id, result: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id, result };
}

export function errorMessage(id: Id | null, error: RpcError): JsonObject {
  const { code, message, data } = error;
  return { jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } };
}

export function notificationMessage(method: string, params: JsonObject): JsonObject {
  return { jsonrpc: '2.0', method, params };
}
