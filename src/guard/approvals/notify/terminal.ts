// The text of a notification for a terminal: the few lines that a person needs for an answer. The caller prints them.

import { visible } from '../../../core/visible.ts';
import { facts, fullName, lapse, type NotificationMessage } from './message.ts';

const SHOWN = new Set(['Key', 'Session', 'Reason']);

export function terminalText(message: NotificationMessage): string {
  const lines = facts(message)
    .filter(fact => SHOWN.has(fact.label))
    .map(fact => row(fact.label, fact.value));
  return [
    `Approval needed: ${fullName(message)}`,
    ...lines,
    row('Approve', visible(message.approveUrl)),
    row('Deny', visible(message.denyUrl)),
    row('Lapses', lapse(message)),
    '',
  ].join('\n');
}

function row(label: string, value: string): string {
  return `  ${label.padEnd(8)} ${value}`;
}
