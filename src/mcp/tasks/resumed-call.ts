// Makes the held call of a task once it was approved: it is decided again, recorded and forwarded like any other call, and
// its answer is held for whoever asks for the task.

import { GuardError } from '../../core/errors.ts';
import { NotResumed } from '../../guard/check/task-calls.ts';
import type { HeldCall } from '../../guard/tasks/held-calls.ts';
import { callTool, NoPlaceYet } from '../call.ts';
import { RpcError } from '../protocol.ts';
import type { McpServices, Waiting } from '../services.ts';
import type { Call } from '../tool-call.ts';
import { withoutPeople } from './declared.ts';

/** Resolves when the call has ended, or if it is to be tried again later. */
export async function resumeCall(
  services: McpServices,
  taskId: string,
  cancel: AbortController,
): Promise<void> {
  const { calls } = services.tasks;
  const held = calls.find(taskId);
  if (held === null) return;
  const ration = services.rations.answer(held.about.principal.keyId);
  try {
    await callTool(services, { ...resumed(taskId, held), ration, cancel });
    calls.letGo(taskId);
  } catch (error) {
    if (isLost(error)) calls.lose(taskId);
    else if (!(error instanceof NoPlaceYet)) throw error;
  } finally {
    ration.free();
  }
}

/**
 * Whether this process has no use for the call any more. Where it has begun, its row is left as it is. After a fault of the
 * store it is tried again.
 */
function isLost(error: unknown): boolean {
  if (error instanceof NotResumed || error instanceof RpcError) return true;
  return error instanceof GuardError && error.code === 'unauthenticated';
}

function resumed(taskId: string, { sent, about }: HeldCall<Waiting>): Omit<Call, 'ration' | 'cancel'> {
  const { principal, run, protocolVersion } = about;
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
    onNotification: () => {},
    context: { span: undefined, id: taskId, protocolVersion },
  };
}
