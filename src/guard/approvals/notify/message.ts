// What a notification says to the person who is asked, as data, as plain text and as HTML. Names come from agents.
// They are shown unchanged, except that invisible characters, and those that reorder text, are written as escapes.
// The channels beside this file send the message.

import type { Resolution } from '../../../core/approval.ts';
import { joinName } from '../../../core/name.ts';
import { visible } from '../../../core/visible.ts';

/** What every message says about the call. */
export interface CallFacts {
  referenceId: string;
  keyName: string;
  sessionLabel: string | null;
  serverName: string;
  toolName: string;
  reason: string;
  /** ISO 8601. */
  expiresAt: string;
}

export interface NotificationMessage extends CallFacts {
  approveUrl: string;
  denyUrl: string;
}

export function approvalLinks(
  publicUrl: string,
  token: string,
): Pick<NotificationMessage, 'approveUrl' | 'denyUrl'> {
  const link = (action: Resolution) => `${publicUrl}/v1/approve/${token}?action=${action}`;
  return { approveUrl: link('approve'), denyUrl: link('deny') };
}

/** Shortens a text to at most `max` characters. What `spell` makes of a character is either kept whole or left out. */
export function clipped(text: string, max: number, spell: (char: string) => string = char => char): string {
  const pieces = Array.from(text, spell);
  const whole = pieces.join('');
  if (whole.length <= max) return whole;
  let shown = '';
  for (const piece of pieces) {
    if (shown.length + piece.length >= max) break;
    shown += piece;
  }
  return `${shown}…`;
}

export function fullName(message: Pick<CallFacts, 'serverName' | 'toolName'>): string {
  return visible(joinName(message.serverName, message.toolName));
}

export function lapse(message: Pick<CallFacts, 'expiresAt'>): string {
  return message.expiresAt.replace(/^(\S+)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/, '$1 $2 UTC');
}

interface Fact {
  label: string;
  value: string;
}

export function facts(message: CallFacts): Fact[] {
  const { sessionLabel } = message;
  const session =
    sessionLabel === null ? [] : [{ label: 'Session', value: visible(sessionLabel) || '(no label)' }];
  return [
    { label: 'Server', value: visible(message.serverName) },
    { label: 'Tool', value: visible(message.toolName) },
    { label: 'Key', value: visible(message.keyName) },
    ...session,
    { label: 'Reason', value: visible(message.reason) },
    { label: 'Lapses', value: lapse(message) },
    { label: 'Reference', value: visible(message.referenceId) },
  ];
}

const ADVICE =
  'Approving frees this one call. The links work once; do not pass this message on. ' +
  'If you do nothing, the call stays blocked.';

export function plainText(message: NotificationMessage): string {
  const width = Math.max(...facts(message).map(fact => fact.label.length)) + 2;
  const lines = facts(message).map(({ label, value }) => `${`${label}:`.padEnd(width)}${value}`);
  return [
    'An agent asks to call',
    `  ${fullName(message)}`,
    '',
    ...lines,
    '',
    'Approve:',
    message.approveUrl,
    '',
    'Deny:',
    message.denyUrl,
    '',
    ADVICE,
    '',
  ].join('\n');
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`);
}

// Every mail program reads inline styles. The style element is for those that support dark mode.
const DARK = `
  :root { color-scheme: light dark; supported-color-schemes: light dark; }
  @media (prefers-color-scheme: dark) {
    .page { background: #16181d !important; color: #e8eaed !important; }
    .card { background: #22252c !important; border-color: #3a3f4a !important; }
    .quiet { color: #a3a9b5 !important; }
  }`;

const PAGE = 'margin:0;padding:16px;background:#f3f4f6;color:#1b1f24;font:16px/1.5 system-ui,sans-serif';
const CARD =
  'max-width:560px;margin:0 auto;padding:20px;background:#ffffff;border:1px solid #d9dde3;border-radius:10px';
const NAME = 'font:600 18px/1.4 ui-monospace,monospace;overflow-wrap:anywhere;margin:4px 0 16px';
const LABEL = 'padding:4px 12px 4px 0;color:#5b6472;text-align:left;vertical-align:top;font-weight:400';
const VALUE = 'padding:4px 0;overflow-wrap:anywhere;word-break:break-word';
const BUTTON =
  'display:inline-block;padding:12px 28px;margin:0 8px 8px 0;border-radius:8px;color:#ffffff;font-weight:600;' +
  'text-decoration:none';

export function htmlText(message: NotificationMessage): string {
  const rows = facts(message).map(
    ({ label, value }) =>
      `<tr><th class="quiet" scope="row" style="${LABEL}">${label}</th><td style="${VALUE}">${escapeHtml(value)}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>Approval</title>
<style>${DARK}
</style>
</head>
<body class="page" style="${PAGE}">
<div class="card" style="${CARD}">
<p style="margin:0">An agent asks to call</p>
<p style="${NAME}">${escapeHtml(fullName(message))}</p>
<table style="border-collapse:collapse;width:100%;margin:0 0 20px;font-size:15px">
${rows.join('\n')}
</table>
<p style="margin:0 0 12px">
${button(message.approveUrl, 'Approve', '#15803d')}
${button(message.denyUrl, 'Deny', '#b91c1c')}
</p>
<p class="quiet" style="margin:0;font-size:13px;color:#5b6472">${ADVICE}</p>
</div>
</body>
</html>
`;
}

function button(url: string, label: string, colour: string): string {
  return `<a href="${escapeHtml(url)}" style="${BUTTON};background:${colour}">${label}</a>`;
}
