// tools/call: finds the tool, has the call checked and recorded, and forwards it only after a committed allow. What is
// forwarded is what was checked: parsed, and written again. The result comes back as it is.

import { isReference } from '../core/approval.ts';
import { isObject, type Json, type JsonObject } from '../core/json.ts';
import type { GroupCommit } from '../guard/check/commit.ts';
import type { OutcomeLog } from '../guard/check/outcomes.ts';
import type { CheckRequest, Verdict } from '../guard/check/request.ts';
import type { Principal } from '../guard/credentials.ts';
import type { CallOutcome } from '../store/outcomes.ts';
import type { Listing } from './listing.ts';
import type { KnownTool } from './offered.ts';
import type { Place, Places } from './places.ts';
import {
  CODES,
  ENVELOPE,
  metaOf,
  REFERENCE_META,
  RpcError,
  type RpcNotification,
  type RpcResponse,
} from './protocol.ts';
import { headerValue, paramHeaders } from './schema.ts';
import { UpstreamTimeout } from './time-limit.ts';
import { UpstreamError } from './wire.ts';

export interface CallServices {
  checks: GroupCommit<CheckRequest, Verdict>;
  listing: Listing;
  outcomes: OutcomeLog;
  places: Places;
  timeoutMs: number;
  /** However much progress is reported. */
  maxMs: number;
  onVerdict: (verdict: Verdict, startedAt: number) => void;
}

interface Call {
  principal: Principal;
  params: JsonObject;
  startedAt: number;
  /** Aborted when the client wants no answer any more. */
  cancel: AbortController;
  /** Whether the client speaks the newer era. */
  modern: boolean;
  /** Progress and log messages of the upstream, for the client. */
  onNotification: (notification: JsonObject) => void;
}

/** The client wants no answer any more, and is sent none. */
export class CallCancelled extends RpcError {}

/** The result of the call, or throws an RpcError; a GuardError means that there was no verdict. */
export async function callTool(services: CallServices, call: Call): Promise<JsonObject> {
  const { params } = call;
  const { name, arguments: args } = params;
  if (typeof name !== 'string')
    throw new RpcError(CODES.invalidParams, 'Invalid params: "name" is a string.');
  if (args !== undefined && !isObject(args)) {
    throw new RpcError(CODES.invalidParams, 'Invalid params: "arguments" is an object.');
  }
  const tool = await services.listing.find(call.principal.keyId, name);
  if (tool === null) throw new RpcError(CODES.invalidParams, `Unknown tool: ${name}`);
  const place = services.places.take(tool.upstream.tool);
  try {
    return await checkAndForward(services, call, tool, args, place);
  } finally {
    place.free();
  }
}

/** With a place taken before, so that what cannot be forwarded spends no approval. */
async function checkAndForward(
  services: CallServices,
  call: Call,
  tool: KnownTool,
  args: Json | undefined,
  place: Place,
): Promise<JsonObject> {
  const verdict = await check(services, call, tool, args, place);
  switch (verdict.decision) {
    case 'allow':
      return forward(services, call, tool, verdict.toolCallId);
    case 'deny':
      return blocked(refusal(verdict.reason, place));
    case 'pending':
      return pending(verdict);
  }
}

/** The approval that the call is to spend. As strict as /v1/check: what is no reference never gets to the store. */
function referenceIn(params: JsonObject): string | null {
  const reference = metaOf(params)[REFERENCE_META];
  if (reference === undefined) return null;
  if (isReference(reference)) return reference;
  throw new RpcError(
    CODES.invalidParams,
    `Invalid params: _meta["${REFERENCE_META}"] is the referenceId of an approval, a UUID.`,
  );
}

function refusal(reason: string, { none }: Place): string {
  if (none !== undefined && reason.includes(none))
    return `Not forwarded: ${reason} Call again when one of them has ended.`;
  return `Blocked by policy: ${reason} Do not retry this call.`;
}

async function check(
  services: CallServices,
  call: Call,
  tool: KnownTool,
  args: Json | undefined,
  { none }: Place,
): Promise<Verdict> {
  const { serverName, toolName, upstream } = tool;
  const verdict = await services.checks.submit({
    principal: call.principal,
    surface: 'mcp',
    call: { serverName, toolName, ...(none !== undefined && { noPlace: none }) },
    connectedToolId: upstream.tool.id,
    args,
    ...continuationOf(call.params),
    referenceId: referenceIn(call.params),
    startedAt: call.startedAt,
  });
  services.onVerdict(verdict, call.startedAt);
  return verdict;
}

/** What the tool asked for, and its state: they go on with the arguments, so an approval binds them too. */
function continuationOf(params: JsonObject): { continuation?: Json } {
  const given = CONTINUATION.filter(key => params[key] !== undefined);
  if (given.length === 0) return {};
  return { continuation: Object.fromEntries(given.map(key => [key, params[key] as Json])) };
}

const CONTINUATION = ['inputResponses', 'requestState'] as const;

