// tools/call: finds the tool, has the call checked and recorded, and forwards it only after a committed `allow`. What
// is forwarded is what was checked: parsed, and written again. The result comes back as the tool server gave it.

import { GuardError } from '../core/errors.ts';
import { isObject, type Json, type JsonObject } from '../core/wire/json.ts';
import type { Span } from '../core/wire/span.ts';
import { type CheckRequest, RUN, type Verdict } from '../guard/check/request.ts';
import type { Principal } from '../guard/credentials.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import type { CallOutcome } from '../store/log/outcomes.ts';
import { type CallInput, checkedOf, inputOf } from './call-input.ts';
import type { CallSlot } from './call-slots.ts';
import { namedInResult } from './named-in-result.ts';
import type { KnownTool } from './offered.ts';
import {
  CODES,
  ENVELOPE,
  type Id,
  MAX_REPEATED,
  metaOf,
  REFERENCE_META,
  RpcError,
  type RpcNotification,
  type RpcResponse,
} from './protocol.ts';
import { headerValue, paramHeaders } from './schema.ts';
import type { McpServices } from './services.ts';
import { SignInFirst, signInFirst } from './sign-in.ts';
import { type SignInAnswer, signInAnswer, takeSignInAnswer, untilSignedIn } from './sign-in-answer.ts';
import { UpstreamTimeout } from './time-limit.ts';
import { beginMcpSpan, sendTraced, withinSpan } from './tracing.ts';
import {
  callForUpstream,
  errorForClient,
  errorResult,
  notificationForClient,
  pendingResult,
  referenceIn,
  resultForClient,
} from './translate.ts';
import { Stopping, UpstreamError } from './wire.ts';

const METHOD = 'tools/call';

type CallServices = Pick<
  McpServices,
  | 'checks'
  | 'learner'
  | 'hub'
  | 'listing'
  | 'outcomes'
  | 'slots'
  | 'timeoutMs'
  | 'maxMs'
  | 'onVerdict'
  | 'serverSignIns'
  | 'tracer'
>;

export interface Call {
  principal: Principal;
  /** The name of the run to which the call belongs, if the client gives one or opened an MCP session. */
  run?: string | undefined;
  params: JsonObject;
  startedAt: number;
  /** Aborted when the client wants no answer any more. */
  cancel: AbortController;
  /** Whether the client speaks the newer era. */
  modern: boolean;
  /** Whether the client can send its user to an address. */
  elicitsUrl: boolean;
  /** The least level of the log messages that the client wants; undefined: it wants none. */
  logLevel: Json | undefined;
  /** Counts what the answer takes of the key's share, and keeps the call's slot, until the client has read the answer. */
  ration: AnswerRation;
  /** What the client answered when it was last asked to send its user to an address. */
  answer?: SignInAnswer;
  /** Takes progress and log messages of the upstream, for the client. */
  onNotification: (notification: JsonObject) => void;
  /** What its span says of the message and of the HTTP request that carried it. */
  context: { span: Span | undefined; id: Id; protocolVersion: string };
}

/** A call within its own span, with what is checked and forwarded of it. */
interface Begun extends Call {
  input: CallInput;
  span: Span | undefined;
}

/** The client wants no answer any more, and is sent none. */
export class CallCancelled extends RpcError {}

/** Returns the result for the client, or throws an RpcError. A GuardError means that there was no verdict. */
export async function callTool(services: CallServices, asked: Call): Promise<JsonObject> {
  const answered = takeSignInAnswer(asked.params);
  const call = answered === null ? asked : { ...asked, ...answered };
  const { name } = call.params;
  if (typeof name !== 'string')
    throw new RpcError(CODES.invalidParams, 'Invalid params: "name" is a string.');
  const input = inputOf(call.params);
  const startedAt = performance.now();
  const tool = await services.listing.find(call.principal.keyId, name, call.principal.personId);
  const span = beginSpan(services, call, startedAt, tool);
  return withinSpan(span, () =>
    tool === null
      ? Promise.reject(new RpcError(CODES.invalidParams, `Unknown tool: ${name.slice(0, MAX_REPEATED)}`))
      : checkAndForward(services, { ...call, input, span }, name, tool),
  );
}

