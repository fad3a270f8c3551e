// Sends a notification as a JSON POST to an address of the operator's choice. Names are sent unchanged; the receiver
// has to escape them when it shows them to a person.

import type { TargetRules } from '../../outgoing/addresses.ts';
import { sendJson } from '../../outgoing/send.ts';
import type { NotificationMessage } from './message.ts';

const TIMEOUT_MS = 15_000;

export async function sendNotification(
  { url, headers = {} }: { url: string; headers?: Readonly<Record<string, string>> },
  message: NotificationMessage,
  rules: TargetRules,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const { status } = await sendJson({ url, headers, body: notifierJson(message), timeoutMs, rules });
  // The error does not quote the answer: a receiver that echoes the request would put the links into it.
  if (status < 200 || status > 299) throw new Error(`the notifier answered ${status}`);
}

/** The fields are listed one by one, so that no other field of the object is ever sent. */
function notifierJson(message: NotificationMessage): string {
  const { referenceId, keyName, sessionLabel, serverName, toolName, reason } = message;
  const { approveUrl, denyUrl, reviewUrl, reviewFirst, expiresAt } = message;
  const { approverGroup, votesNeeded, proof, details, personEmail } = message;
  return JSON.stringify({
    referenceId,
    keyName,
    sessionLabel,
    serverName,
    toolName,
    reason,
    approveUrl,
    denyUrl,
    reviewUrl,
    reviewFirst,
    expiresAt,
    ...(personEmail === null ? {} : { personEmail }),
    ...(approverGroup === null && proof === null ? {} : { approverGroup, votesNeeded }),
    ...(proof === null ? {} : { proof }),
    ...(details === null ? {} : { details: { ...details, inserted: undefined } }),
  });
}
