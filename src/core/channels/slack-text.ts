// Texts as Slack wants them: plain text and never markup, shortened to what Slack accepts. The messages of the incoming webhook
// (slack.ts) and of the bot are made of them.

import { clipped } from './message.ts';

// Slack refuses the whole message if one text is longer than its limit (3000 characters in a section, 2000 in a field).
export const SECTION_CHARS = 2900;
export const DETAIL_SECTIONS = 3;

export function plain(text: string, max: number) {
  return { type: 'plain_text', text: slackEscape(text, max), emoji: false };
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
