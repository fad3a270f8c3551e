// Makes one attempt to send one notification: decrypts the token, makes the link from it and sends that through the
// channel. The token is deleted once it was sent or the approval has ended. send.ts sends, and so does slack-bot/.

import { beginningOf } from '../../../core/approvals/details.ts';
import { waitAfter } from '../../../core/approvals/event.ts';
import { approvalLinks, type NotificationMessage } from '../../../core/channels/message.ts';
import { type ApprovalRecord, findApproval } from '../../../store/approvals.ts';
import { findKey, type KeyRecord } from '../../../store/keys.ts';
import {
  type LeasedNotification,
  leaseNotifications,
  notificationTargetsDue,
  recordNotificationAttempt,
} from '../../../store/notifications.ts';
import { recordPosted } from '../../../store/posted-messages.ts';
import type { Deps } from '../../deps.ts';
import { decryptNotify, type KeyNotify } from '../../keys.ts';
import type { Job } from '../../outgoing/worker.ts';
import { callFacts, readBefore } from '../call-facts.ts';
import { type Route, routeOf } from './route.ts';
import { type SendSettings, sendBy } from './send.ts';
import { type SlackApi, SlackError } from './slack-bot/api.ts';
import { questionFor } from './slack-bot/posted.ts';

/** Where notifications go, and how. */
export interface NotifySettings extends SendSettings {
  publicUrl: string;
  /** Null if no Slack app is configured. */
  slack: SlackApi | null;
}

/** The job that sends the notifications that are due. `onAttempt` is given what went wrong, or null. */
export function notifications(
  deps: Deps,
  settings: NotifySettings,
  onAttempt: (notification: LeasedNotification, error: string | null) => void,
): Job {
  const { db, now } = deps;
  return async start => {
    for (const target of await notificationTargetsDue(db, now())) {
      await start(
        `${target.keyId} ${target.channel} ${target.channelName ?? ''}`,
        (tx, room, until) => leaseNotifications(tx, target, now(), until, room),
        async leased => onAttempt(leased, await notify(deps, settings, leased)),
      );
    }
  };
}

/** Returns what went wrong, or null. */
export async function notify(
  deps: Deps,
  settings: NotifySettings,
  leased: LeasedNotification,
): Promise<string | null> {
  const approval = await findApproval(deps.db, leased.approvalId);
  if (approval === null || approval.status !== 'pending' || approval.expiresAt <= deps.now()) {
    await recordNotificationAttempt(deps.db, leased.id, {
      status: 'dropped',
      at: deps.now(),
      nextAttemptAt: null,
      error: null,
    });
    return null;
  }
  const key = await findKey(deps.db, approval.keyId);
  const secrets = opened(deps, leased, key);
  const outcome =
    secrets === null ? { error: LOST } : await attempt(deps, settings, leased, approval, key, secrets);
  const { error, place } = outcome;
  if (place !== undefined) {
    await recordPosted(deps.db, leased.id, place, deps.now());
  } else {
    const then = next(deps, outcome, leased, approval);
    await recordNotificationAttempt(deps.db, leased.id, { ...then, at: deps.now(), error });
  }
  return error;
}

interface Outcome {
  /** What went wrong, or null. */
  error: string | null;
  /** How long the receiver asks to wait, in milliseconds. */
  retryAfter?: number | null;
  /** Where the message is, if it has to be changed later. */
  place?: string;
}

interface Secrets {
  token: string;
  /** Where the key's own questions go. */
  own: KeyNotify | null;
}

const LOST = 'its link or its address cannot be decrypted: damaged, or encrypted with another master key';

function opened({ vault }: Deps, leased: LeasedNotification, key: KeyRecord | null): Secrets | null {
  try {
    const token = vault.decrypt(leased.tokenEncrypted, `notification ${leased.id}`);
    return { token, own: key === null ? null : decryptNotify(vault, key.id, key.notifyEncrypted) };
  } catch {
    return null;
  }
}

async function attempt(
  deps: Deps,
  settings: NotifySettings,
  leased: LeasedNotification,
  approval: ApprovalRecord,
  key: KeyRecord | null,
  { token, own }: Secrets,
): Promise<Outcome> {
  const route = routeOf(settings, leased, own);
  if (typeof route === 'string') return { error: route };
  const sending = await prepared(deps, settings, route, { leased, approval, key, token });
  return sending().then(
    place => ({ error: null, ...(place !== undefined && { place }) }),
    (failure: Error) => ({
      error: failure.message,
      retryAfter: failure instanceof SlackError ? failure.retryAfter : null,
    }),
  );
}

interface Subject {
  leased: LeasedNotification;
  approval: ApprovalRecord;
  key: KeyRecord | null;
  token: string;
}

/**
 * Makes the message, and returns what sends it. That only sends, so its failures are those of the receiver. It resolves
 * with the place of the message, if the message can be changed later.
 */
async function prepared(
  deps: Deps,
  settings: NotifySettings,
  route: Route,
  { leased, approval, key, token }: Subject,
): Promise<() => Promise<string | undefined>> {
  const { slack, publicUrl } = settings;
  const { channel } = route;
  if ('channel' in channel && slack !== null) {
    const question = await questionFor(deps, publicUrl, approval, channel.details);
    return () => slack.post(channel.channel, question);
  }
  const shows = approval.shows === 1;
  const found = shows && channel.details ? await deps.details.find(approval) : null;
  const details = found && beginningOf(found);
  const message: NotificationMessage = {
    ...(await callFacts(deps, approval, key)),
    ...approvalLinks(publicUrl, token),
    id: leased.id,
    approverGroup: approval.approverGroup,
    votesNeeded: approval.votesNeeded,
    proof: approval.proof,
    details,
    reviewFirst: shows && details?.complete !== true,
    ...readBefore(approval, channel.details),
  };
  return async () => {
    await sendBy(settings, route, message);
    return undefined;
  };
}

function next(deps: Deps, outcome: Outcome, leased: LeasedNotification, approval: ApprovalRecord) {
  if (outcome.error === null) return { status: 'sent', nextAttemptAt: null } as const;
  const wait = waitAfter(leased.attempts + 1, Math.random());
  const at = wait === null ? null : deps.now() + Math.max(wait, outcome.retryAfter ?? 0);
  if (at === null || at >= approval.expiresAt) return { status: 'failed', nextAttemptAt: null } as const;
  return { status: 'pending', nextAttemptAt: at } as const;
}
