// tools/call: finds the tool, has the call checked and recorded, and forwards it (forward.ts) only after a committed `allow`.

import { GuardError } from '../core/errors.ts';
import { IDEMPOTENCY_META } from '../core/text/idempotency-key.ts';
import { isObject, type JsonObject } from '../core/wire/json.ts';
import type { Span } from '../core/wire/span.ts';
import { ServerChanged } from '../guard/check/facts.ts';
import { type CheckRequest, REPEATED, type Verdict } from '../guard/check/request.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import { waitingAnswer, waitsHere } from './approve-here.ts';
import { checkedOf, inputOf } from './call-input.ts';
import type { CallSlot } from './call-slots.ts';
import { calledTool, type KnownTool } from './known-tool.ts';
import { takeOwnAnswers } from './own-questions.ts';
import { CODES, MAX_REPEATED, REFERENCE_META, RpcError } from './protocol.ts';
import { untilSignedIn } from './sign-in-answer.ts';
import { asConflict, withKey } from './tasks/call-key.ts';
import { answerAgain } from './tasks/idempotent.ts';
import { forwardAndTell } from './tasks/tracked-call.ts';
import { waitingTask } from './tasks/waiting-call.ts';
import { type Begun, type Call, type CallServices, TOOLS_CALL } from './tool-call.ts';
import { beginMcpSpan, withinSpan } from './tracing.ts';
import { errorResult, referenceIn, refusal } from './translate.ts';

/** Returns the result for the client, or throws an RpcError. A GuardError means that there was no verdict. */
export async function callTool(services: CallServices, asked: Call): Promise<JsonObject> {
  const answered = takeOwnAnswers(asked.params);
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
      ? Promise.reject(unknownTool(name))
      : checkAndForward(services, { ...call, input, span }, name, tool),
  );
}

function unknownTool(name: string): RpcError {
  return new RpcError(CODES.invalidParams, `Unknown tool: ${name.slice(0, MAX_REPEATED)}`);
}

function beginSpan(
  { tracer }: CallServices,
  { params, context }: Call,
  startedAt: number,
  tool: KnownTool | null,
): Span | undefined {
  if (tracer === null) return undefined;
  const { span: around, ...message } = context;
  return beginMcpSpan(tracer, { method: TOOLS_CALL, params, ...message, around, startedAt, tool });
}

/**
 * Whether a call may be checked together with others. It has nothing that could be refused before the check, and nothing
 * to wait for.
 */
export function isPlain({ name, arguments: args, _meta, inputResponses }: JsonObject): boolean {
  if (typeof name !== 'string' || inputResponses !== undefined) return false;
  if (args !== undefined && !isObject(args)) return false;
  return !isObject(_meta) || (_meta[REFERENCE_META] === undefined && _meta[IDEMPOTENCY_META] === undefined);
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
    withinSpan(call.span, () =>
      concluded(services, call, tool, slots[index] as CallSlot, answers[index] as VerdictOrError),
    ),
  );
}

/** The held call of a task cannot be made now, and should be tried again soon. Nothing was recorded. */
export class NoPlaceYet extends Error {}

type VerdictOrError = Verdict | GuardError;

async function concluded(
  services: CallServices,
  call: Begun,
  tool: KnownTool,
  slot: CallSlot,
  answer: VerdictOrError,
): Promise<JsonObject> {
  if (answer instanceof GuardError) return again(services, call, tool.exposedName, slot)(answer);
  return answerFor(services, call, tool, answer);
}

/** A slot that the call keeps until its answer is read: whoever reads no answers gets no slots for more. */
function taken({ slots }: CallServices, { connectedTool }: KnownTool, ration: AnswerRation): CallSlot {
  const slot = slots.take(connectedTool);
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
  if (slot.none !== undefined && call.resumes !== undefined) throw new NoPlaceYet();
  if (tool.unsigned !== undefined && call.answers?.signIn === 'accept') {
    await untilSignedIn(services, call.principal, call.cancel.signal);
    tool = (await services.listing.find(keyId, name, personId)) ?? tool;
  }
  return askAndForward(services, call, tool, slot).catch(again(services, call, name, slot));
}

/** How often a call looks for its tool again. It ends with the error that says so if the server is changed all the time. */
const MAX_LOOKS = 3;

/** If the server of the call was changed or removed meanwhile, the tool is looked for as the key has it now. */
function again(services: CallServices, call: Begun, name: string, slot: CallSlot, looks = 0) {
  return async (error: unknown): Promise<JsonObject> => {
    if (!(error instanceof ServerChanged) || looks === MAX_LOOKS) throw error;
    const { keyId, personId } = call.principal;
    services.hub.doubt(keyId);
    const tool = await services.listing.find(keyId, name, personId, true);
    if (tool === null) throw unknownTool(name);
    return askAndForward(services, call, tool, slot).catch(again(services, call, name, slot, looks + 1));
  };
}

async function askAndForward(
  services: CallServices,
  call: Begun,
  tool: KnownTool,
  slot: CallSlot,
): Promise<JsonObject> {
  const asked = withKey(services, call, question(call, tool, slot));
  const submitted = services.checks.submit(asked);
  const verdict = await (asked.once === undefined ? submitted : submitted.catch(asConflict));
  if (slot.none !== undefined || !waitsHere(call, verdict)) return answerFor(services, call, tool, verdict);
  told(services, call, verdict);
  const { signal } = call.cancel;
  const isAnswered = await services.awaited.within(verdict.referenceId as string, signal);
  if (!isAnswered || signal.aborted) return waitingAnswer(services, call, verdict);
  // If it has to wait again, that is another question.
  const { approval: _, ...answers } = call.answers ?? {};
  return askAndForward(services, { ...call, answers, startedAt: performance.now() }, tool, slot);
}

function question(call: Begun, tool: KnownTool, { none }: CallSlot): CheckRequest {
  const { serverName, toolName, connectedTool, upstream, shownDigest, shownLook, seenDigest, unsigned } =
    tool;
  return {
    principal: call.principal,
    surface: 'mcp',
    call: {
      serverName,
      toolName,
      ...(none !== undefined && { noPlace: none }),
      ...(unsigned !== undefined && { unsent: true }),
    },
    ...(unsigned !== 'unlisted' && {
      connectedTool: { ...calledTool(connectedTool, upstream), seenDigest },
    }),
    ...(shownDigest !== undefined && { shownDigest }),
    ...(shownLook !== undefined && { shownLook }),
    ...checkedOf(call.input),
    ...(call.tasks && { taskable: true, tracked: true }),
    ...(call.resumes !== undefined && { resumes: call.resumes }),
    referenceId: call.resumes ?? referenceIn(call.params),
    run: call.run,
    startedAt: call.startedAt,
    span: call.span,
  };
}

/** A verdict that is given again is no decision, so it is not counted. */
function told({ onVerdict }: CallServices, { startedAt, span }: Begun, verdict: Verdict): void {
  if (!verdict[REPEATED]) onVerdict(verdict, startedAt, span);
}

/** The answer to the client for a committed verdict. */
function answerFor(
  services: CallServices,
  call: Begun,
  tool: KnownTool,
  verdict: Verdict,
): JsonObject | Promise<JsonObject> {
  told(services, call, verdict);
  switch (verdict.decision) {
    case 'allow':
      if (verdict[REPEATED]) return answerAgain(services, call, verdict.toolCallId);
      return forwardAndTell(services, call, tool, verdict);
    case 'deny':
      return errorResult(refusal(verdict));
    case 'pending':
      return verdict.task && call.tasks
        ? waitingTask(services, call, verdict, tool)
        : waitingAnswer(services, call, verdict);
  }
}