function beginSpan(
  { tracer }: CallServices,
  { params, context }: Call,
  startedAt: number,
  tool: KnownTool | null,
): Span | undefined {
  if (tracer === null) return undefined;
  const { span: around, ...message } = context;
  return beginMcpSpan(tracer, { method: METHOD, params, ...message, around, startedAt, tool });
}

/**
 * Whether a call may be checked together with others. It has nothing that could be refused before the check, and nothing
 * to wait for.
 */
export function isPlain({ name, arguments: args, _meta, inputResponses }: JsonObject): boolean {
  if (typeof name !== 'string' || inputResponses !== undefined) return false;
  if (args !== undefined && !isObject(args)) return false;
  return !isObject(_meta) || _meta[REFERENCE_META] === undefined;
}

/**
 * Makes plain calls of the same tool that came in one batch: they are submitted together, and each is then answered by
 * itself.
 */
export async function callTogether(
  services: CallServices,
  calls: readonly Call[],
): Promise<Promise<JsonObject>[]> {
  const startedAt = performance.now();
  const [{ principal, params }] = calls as [Call];
  const tool = await services.listing
    .find(principal.keyId, params['name'] as string, principal.personId)
    .catch(() => null);
  // These calls fail before the check, or may have to wait for somebody, so each is made by itself.
  if (tool === null || tool.unsigned !== undefined) return calls.map(call => callTool(services, call));
  const begun = calls.map(
    (call): Begun => ({
      ...call,
      input: inputOf(call.params),
      span: beginSpan(services, call, startedAt, tool),
    }),
  );
  const slots = calls.map(({ ration }) => taken(services, tool, ration));
  const asked = begun.map((call, index) => question(call, tool, slots[index] as CallSlot));
  const answers = await services.checks.submitAll(asked);
  return begun.map((call, index) =>
    withinSpan(call.span, () => concluded(services, call, tool, answers[index] as VerdictOrError)),
  );
}

type VerdictOrError = Verdict | GuardError;

async function concluded(
  services: CallServices,
  call: Begun,
  tool: KnownTool,
  answer: VerdictOrError,
): Promise<JsonObject> {
  if (answer instanceof GuardError) throw answer;
  return answerFor(services, call, tool, answer);
}

/** A slot that the call keeps until its answer is read: whoever reads no answers gets no slots for more. */
function taken({ slots }: CallServices, { upstream }: KnownTool, ration: AnswerRation): CallSlot {
  const slot = slots.take(upstream.tool);
  ration.keep(slot.free);
  return slot;
}

async function checkAndForward(
  services: CallServices,
  call: Begun,
  name: string,
  found: KnownTool,
): Promise<JsonObject> {
  const { keyId, personId } = call.principal;
  let tool = found;
  // A slot is taken before the check, so that a call that cannot be forwarded spends no approval.
  const slot = taken(services, tool, call.ration);
  if (tool.unsigned !== undefined && call.answer === 'accept') {
    await untilSignedIn(services, call.principal, call.cancel.signal);
    tool = (await services.listing.find(keyId, name, personId)) ?? tool;
  }
  const verdict = await services.checks.submit(question(call, tool, slot));
  return answerFor(services, call, tool, verdict);
}

function question(call: Begun, tool: KnownTool, { none }: CallSlot): CheckRequest {
  const { serverName, toolName, upstream, shownDigest, unsigned } = tool;
  return {
    principal: call.principal,
    surface: 'mcp',
    call: {
      serverName,
      toolName,
      ...(none !== undefined && { noPlace: none }),
      ...(unsigned !== undefined && { unsent: true }),
    },
    ...(unsigned !== 'unlisted' && { connectedToolId: upstream.tool.id }),
    ...(shownDigest !== undefined && { shownDigest }),
    ...checkedOf(call.input),
    referenceId: referenceIn(call.params),
    run: call.run,
    startedAt: call.startedAt,
    span: call.span,
  };
}

