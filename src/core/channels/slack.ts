// Slack: an incoming webhook, which is sent the facts and buttons that open the links, or a channel in Slack to which the bot
// posts a message whose buttons answer. The bot's messages are in guard/approvals/notify/slack-bot/.

import { maskedUrl } from '../text/masked.ts';
import { type ChannelType, type DeclaredFields, isSuccess, type Post } from './channel-type.ts';
import {
  callLines,
  facts,
  fullName,
  lapse,
  linksOf,
  type NotificationMessage,
  needs,
  shownLines,
} from './message.ts';
import { DETAIL_SECTIONS, packed, plain, SECTION_CHARS, slackEscape } from './slack-text.ts';

type Settings = { webhookUrl: string } | { channel: string };

const CHANNEL = /^#?[^\s#,<>]{1,80}$/;

export const slack: ChannelType<Settings> = {
  fields: ['webhookUrl', 'channel'],
  read: settingsIn,
  target: settings => ('channel' in settings ? settings.channel : maskedUrl(settings.webhookUrl)),
  // Without a bot, the service's own webhook carries links.
  lacks: (settings, { slackBotToken, slackWebhookUrl }) =>
    'channel' in settings && slackBotToken === null && slackWebhookUrl === null
      ? 'posts to Slack but nothing says how: set TOOLGATE_SLACK_BOT_TOKEN and ' +
        'TOOLGATE_SLACK_SIGNING_SECRET to those of your Slack app, or TOOLGATE_SLACK_WEBHOOK_URL to an incoming webhook.'
      : null,
  examined: settings => ('webhookUrl' in settings ? webhookExamined(settings.webhookUrl) : null),
};

function settingsIn({ given, wrong, url }: DeclaredFields): Settings {
  const { webhookUrl, channel } = given;
  if (webhookUrl !== undefined && channel !== undefined)
    throw wrong(' has both "webhookUrl" and "channel": a channel has one of them.');
  if (webhookUrl !== undefined) return { webhookUrl: url('webhookUrl', 'the incoming webhook') };
  if (channel === undefined)
    throw wrong(
      ' needs "webhookUrl", an incoming webhook, or "channel", a channel for messages with buttons.',
    );
  if (typeof channel !== 'string' || !CHANNEL.test(channel))
    throw wrong(
      '.channel must be the name or the id of a channel in Slack, in quotation marks: "#approvals" or "C0123456789".',
    );
  return { channel };
}

const WEBHOOK = /^https:\/\/hooks\.slack(-gov)?\.com\/(services|workflows|triggers)\/\S+/;

/** A message cannot be tried without posting it. */
export function webhookExamined(url: string): { fault: string | null; fine: string } {
  return {
    fault: WEBHOOK.test(url)
      ? null
      : `The address at ${new URL(url).host} does not have the form of a Slack webhook (https://hooks.slack.com/services/…): compare it with the one that Slack shows.`,
    fine: 'The address has the form of a Slack webhook. Send a test message to try it.',
  };
}

const FIELD_CHARS = 1900;
const LINE_CHARS = 400;

export function webhookPost(url: string, message: NotificationMessage): Post {
  return { url, body: JSON.stringify(slackMessage(message)), fault };
}

/** Slack's error codes (no_service, invalid_blocks) help the reader; any other text could echo the links. */
function fault(status: number, response: string): string | null {
  if (isSuccess(status)) return null;
  return `Slack answered ${status}${/^[a-z_]{1,40}$/.test(response) ? ` (${response})` : ''}`;
}

function slackMessage(message: NotificationMessage) {
  const shown = packed(shownLines(message));
  const isCut = shown.length > DETAIL_SECTIONS;
  const fields = [...facts(message), ...needs(message)].map(({ label, value }) =>
    plain(`${label}: ${value}`, FIELD_CHARS),
  );
  return {
    text: `Approve ${slackEscape(fullName(message), LINE_CHARS)}? Lapses ${lapse(message)}.`,
    blocks: [
      { type: 'section', text: plain(`An agent asks to call ${callLines(message)}`, SECTION_CHARS) },
      ...shown.map(text => ({ type: 'section', text: plain(text, SECTION_CHARS) })),
      { type: 'section', fields },
      { type: 'actions', elements: buttons(isCut ? { ...message, reviewFirst: true } : message) },
    ],
    unfurl_links: false,
    unfurl_media: false,
  };
}

/** The first one is the one to press; denying is marked too. */
function buttons(message: NotificationMessage) {
  return linksOf(message).map(({ what, label, url }, index) => {
    const style = index === 0 ? 'primary' : what === 'deny' ? 'danger' : undefined;
    return { type: 'button', action_id: what, text: plain(label, LINE_CHARS), url, style };
  });
}
