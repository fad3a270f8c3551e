// The text of a notification for a terminal: the few lines that a person needs for an answer. The caller prints them, or
// keeps them in a file if nobody reads a terminal; a log then gets them without the links.

import {
  facts,
  fullName,
  lapse,
  linksOf,
  type NotificationMessage,
  needs,
} from '../../../core/channels/message.ts';
import { visible } from '../../../core/text/visible.ts';

const SHOWN = new Set(['Key', 'Session', 'Reason']);
const LABELS = { approve: 'Approve', deny: 'Deny', review: 'Review' };

/** `keptIn` is the file that has the links, if the text itself must not show them. */
export function terminalText(message: NotificationMessage, keptIn: string | null = null): string {
  const lines = facts(message)
    .filter(fact => SHOWN.has(fact.label))
    .concat(needs(message))
    .map(fact => row(fact.label, fact.value));
  return [
    `Approval needed: ${fullName(message)}`,
    ...(message.personEmail === null ? [] : [row('For', visible(message.personEmail))]),
    ...lines,
    ...(keptIn === null
      ? linksOf(message).map(({ what, url }) => row(LABELS[what], visible(url)))
      : [row('Links', `in ${keptIn}`)]),
    row('Lapses', lapse(message)),
    '',
  ].join('\n');
}

function row(label: string, value: string): string {
  return `  ${label.padEnd(8)} ${value}`;
}
