// The checks of the ways to people: mail server, Slack, and the addresses of other channels. Nothing is posted: the
// mail server and Slack are asked whether they accept our credentials, and other servers are only connected to.

import { type Channel, typeOf } from '../core/channels/channels.ts';
import { webhookExamined } from '../core/channels/slack.ts';
import { tryMailServer } from '../guard/approvals/notify/mail-server.ts';
import { SlackApi } from '../guard/approvals/notify/slack-bot/api.ts';
import type { Config } from '../settings/config.ts';
import { bad, type Examination, type Found, good, warning } from './examine.ts';
import { ANYWHERE, unreachable } from './reach.ts';

/** Below the limit of a check, so that the sentence about it says what did not answer. */
const ANSWER_MS = 6000;

export function peopleChecks(config: Config): Examination[] {
  const checks: Examination[] = [];
  const { smtpUrl, slackBotToken, slackApiUrl, slackWebhookUrl, notifyUrl } = config;
  if (smtpUrl !== null) checks.push({ name: 'mail', run: async () => [await mailFound(smtpUrl)] });
  if (slackBotToken !== null)
    checks.push({ name: 'slack', run: async () => [await slackFound(slackApiUrl, slackBotToken)] });
  if (slackWebhookUrl !== null) checks.push(formCheck('slack webhook', webhookExamined(slackWebhookUrl)));
  if (notifyUrl !== null) checks.push(addressCheck('notifier', notifyUrl, 'TOOLGATE_NOTIFY_URL'));
  for (const [name, channel] of Object.entries(config.channels)) {
    const check = channelCheck(name, channel);
    if (check !== null) checks.push(check);
  }
  return checks;
}

/** Channels by e-mail and by Slack's bot use servers that have a check of their own. */
function channelCheck(channelName: string, channel: Channel): Examination | null {
  const name = `channel ${channelName}`;
  const examined = typeOf(channel).examined?.(channel) ?? null;
  if (examined === null) return null;
  if ('fine' in examined) return formCheck(name, examined);
  return addressCheck(name, examined.connect, `channels.${channelName}.${examined.field}`);
}

async function mailFound(smtpUrl: string): Promise<Found> {
  const name = 'mail';
  const { host } = new URL(smtpUrl);
  try {
    const { isSecure, hasPassword } = await tryMailServer(smtpUrl, ANSWER_MS);
    if (hasPassword && !isSecure)
      return warning(
        name,
        `${host} accepts the password, but without encryption, so others on the way can read it: use smtps://, or a server with STARTTLS.`,
      );
    return good(name, `${host} accepts ${hasPassword ? 'the user name and password' : 'connections'}.`);
  } catch (error) {
    return bad(
      name,
      `${host}: ${(error as Error).message}. TOOLGATE_SMTP_URL names server, user and password.`,
    );
  }
}

async function slackFound(apiUrl: string, token: string): Promise<Found> {
  const name = 'slack';
  try {
    const { team } = await new SlackApi(apiUrl, token, ANSWER_MS).home();
    return good(name, `Slack accepts the bot’s token; it belongs to the workspace ${team}.`);
  } catch (error) {
    return bad(
      name,
      `${(error as Error).message}. TOOLGATE_SLACK_BOT_TOKEN is the bot’s token (xoxb-…) of your Slack app.`,
    );
  }
}

function formCheck(name: string, { fault, fine }: { fault: string | null; fine: string }): Examination {
  return { name, run: async () => [fault === null ? good(name, fine) : warning(name, fault)] };
}

/** `setting` says what to change. */
export function addressCheck(name: string, url: string, setting: string): Examination {
  return {
    name,
    run: async signal => {
      const fault = await unreachable(url, ANYWHERE, signal);
      if (fault === null) return [good(name, `${new URL(url).host} can be reached.`)];
      return [bad(name, `${fault} Is ${setting} right, and the server up?`)];
    },
  };
}
