// Sends a message by a channel. Most types are one request, which their file in core/channels describes; e-mail, Slack and the
// terminal are sent in their own ways.

import type { Post } from '../../../core/channels/channel-type.ts';
import { type Channel, postedType } from '../../../core/channels/channels.ts';
import type { NotificationMessage } from '../../../core/channels/message.ts';
import { webhookPost } from '../../../core/channels/slack.ts';
import type { TargetRules } from '../../outgoing/addresses.ts';
import { sendJson } from '../../outgoing/send.ts';
import { sendEmail } from './email.ts';
import { NO_ADDRESS, type Route, type RouteSettings } from './route.ts';
import { terminalText } from './terminal.ts';

/** Prints the text of a notification, or keeps it until then in a file and prints where; `textOf` makes the text. */
export type PrintApproval = (
  about: { name: string; until: string },
  textOf: (keptIn: string | null) => string,
) => Promise<void>;

export interface SendSettings extends RouteSettings {
  smtpUrl: string | null;
  mailFrom: string | null;
  print: PrintApproval;
}

/** Throws a short sentence without secrets if the receiver did not take the message. */
export async function sendBy(
  settings: SendSettings,
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
      return sendPost(webhookPost(webhookOf(channel, settings), message), rules);
    case 'terminal':
      return settings.print({ name: `Approval ${message.referenceId}`, until: message.expiresAt }, keptIn =>
        terminalText(message, keptIn),
      );
    default:
      return sendPost(postedType(channel).post(channel, message), rules);
  }
}

/** Without a bot, the service's own webhook carries the messages for a channel in Slack. */
function webhookOf(channel: Channel, { slackWebhookUrl }: RouteSettings): string {
  const url = 'webhookUrl' in channel ? channel.webhookUrl : slackWebhookUrl;
  if (url === null) throw new Error('no Slack app is configured (TOOLGATE_SLACK_BOT_TOKEN)');
  return url;
}

const TIMEOUT_MS = 15_000;

export async function sendPost(
  { url, headers = {}, body, fault }: Post,
  rules: TargetRules,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const { status, response } = await sendJson({ url, headers, body, timeoutMs, rules });
  const refused = fault(status, response);
  if (refused !== null) throw new Error(refused);
}