async function forward(
  services: CallServices,
  call: Call,
  tool: KnownTool,
  toolCallId: string,
): Promise<JsonObject> {
  const started = performance.now();
  const done = (outcome: CallOutcome) => {
    services.outcomes.record({ toolCallId, outcome, durationMs: Math.round(performance.now() - started) });
  };
  try {
    const response = await ask(services, call, tool);
    const failed = response.error !== null || response.result?.['isError'] === true;
    done(failed ? 'tool_error' : 'ok');
    if (response.error !== null) throw relayed(response.error, call.modern);
    return shownResult(response.result ?? {}, call.modern);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    const late = error instanceof UpstreamTimeout;
    if (call.cancel.signal.aborted && !late) {
      done('cancelled');
      throw new CallCancelled(CODES.internal, 'The call was cancelled.');
    }
    if (!(error instanceof UpstreamError)) throw error;
    done(late ? 'timed_out' : 'upstream_failure');
    return blocked(`The call was allowed, but ${error.message}.`);
  }
}

async function ask(services: CallServices, call: Call, tool: KnownTool): Promise<RpcResponse> {
  const meta = metaOf(call.params);
  const clientToken = meta['progressToken'];
  // Upstreams see a token of ours, so that no client can name another's call.
  const ourToken = clientToken === undefined ? undefined : crypto.randomUUID();
  const onNotification = (notification: RpcNotification) => {
    const told = forClient(notification, ourToken, clientToken);
    if (told !== null) call.onNotification(told);
  };
  return tool.upstream.request('tools/call', forUpstream(call.params, tool, ourToken), {
    cancel: call.cancel,
    timeoutMs: services.timeoutMs,
    maxMs: services.maxMs,
    changes: services.listing.confirmed(tool),
    onNotification,
    capabilities: meta[ENVELOPE.capabilities] ?? {},
    headers: () => ({
      'Mcp-Name': headerValue(tool.toolName),
      ...paramHeaders(tool.definition, call.params['arguments']),
    }),
  });
}

/** Only what the protocol knows goes on; of `_meta`, everything but what is between the client and us. */
function forUpstream(params: JsonObject, tool: KnownTool, progressToken: string | undefined): JsonObject {
  const meta = metaForUpstream(params);
  const level = metaOf(params)[ENVELOPE.logLevel];
  if (level !== undefined) meta[ENVELOPE.logLevel] = level;
  if (progressToken !== undefined) meta['progressToken'] = progressToken;
  const sent: JsonObject = { name: tool.toolName };
  for (const key of ['arguments', ...CONTINUATION]) {
    if (params[key] !== undefined) sent[key] = params[key];
  }
  if (Object.keys(meta).length > 0) sent['_meta'] = meta;
  return sent;
}

/** What in `_meta` is neither between the client and us nor of one leg only. */
export function metaForUpstream(params: JsonObject): JsonObject {
  const ours = (key: string) =>
    key === 'progressToken' || key.startsWith('toolgate/') || ENVELOPE_KEYS.has(key);
  return Object.fromEntries(Object.entries(metaOf(params)).filter(([key]) => !ours(key)));
}

const ENVELOPE_KEYS: ReadonlySet<string> = new Set(Object.values(ENVELOPE));

function forClient(
  notification: RpcNotification,
  ourToken: string | undefined,
  token: Json | undefined,
): JsonObject | null {
  const { method, params } = notification;
  if (method === 'notifications/message') return { jsonrpc: '2.0', method, params };
  if (method !== 'notifications/progress' || ourToken === undefined || params['progressToken'] !== ourToken)
    return null;
  return { jsonrpc: '2.0', method, params: { ...params, progressToken: token as Json } };
}

/** Codes that speak of the leg between us and the upstream would be wrong on the leg to the client. */
function relayed(error: { code: number; message: string; data?: Json }, modern: boolean): RpcError {
  const data = error.data === undefined ? {} : { data: error.data };
  // The upstream saw the client's own capabilities: what it misses, the client lacks.
  if (modern && error.code === CODES.missingCapability) {
    return new RpcError(error.code, error.message, { status: 400, ...data });
  }
  const ownLeg = error.code <= -32020 && error.code >= -32099;
  return new RpcError(ownLeg ? CODES.internal : error.code, error.message, data);
}

/** As the upstream gave it; old servers leave `content` out. A question to the user needs the newer era. */
function shownResult(result: JsonObject, modern: boolean): JsonObject {
  if (result['resultType'] === 'input_required') {
    return modern ? result : blocked('The tool asks for input in a way that this client does not know.');
  }
  return result['content'] === undefined ? { content: [], ...result } : result;
}

function blocked(reason: string): JsonObject {
  return { content: [{ type: 'text', text: reason }], isError: true };
}

function pending({ referenceId = '', message = '' }: Verdict): JsonObject {
  const structuredContent = { status: 'pending', referenceId, message };
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
}
