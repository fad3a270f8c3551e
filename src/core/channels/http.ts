// A JSON POST to an address of the operator's choice. Names are sent unchanged; the receiver has to escape them when it shows
// them to a person.

import { maskedUrl } from '../text/masked.ts';
import { isSuccess, type PostedType } from './channel-type.ts';
import type { NotificationMessage } from './message.ts';

export const http: PostedType<{ url: string; headers?: Readonly<Record<string, string>> }> = {
  fields: ['url', 'headers'],
  read: ({ url, headers }) => ({ url: url('url', 'the address that gets the JSON'), ...headers() }),
  target: ({ url }) => maskedUrl(url),
  examined: ({ url }) => ({ connect: url, field: 'url' }),
  post: ({ url, headers = {} }, message) => ({ url, headers, body: notifierJson(message), fault }),
};

/** The answer is not quoted: a receiver that echoes the request would put the links into it. */
function fault(status: number): string | null {
  return isSuccess(status) ? null : `the notifier answered ${status}`;
}

/** The fields are listed one by one, so that no other field of the object is ever sent. */
function notifierJson(message: NotificationMessage): string {
  const { referenceId, keyName, sessionLabel, serverName, toolName, reason } = message;
  const { approveUrl, denyUrl, reviewUrl, reviewFirst, expiresAt } = message;
  const { approverGroup, votesNeeded, proof, details, personEmail, marks } = message;
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
    ...(marks.length === 0 ? {} : { marks }),
  });
}
