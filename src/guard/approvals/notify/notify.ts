// Makes one attempt to send one notification: decrypts the token, makes the link from it and sends that through the
// channel. The token is deleted once it was sent or the approval has ended. The channels make the texts and send them.

import { waitAfter } from '../../../core/event.ts';
import { type ApprovalRecord, findApproval } from '../../../store/approvals.ts';
import { findKey, type KeyRecord } from '../../../store/keys.ts';
import {
  type LeasedNotification,
  leaseNotifications,
  notificationTargetsDue,
  recordNotificationAttempt,
} from '../../../store/notifications.ts';
import { findSession } from '../../../store/sessions.ts';
import type { Deps } from '../../deps.ts';
import { decryptNotify, type KeyNotify } from '../../keys.ts';
import type { Job } from '../../outgoing/worker.ts';
import { sendEmail } from './email.ts';
import { sendNotification } from './http.ts';
import { approvalLinks, type CallFacts, type NotificationMessage } from './message.ts';
import { NO_ADDRESS, type Route, type RouteSettings, routeOf } from './route.ts';
import { sendSlack } from './slack.ts';
import { sendTeams } from './teams.ts';
import { terminalText } from './terminal.ts';

/** Where notifications go, and how. */
export interface NotifySettings extends RouteSettings {
  publicUrl: string;
  smtpUrl: string | null;
  mailFrom: string | null;
  print: (text: string) => void;
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
  const error = secrets === null ? LOST : await attempt(deps, settings, leased, approval, key, secrets);
  const then = next(deps, error, leased, approval);
  await recordNotificationAttempt(deps.db, leased.id, { ...then, at: deps.now(), error });
  return error;
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
): Promise<string | null> {
  const route = routeOf(settings, leased, own);
  if (typeof route === 'string') return route;
  const shows = approval.shows === 1;
  const details = shows && route.channel.details ? await deps.details.find(approval) : null;
  const message: NotificationMessage = {
    ...(await factsOf(deps, approval, key)),
    ...approvalLinks(settings.publicUrl, token),
    id: leased.id,
    approverGroup: approval.approverGroup,
    votesNeeded: approval.votesNeeded,
    details,
    lookFirst: shows && details === null,
  };
  return send(settings, route, message).then(
    () => null,
    (failure: Error) => failure.message,
  );
}

async function factsOf(deps: Deps, approval: ApprovalRecord, key: KeyRecord | null): Promise<CallFacts> {
  const session = approval.sessionId === null ? null : await findSession(deps.db, approval.sessionId);
  return {
    referenceId: approval.id,
    keyName: key?.name ?? '',
    sessionLabel: session?.label ?? null,
    serverName: approval.serverName,
    toolName: approval.toolName,
    reason: approval.reason,
    expiresAt: new Date(approval.expiresAt).toISOString(),
  };
}

async function send(
  settings: NotifySettings,
  { channel, rules }: Route,
  message: NotificationMessage,
): Promise<void> {
  switch (channel.type) {
    case 'email': {
      const { smtpUrl, mailFrom: from } = settings;
      if (smtpUrl === null || from === null)
        throw new Error('no mail server is configured (TOOLGATE_SMTP_URL)');
      if (channel.to.length === 0) throw new Error(NO_ADDRESS);
      await sendEmail({ smtpUrl, from, to: [...channel.to] }, message);
      return;
    }
    case 'slack':
      if (!('webhookUrl' in channel)) throw new Error('this service cannot post to channels of Slack');
      return sendSlack(channel.webhookUrl, message, rules);
    case 'teams':
      return sendTeams(channel.url, message, rules);
    case 'http':
      return sendNotification(channel, message, rules);
    case 'terminal':
      settings.print(terminalText(message));
  }
}

function next(deps: Deps, error: string | null, leased: LeasedNotification, approval: ApprovalRecord) {
  if (error === null) return { status: 'sent', nextAttemptAt: null } as const;
  const wait = waitAfter(leased.attempts + 1, Math.random());
  const at = wait === null ? null : deps.now() + wait;
  if (at === null || at >= approval.expiresAt) return { status: 'failed', nextAttemptAt: null } as const;
  return { status: 'pending', nextAttemptAt: at } as const;
}
