// Sends a notification to a Slack incoming webhook: the facts, and buttons that open the links. Names are sent as
// plain text, never as markup, and shortened to what Slack accepts.

import type { TargetRules } from '../../outgoing/addresses.ts';
import { sendJson } from '../../outgoing/send.ts';
import {
  callLines,
  clipped,
  facts,
  fullName,
  lapse,
  linksOf,
  type NotificationMessage,
  needs,
  shownLines,
} from './message.ts';

const TIMEOUT_MS = 15_000;
// Slack refuses the whole message if one text is longer than its limit (3000 characters in a section, 2000 in a field).
export const SECTION_CHARS = 2900;
const FIELD_CHARS = 1900;
const LINE_CHARS = 400;
export const DETAIL_SECTIONS = 3;

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

export function plain(text: string, max: number) {
  return { type: 'plain_text', text: slackEscape(text, max), emoji: false };
}

/** The first one is the one to press; denying is marked too. */
function buttons(message: NotificationMessage) {
  return linksOf(message).map(({ what, label, url }, index) => {
    const style = index === 0 ? 'primary' : what === 'deny' ? 'danger' : undefined;
    return { type: 'button', action_id: what, text: plain(label, LINE_CHARS), url, style };
  });
}

/**
 * As many lines as there is room for. If they are cut, one text more says so. A line that is longer than a section goes on
 * in the next one, since Slack's limit would cut it without a word.
 */
export function packed(lines: readonly string[]): string[] {
  const sections: string[] = [];
  let text = '';
  for (const [index, line] of lines.entries()) {
    for (const piece of pieces(line)) {
      const more = text === '' ? piece : `${text}\n${piece}`;
      if (text === '' || escapedLength(more) <= SECTION_CHARS) {
        text = more;
        continue;
      }
      sections.push(text);
      text = piece;
      if (sections.length === DETAIL_SECTIONS)
        return [...sections, `… and ${lines.length - index} more, behind the link.`];
    }
  }
  return text === '' ? sections : [...sections, text];
}

/** The line in parts, each of which fits into a section. A mark tells that a part does not begin a line. */
function pieces(line: string): string[] {
  if (escapedLength(line) <= SECTION_CHARS) return [line];
  const all: string[] = [];
  let piece = '';
  let length = 0;
  for (const char of line) {
    const more = escapedLength(char);
    if (length + more > SECTION_CHARS) {
      all.push(piece);
      piece = '… ';
      length = piece.length;
    }
    piece += char;
    length += more;
  }
  return [...all, piece];
}

const escapedLength = (text: string): number => slackEscape(text, Number.MAX_SAFE_INTEGER).length;

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** The text as Slack wants it, at most `max` characters long. */
export function slackEscape(text: string, max: number): string {
  return clipped(text, max, char => ENTITIES[char] ?? char);
}
