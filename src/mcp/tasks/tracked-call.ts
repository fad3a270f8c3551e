// Forwards a call whose client is promised to learn what became of it. That it is forwarded was recorded together with the
// decision. Its outcome is recorded before anybody is told, and where its answer can be asked for again, that is held
// before: whoever learns that a call has ended can fetch its answer.

import type { JsonObject } from '../../core/wire/json.ts';
import type { Verdict } from '../../guard/check/request.ts';
import { type EndedCall, endCall, giveUpCall } from '../../guard/tasks/end-call.ts';
import { forward, GivenUp } from '../forward.ts';
import type { KnownTool } from '../known-tool.ts';
import { CODES, RpcError } from '../protocol.ts';
import type { Begun, CallServices } from '../tool-call.ts';
import { errorResult } from '../translate.ts';
import { asError, holdAnswer } from './final-answer.ts';
import { isTask } from './server-task.ts';
import { createdTask } from './task-state.ts';

const HELD_UP =
  'The call was allowed, but this process was held up for too long, so it was not forwarded: call again';
const ASKS = 'The tool asks for input, and nobody can be asked once a call has waited for approval.';

/** Forwards an allowed call. If it is promised, what becomes of it is recorded and held before it is answered. */
export function forwardAndTell(
  services: CallServices,
  call: Begun,
  tool: KnownTool,
  verdict: Verdict,
): Promise<JsonObject> {
  const hasKey = call.idempotencyKey !== undefined;
  if (hasKey || call.tasks || verdict.freedTask !== undefined)
    return services.tasks.runs.waitFor(forwardTracked(services, call, tool, verdict));
  return forward(services, call, tool, verdict, ended => services.outcomes.record(ended));
}

async function forwardTracked(
  services: CallServices,
  call: Begun,
  tool: KnownTool,
  verdict: Verdict,
): Promise<JsonObject> {
  const { freedTask, toolCallId } = verdict;
  const ended: EndedCall[] = [];
  let result: JsonObject | null = null;
  let failure: unknown = null;
  // The client of this very call repeated one that is a task, and may cancel it as such.
  const unfollow = freedTask === undefined ? () => {} : services.tasks.runs.follow(freedTask, call.cancel);
  try {
    const promised = { ...call, beforeSent: () => mayBeSent(services, verdict) };
    result = await forward(services, promised, tool, verdict, each => ended.push(each));
  } catch (error) {
    failure = error;
    if (error instanceof HeldUp) ended.push(neverSent(verdict));
    // When the service stops, nobody learns any more whether the call ran.
    if (error instanceof GivenUp) ended.length = 0;
  }
  unfollow();
  // Nobody waits for this call any more. Whoever asks for its task asks the tool server.
  if (isTask({ result })) return createdTask(services.tasks.deps, call.principal, toolCallId);
  const isTasks = call.resumes !== undefined || freedTask !== undefined;
  if (isTasks || call.idempotencyKey !== undefined) {
    const given = result !== null && isTasks ? asFinal(result) : result;
    const answer = given === null ? { error: asError(failure) } : { result: given };
    holdAnswer(services.tasks.deps, { toolCallId, keyId: call.principal.keyId }, answer);
  }
  await recordEnd(services, verdict, ended[0]);
  if (result === null) throw failure;
  return result;
}

/** Other processes have given up the call already, and somebody may have been told that it did not run. */
class HeldUp extends RpcError {}

async function mayBeSent({ tasks: { liveness } }: CallServices, { toolCallId }: Verdict): Promise<void> {
  const mayForward = await liveness.mayForward(toolCallId).catch(() => false);
  if (!mayForward) throw new HeldUp(CODES.internal, HELD_UP);
}

function neverSent({ toolCallId }: Verdict): EndedCall {
  return { toolCallId, outcome: 'cancelled', durationMs: 0, result: null, unmade: true };
}

/** Without an outcome, it is not known whether the call ran. */
async function recordEnd(
  { tasks: { deps, runs } }: CallServices,
  { toolCallId }: Verdict,
  ended: EndedCall | undefined,
): Promise<void> {
  await runs.insist(() => (ended === undefined ? giveUpCall(deps, toolCallId) : endCall(deps, ended)));
}

/** The final answer of a task is a whole result, whatever a client would have been told that waited for it. */
function asFinal(result: JsonObject): JsonObject {
  const whole = result['resultType'] === 'input_required' ? errorResult(ASKS) : result;
  return { ...whole, resultType: 'complete' };
}
