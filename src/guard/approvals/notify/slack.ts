// Sends a notification to a Slack incoming webhook: the facts, and two buttons that open the links. Names are sent as
// plain text, never as markup, and shortened to what Slack accepts.

import type { TargetRules } from '../../outgoing/addresses.ts';
import { sendJson } from '../../outgoing/send.ts';
import { clipped, facts, fullName, lapse, type NotificationMessage } from './message.ts';

const TIMEOUT_MS = 15_000;
// Slack refuses the whole message if one text is longer than its limit (3000 characters in a section, 2000 in a field).
const SECTION_CHARS = 2900;
const FIELD_CHARS = 1900;
const LINE_CHARS = 400;

export async function sendSlack(
  url: string,
  message: NotificationMessage,
  rules: TargetRules,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const body = JSON.stringify(slackMessage(message));
  const { status, response } = await sendJson({ url, headers: {}, body, timeoutMs, rules });
  if (status >= 200 && status <= 299) return;
  // Slack's error codes (no_service, invalid_blocks) help the reader; any other text could echo the links.
  throw new Error(`Slack answered ${status}${/^[a-z_]{1,40}$/.test(response) ? ` (${response})` : ''}`);
}

function slackMessage(message: NotificationMessage) {
  const name = fullName(message);
  const fields = facts(message).map(({ label, value }) => plain(`${label}: ${value}`, FIELD_CHARS));
  return {
    text: `Approve ${slackEscape(name, LINE_CHARS)}? Lapses ${lapse(message)}.`,
    blocks: [
      { type: 'section', text: plain(`An agent asks to call ${name}`, SECTION_CHARS) },
      { type: 'section', fields },
      {
        type: 'actions',
        elements: [
          linkButton('Approve', message.approveUrl, 'primary'),
          linkButton('Deny', message.denyUrl, 'danger'),
        ],
      },
    ],
    unfurl_links: false,
    unfurl_media: false,
  };
}

function plain(text: string, max: number) {
  return { type: 'plain_text', text: slackEscape(text, max), emoji: false };
}

function linkButton(label: string, url: string, style: 'primary' | 'danger') {
  return { type: 'button', action_id: label.toLowerCase(), text: plain(label, LINE_CHARS), url, style };
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** The text as Slack wants it, at most `max` characters long. */
export function slackEscape(text: string, max: number): string {
  return clipped(text, max, char => ENTITIES[char] ?? char);
}
