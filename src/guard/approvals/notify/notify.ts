// Makes one attempt to send one notification: decrypts the token, makes the link from it and sends that through the
// channel. The token is deleted once it was sent or the approval has ended. The channels make the texts and send them.

import { waitAfter } from '../../../core/event.ts';
import { type ApprovalRecord, findApproval } from '../../../store/approvals.ts';
import { findKey, type KeyRecord } from '../../../store/keys.ts';
import {
  type ChannelKind,
  type LeasedNotification,
  leaseNotifications,
  notificationTargetsDue,
  recordNotificationAttempt,
} from '../../../store/notifications.ts';
import { findSession } from '../../../store/sessions.ts';
import type { Deps } from '../../deps.ts';
import { decryptTargets, type NotifyTargets } from '../../keys.ts';
import type { TargetRules } from '../../outgoing/addresses.ts';
import type { Job } from '../../outgoing/worker.ts';
import { sendEmail } from './email.ts';
import { sendNotification } from './http.ts';
import { approvalLinks, type NotificationMessage } from './message.ts';
import { sendSlack } from './slack.ts';
import { terminalText } from './terminal.ts';

/** Where notifications go unless a key says otherwise, and how. */
export interface NotifySettings {
  publicUrl: string;
  smtpUrl: string | null;
  mailFrom: string | null;
  approverEmails: readonly string[];
  slackWebhookUrl: string | null;
  notifyUrl: string | null;
  /**
   * The rules for targets that were set through the API. Targets in the service's own settings may be at any address.
   */
  rules: TargetRules;
  print: (text: string) => void;
}

const OPERATORS_OWN: TargetRules = { allowPrivate: true };

/** The job that sends the notifications that are due. `onAttempt` is given what went wrong, or null. */
export function notifications(
  deps: Deps,
  settings: NotifySettings,
  onAttempt: (channel: ChannelKind, error: string | null) => void,
): Job {
  const { db, now } = deps;
  return async start => {
    for (const target of await notificationTargetsDue(db, now())) {
      await start(
        `${target.keyId} ${target.channel}`,
        (tx, room, until) => leaseNotifications(tx, target, now(), until, room),
        async leased => onAttempt(leased.channel, await notify(deps, settings, leased)),
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
  targets: NotifyTargets | null;
}

const LOST = 'its link or its address cannot be decrypted: damaged, or encrypted with another master key';

function opened({ vault }: Deps, leased: LeasedNotification, key: KeyRecord | null): Secrets | null {
  try {
    const token = vault.decrypt(leased.tokenEncrypted, `notification ${leased.id}`);
    return { token, targets: key === null ? null : decryptTargets(vault, key.id, key.notifyEncrypted) };
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
  { token, targets }: Secrets,
): Promise<string | null> {
  const message = await messageFor(deps, settings, token, approval, key);
  return send(settings, targets, leased.channel, message).then(
    () => null,
    (failure: Error) => failure.message,
  );
}

async function messageFor(
  deps: Deps,
  settings: NotifySettings,
  token: string,
  approval: ApprovalRecord,
  key: KeyRecord | null,
): Promise<NotificationMessage> {
  const session = approval.sessionId === null ? null : await findSession(deps.db, approval.sessionId);
  return {
    referenceId: approval.id,
    keyName: key?.name ?? '',
    sessionLabel: session?.label ?? null,
    serverName: approval.serverName,
    toolName: approval.toolName,
    reason: approval.reason,
    ...approvalLinks(settings.publicUrl, token),
    expiresAt: new Date(approval.expiresAt).toISOString(),
  };
}

async function send(
  settings: NotifySettings,
  targets: NotifyTargets | null,
  channel: string,
  message: NotificationMessage,
): Promise<void> {
  switch (channel) {
    case 'email': {
      const { smtpUrl, mailFrom } = settings;
      if (smtpUrl === null || mailFrom === null)
        throw new Error('no mail server is configured (TOOLGATE_SMTP_URL)');
      await sendEmail(
        { smtpUrl, from: mailFrom, to: [...(targets?.emails ?? settings.approverEmails)] },
        message,
      );
      return;
    }
    case 'slack':
      return toUrl(sendSlack, targets?.slackWebhookUrl, settings.slackWebhookUrl, settings.rules, message);
    case 'http':
      return toUrl(sendNotification, targets?.url, settings.notifyUrl, settings.rules, message);
    default:
      settings.print(terminalText(message));
  }
}

type ToUrl = (url: string, message: NotificationMessage, rules: TargetRules) => Promise<void>;

function toUrl(
  send: ToUrl,
  own: string | undefined,
  operators: string | null,
  rules: TargetRules,
  message: NotificationMessage,
): Promise<void> {
  if (own !== undefined) return send(own, message, rules);
  if (operators === null) throw new Error('this channel has no address any more');
  return send(operators, message, OPERATORS_OWN);
}

function next(deps: Deps, error: string | null, leased: LeasedNotification, approval: ApprovalRecord) {
  if (error === null) return { status: 'sent', nextAttemptAt: null } as const;
  const wait = waitAfter(leased.attempts + 1, Math.random());
  const at = wait === null ? null : deps.now() + wait;
  if (at === null || at >= approval.expiresAt) return { status: 'failed', nextAttemptAt: null } as const;
  return { status: 'pending', nextAttemptAt: at } as const;
}
