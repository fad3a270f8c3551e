// A call of a client that knows tasks, once it waits for people: it is held, and the client is told of its task.
// resumed-call.ts makes it when it was approved.

import type { JsonObject } from '../../core/wire/json.ts';
import { REPEATED, type Verdict } from '../../guard/check/request.ts';
import type { HeldCall } from '../../guard/tasks/held-calls.ts';
import { inputOfTask } from '../approve-here.ts';
import type { KnownTool } from '../known-tool.ts';
import { metaOf } from '../protocol.ts';
import type { Waiting } from '../services.ts';
import type { Begun, CallServices } from '../tool-call.ts';
import { pendingResult } from '../translate.ts';
import { asCreated, findOwnTask, showTask } from './task-state.ts';

/** The answer to a client whose call has become a task. */
export async function waitingTask(
  services: Pick<CallServices, 'tasks' | 'serverSignIns'>,
  call: Begun,
  verdict: Verdict,
  { connectedTool: { keyId, id } }: KnownTool,
): Promise<JsonObject> {
  const { deps, calls } = services.tasks;
  const { referenceId = '', expiresAt = deps.now() } = verdict;
  // An earlier call with the same idempotency key is held already.
  if (verdict[REPEATED] !== true) {
    const held = heldOf(call, { keyId, id });
    calls.hold(referenceId, keyId, held, expiresAt + deps.settings.resultsFor);
  }
  const task = await findOwnTask(deps, call.principal, referenceId);
  const input = task && inputOfTask(services, task, call.elicitsUrl);
  const shown = task && (await showTask(deps, task, { input }));
  return shown === null ? pendingResult(verdict) : asCreated(shown);
}

function heldOf(
  { principal, run, params, context, span, idempotencyKey }: Begun,
  connectedTool: Waiting['connectedTool'],
): HeldCall<Waiting> {
  const { progressToken: _, ...meta } = metaOf(params);
  // The end of the token that was shown is not the end of the session, which is read again when the call is made.
  const { until: __, ...whose } = principal;
  return {
    sent: { ...params, _meta: { ...span?.headers(), ...meta } },
    about: { principal: whose, run, protocolVersion: context.protocolVersion, idempotencyKey, connectedTool },
  };
}
