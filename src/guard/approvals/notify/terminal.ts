// The text of a notification for a terminal: the few lines that a person needs for an answer. The caller prints them.

import { visible } from '../../../core/visible.ts';
import { facts, fullName, lapse, linksOf, type NotificationMessage, needs } from './message.ts';

const SHOWN = new Set(['Key', 'Session', 'Reason']);
const LABELS = { approve: 'Approve', deny: 'Deny', review: 'Review' };

export function terminalText(message: NotificationMessage): string {
  const lines = facts(message)
    .filter(fact => SHOWN.has(fact.label))
    .concat(needs(message))
    .map(fact => row(fact.label, fact.value));
  return [
    `Approval needed: ${fullName(message)}`,
    ...(message.personEmail === null ? [] : [row('For', visible(message.personEmail))]),
    ...lines,
    ...linksOf(message).map(({ what, url }) => row(LABELS[what], visible(url))),
    row('Lapses', lapse(message)),
    '',
  ].join('\n');
}

function row(label: string, value: string): string {
  return `  ${label.padEnd(8)} ${value}`;
}
