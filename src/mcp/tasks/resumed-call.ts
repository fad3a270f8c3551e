// Makes the held call of a task once it was approved: it is decided again, recorded and forwarded like any other call, and
// its answer is held for whoever asks for the task.

import { type ErrorCode, GuardError } from '../../core/errors.ts';
import { NotResumed } from '../../guard/check/task-calls.ts';
import type { HeldCall } from '../../guard/tasks/held-calls.ts';
import { StoreError } from '../../store/engine/db.ts';
import { callTool, NoPlaceYet } from '../call.ts';
import { RpcError } from '../protocol.ts';
import type { McpServices, Waiting } from '../services.ts';
import type { Call } from '../tool-call.ts';
import { withoutPeople } from './declared.ts';

/** Resolves when the call has ended, or if it is to be tried again later. Rejects with what somebody has to look at. */
export async function resumeCall(
  services: McpServices,
  taskId: string,
  cancel: AbortController,
): Promise<void> {
  const { calls, liveness } = services.tasks;
  const about = calls.about(taskId);
  // It is looked for first, because it takes time to read a large call.
  if (about === null || !liveness.isAlive || !services.slots.hasPlace(about.connectedTool)) return;
  const held = calls.find(taskId);
  if (held === null) return;
  const ration = services.rations.answer(held.about.principal.keyId);
  try {
    await callTool(services, { ...resumed(taskId, held), ration, cancel });
    calls.letGo(taskId);
  } catch (error) {
    // Where the call has begun, its row stays as it is.
    if (!isPassing(error)) calls.lose(taskId);
    if (!isUsual(error)) throw error;
  } finally {
    ration.free();
  }
}

const PASSING: readonly ErrorCode[] = ['audit_failed', 'overloaded', 'not_ready', 'rate_limited'];

/** Whether the call was not decided, and may be in a moment. */
function isPassing(error: unknown): boolean {
  if (error instanceof NoPlaceYet || error instanceof StoreError) return true;
  return error instanceof GuardError && PASSING.includes(error.code);
}

/** Whether the task says all there is to say. */
function isUsual(error: unknown): boolean {
  if (error instanceof NoPlaceYet || error instanceof NotResumed || error instanceof RpcError) return true;
  return error instanceof GuardError && error.code === 'unauthenticated';
}

function resumed(taskId: string, { sent, about }: HeldCall<Waiting>): Omit<Call, 'ration' | 'cancel'> {
  const { principal, run, protocolVersion, idempotencyKey } = about;
  return {
    principal,
    run,
    params: withoutPeople(sent),
    startedAt: performance.now(),
    modern: true,
    elicitsUrl: false,
    logLevel: undefined,
    tasks: true,
    resumes: taskId,
    idempotencyKey,
    onNotification: () => {},
    context: { span: undefined, id: taskId, protocolVersion },
  };
}
