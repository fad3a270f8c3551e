// A tools/call with an idempotency key. The first one is forwarded, and its answer is held. The same call, made again, is not
// forwarded: it waits until the first one has ended, and gets its answer.

import type { JsonObject } from '../../core/wire/json.ts';
import type { Deps } from '../../guard/deps.ts';
import { fetchAnswer } from '../../guard/tasks/fetch-answer.ts';
import type { Admit, FinalAnswer } from '../../guard/tasks/held-results.ts';
import { findExecution } from '../../store/executions.ts';
import { findOutcome } from '../../store/log/outcomes.ts';
import { CallCancelled } from '../forward.ts';
import { CODES, RpcError } from '../protocol.ts';
import type { Begun, CallServices } from '../tool-call.ts';
import { createdTask, LOST, UNKNOWN } from './task-state.ts';

/** How soon it is looked again whether the first call has ended; each pause is twice as long as the one before. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
const STILL_RUNS = 'This call still runs: call again with the same idempotency key.';

/** What is known of a call that has not ended; its tool server may work on it by itself. */
const RUNS = Symbol('runs');
const AT_SERVER = Symbol('at the server');

/** The answer to a call that was made before. `toolCallId` is the id of that one. */
export async function answerAgain(
  { tasks: { deps, runs }, maxMs }: CallServices,
  { principal, modern, tasks, hungUp, ration, cancel }: Begun,
  toolCallId: string,
): Promise<JsonObject> {
  const end = performance.now() + maxMs;
  const admit = async (bytes: number) => {
    await ration.grow(bytes, hungUp ?? cancel.signal);
    await ration.turn(bytes);
  };
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const answer = await answerOf(deps, { toolCallId, keyId: principal.keyId }, admit);
    if (answer === AT_SERVER && tasks) return createdTask(deps, principal, toolCallId);
    if (typeof answer !== 'symbol') return told(answer, modern);
    if (hungUp?.aborted) throw new CallCancelled(CODES.internal, 'The client has gone.');
    if (runs.isOver || performance.now() >= end) throw new RpcError(CODES.internal, STILL_RUNS);
    await Bun.sleep(pause);
  }
}

async function answerOf(
  deps: Deps,
  { toolCallId, keyId }: { toolCallId: string; keyId: string },
  admit: Admit,
): Promise<FinalAnswer | typeof RUNS | typeof AT_SERVER> {
  // Its outcome is recorded in the transaction that ends the execution, so it is read after it.
  const execution = await findExecution(deps.db, toolCallId);
  const ended = await findOutcome(deps.db, toolCallId);
  if (ended === null && execution !== null) return execution.processId === null ? AT_SERVER : RUNS;
  if (ended === null) return failed(UNKNOWN);
  if (ended.outcome === 'outcome_unknown') return failed(UNKNOWN);
  return (await fetchAnswer(deps, { toolCallId, keyId, endedAt: ended.at }, admit)) ?? failed(LOST);
}

const failed = (message: string): FinalAnswer => ({ error: { code: CODES.internal, message } });

function told(answer: FinalAnswer, modern: boolean): JsonObject {
  if ('error' in answer) {
    const { code, message, data } = answer.error;
    throw new RpcError(code as number, message as string, data === undefined ? {} : { data });
  }
  const { resultType, ...result } = answer.result;
  return modern || resultType !== 'complete' ? answer.result : result;
}