/** The answer to the client for a committed verdict. */
function answerFor(
  services: CallServices,
  call: Begun,
  tool: KnownTool,
  verdict: Verdict,
): JsonObject | Promise<JsonObject> {
  services.onVerdict(verdict, call.startedAt, call.span);
  switch (verdict.decision) {
    case 'allow':
      return forward(services, call, tool, verdict);
    case 'deny':
      return errorResult(refusal(verdict));
    case 'pending':
      return pendingResult(verdict);
  }
}

function refusal({ reason, note, unplaced }: Verdict): string {
  if (unplaced) return `Not forwarded: ${reason} Call again when one of them has ended.`;
  const wrote = note === undefined ? '' : ` They wrote: "${note}"`;
  return `Blocked by policy: ${reason}${wrote} Do not retry this call.`;
}

async function forward(
  services: CallServices,
  call: Begun,
  tool: KnownTool,
  verdict: Verdict,
): Promise<JsonObject> {
  const { toolCallId } = verdict;
  const started = performance.now();
  const done = (outcome: CallOutcome) => {
    services.outcomes.record({ toolCallId, outcome, durationMs: Math.round(performance.now() - started) });
  };
  try {
    if (tool.unsigned !== undefined) throw signInFirst();
    const response = await send(services, call, tool);
    const failed = response.error !== null || response.result?.['isError'] === true;
    done(failed ? 'tool_error' : 'ok');
    if (response.error !== null) throw errorForClient(response.error, call.modern);
    const run = verdict[RUN];
    // An error may repeat whatever the call was made with, so it makes nothing known.
    if (run !== undefined && !failed)
      await services.learner.tryToLearn(run, call.principal.keyId, namedInResult(response.result ?? {}));
    return resultForClient(response.result ?? {}, call.modern);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    const late = error instanceof UpstreamTimeout;
    if (call.cancel.signal.aborted && !late) {
      done('cancelled');
      if (error instanceof Stopping)
        throw new RpcError(CODES.internal, `The call was allowed, but ${error.message}.`);
      throw new CallCancelled(CODES.internal, 'The call was cancelled.');
    }
    if (error instanceof SignInFirst) {
      done('sign_in_needed');
      return signInAnswer(services, call, tool.upstream.tool);
    }
    if (!(error instanceof UpstreamError)) throw error;
    done(late ? 'timed_out' : 'upstream_failure');
    return errorResult(`The call was allowed, but ${error.message}.`);
  }
}

function send(services: CallServices, call: Begun, tool: KnownTool): Promise<RpcResponse> {
  const meta = metaOf(call.params);
  const clientToken = meta['progressToken'];
  // Upstreams see a token of ours, so that no client can name another's call.
  const ourToken = clientToken === undefined ? undefined : crypto.randomUUID();
  const onNotification = (notification: RpcNotification) => {
    const forClient = notificationForClient(notification, ourToken, clientToken);
    if (forClient !== null) call.onNotification(forClient);
  };
  return sendTraced(call.span, tool.upstream.tool, METHOD, tool.toolName, trace =>
    tool.upstream.request(METHOD, callForUpstream(call.input, tool, call.params, call.logLevel, ourToken), {
      cancel: call.cancel,
      ration: call.ration,
      timeoutMs: services.timeoutMs,
      maxMs: services.maxMs,
      changes: services.listing.confirmed(tool),
      onNotification,
      capabilities: meta[ENVELOPE.capabilities] ?? {},
      trace,
      headers: () => ({
        'Mcp-Name': headerValue(tool.toolName),
        ...paramHeaders(tool.definition, call.input.arguments),
      }),
    }),
  );
}
