// A call goes through two connections: from the client to us, and from us to the tool server. This file translates what
// is sent on one of them for the other: names, progress tokens, `_meta`, error codes, and results that a client could
// not read.

import { isReference } from '../core/approvals/approval.ts';
import { IDEMPOTENCY_META } from '../core/text/idempotency-key.ts';
import type { Json, JsonObject } from '../core/wire/json.ts';
import type { Verdict } from '../guard/check/request.ts';
import type { CallInput } from './call-input.ts';
import type { KnownTool } from './known-tool.ts';
import { asksAsWe } from './own-questions.ts';
import { CODES, ENVELOPE, metaOf, REFERENCE_META, RpcError, type RpcNotification } from './protocol.ts';

/** The parameters of `tools/call` for the upstream: only what the protocol knows. */
export function callForUpstream(
  input: CallInput,
  { toolName }: Pick<KnownTool, 'toolName'>,
  params: JsonObject,
  level: Json | undefined,
  progressToken: string | undefined,
): JsonObject {
  const meta = {
    ...metaForUpstream(params),
    // Upstreams of the newer era send no log messages unless the request itself asks for them.
    ...(level !== undefined && { [ENVELOPE.logLevel]: level }),
    ...(progressToken !== undefined && { progressToken }),
  };
  return { name: toolName, ...input, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
}

/** The client's `_meta` without what concerns only the client and us, or only one of the two connections. */
export function metaForUpstream(params: JsonObject): JsonObject {
  const ours = (key: string) =>
    key === 'progressToken' ||
    key === IDEMPOTENCY_META ||
    key.startsWith('toolgate/') ||
    ENVELOPE_KEYS.has(key);
  return Object.fromEntries(Object.entries(metaOf(params)).filter(([key]) => !ours(key)));
}

const ENVELOPE_KEYS: ReadonlySet<string> = new Set(Object.values(ENVELOPE));

/** A notification of the upstream under the client's own progress token; null when it does not concern the client. */
export function notificationForClient(
  notification: RpcNotification,
  ourToken: string | undefined,
  clientToken: Json | undefined,
): JsonObject | null {
  const { method, params } = notification;
  if (method === 'notifications/message') return { jsonrpc: '2.0', method, params };
  if (method !== 'notifications/progress' || ourToken === undefined || params['progressToken'] !== ourToken)
    return null;
  return { jsonrpc: '2.0', method, params: { ...params, progressToken: clientToken as Json } };
}

/** An error of the upstream. Codes about the connection between us and the upstream would mislead the client. */
export function errorForClient(
  error: { code: number; message: string; data?: Json | undefined },
  modern: boolean,
): RpcError {
  const data = error.data === undefined ? {} : { data: error.data };
  // The upstream was given the client's own capabilities, so the client lacks what the upstream misses.
  if (modern && error.code === CODES.missingCapability) {
    return new RpcError(error.code, error.message, { status: 400, ...data });
  }
  const ownLeg = error.code <= -32020 && error.code >= -32099;
  return new RpcError(ownLeg ? CODES.internal : error.code, error.message, data);
}

/**
 * The upstream's result as it is, with the `content` that old servers leave out. Only the newer era can ask the user.
 */
export function resultForClient(result: JsonObject, modern: boolean): JsonObject {
  if (result['resultType'] === 'input_required') {
    if (asksAsWe(result['inputRequests']))
      return errorResult('The tool asks for input in the name of Toolgate.');
    return modern ? result : errorResult('The tool asks for input in a way that this client does not know.');
  }
  return result['content'] === undefined ? { content: [], ...result } : result;
}

/** A result that the model reads as an error. */
export function errorResult(reason: string): JsonObject {
  return { content: [{ type: 'text', text: reason }], isError: true };
}

/** Why a call is not made, as the model reads it. */
export function refusal({ reason, note, unplaced }: Pick<Verdict, 'reason' | 'note' | 'unplaced'>): string {
  if (unplaced) return `Not forwarded: ${reason} Call again when one of them has ended.`;
  const wrote = note === undefined ? '' : ` They wrote: "${note}"`;
  return `Blocked by policy: ${reason}${wrote} Do not retry this call.`;
}

export function pendingResult({ referenceId = '', message = '' }: Verdict): JsonObject {
  const structuredContent = { status: 'pending', referenceId, message };
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
}

/** The approval that the call is to spend. As on /v1/check, a text that is no reference never reaches the store. */
export function referenceIn(params: JsonObject): string | null {
  const reference = metaOf(params)[REFERENCE_META];
  if (reference === undefined) return null;
  if (isReference(reference)) return reference;
  throw new RpcError(
    CODES.invalidParams,
    `Invalid params: _meta["${REFERENCE_META}"] is the referenceId of an approval, a UUID.`,
  );
}
