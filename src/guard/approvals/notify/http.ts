// The notification as a JSON POST to an address of the operator's choice. The names are sent as they came:
// whoever shows them to a person decides how.

import type { TargetRules } from '../../outgoing/addresses.ts';
import { sendJson } from '../../outgoing/send.ts';
import type { NotificationMessage } from './message.ts';

const TIMEOUT_MS = 15_000;

export async function sendNotification(
  url: string,
  message: NotificationMessage,
  rules: TargetRules,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const { status } = await sendJson({ url, headers: {}, body: notifierJson(message), timeoutMs, rules });
  // The answer itself stays out of the error: a receiver that echoes would put the links into it.
  if (status < 200 || status > 299) throw new Error(`the notifier answered ${status}`);
}

/** Named one by one, so that nothing else a caller's object may carry goes out. */
function notifierJson(message: NotificationMessage): string {
  const { referenceId, keyName, sessionLabel, serverName, toolName, reason } = message;
  const { approveUrl, denyUrl, expiresAt } = message;
  return JSON.stringify({
    referenceId,
    keyName,
    sessionLabel,
    serverName,
    toolName,
    reason,
    approveUrl,
    denyUrl,
    expiresAt,
  });
}
