// Sends the person at a client to the page of the approval that their call waits for, if the key says so and the client can
// open an address. They sign in there as whoever may answer. That the client has opened it decides nothing: when it calls
// again, the call waits for a while until somebody has answered, and is then judged like any other.

import type { JsonObject } from '../core/wire/json.ts';
import type { Verdict } from '../guard/check/request.ts';
import type { FoundTask } from '../store/tasks.ts';
import { askToOpen, requestToOpen } from './own-questions.ts';
import { notificationMessage } from './protocol.ts';
import type { McpServices } from './services.ts';
import type { Call } from './tool-call.ts';
import { pendingResult } from './translate.ts';

type Here = Pick<McpServices, 'serverSignIns'>;

/** Whether the client has sent somebody to the page of the approval, whose answer the call may wait for. */
export function waitsHere({ answers, elicitsUrl }: Call, { approveHere, task }: Verdict): boolean {
  return approveHere === true && task === undefined && elicitsUrl && answers?.approval === 'accept';
}

/** The answer to a client whose call waits for people. Somebody who did not want to open the page is not asked again. */
export function waitingAnswer(
  services: Here & Pick<McpServices, 'awaited' | 'mcpSessions'>,
  call: Call,
  verdict: Verdict,
): JsonObject | Promise<JsonObject> {
  const { approveHere, referenceId } = verdict;
  const asks = approveHere === true && call.elicitsUrl && call.answers?.approval !== 'refuse';
  if (!asks || referenceId === undefined) return pendingResult(verdict);
  if (call.mcpSessionId !== undefined) tellAfterwards(services, call.mcpSessionId, referenceId);
  return askToOpen(call, 'approval', { ...pageOf(services, referenceId), elicitationId: referenceId });
}

/** What a client is asked that asks about the task of a call that waits; null if nothing. */
export function inputOfTask(
  services: Here,
  { id, approveHere }: Pick<FoundTask, 'id' | 'approveHere'>,
  opensAddresses: boolean,
): JsonObject | null {
  return approveHere === 1 && opensAddresses ? requestToOpen('approval', pageOf(services, id)) : null;
}

function pageOf({ serverSignIns }: Here, referenceId: string) {
  const message =
    'This call has to be approved. Whoever may approve it signs in on this page and answers there.';
  return { message, url: `${serverSignIns.address}/dashboard/approvals/${referenceId}` };
}

/** Clients of the older era are told when to call again, if they listen to this replica. */
function tellAfterwards(
  { awaited, mcpSessions }: Pick<McpServices, 'awaited' | 'mcpSessions'>,
  mcpSessionId: string,
  elicitationId: string,
): void {
  const message = notificationMessage('notifications/elicitation/complete', { elicitationId });
  awaited.afterwards(`${mcpSessionId} ${elicitationId}`, elicitationId, () =>
    mcpSessions.tell(mcpSessionId, message),
  );
}
