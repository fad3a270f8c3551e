// The text of an e-mail: plain text and HTML, each complete on its own.

import {
  advice,
  facts,
  forPerson,
  fullName,
  linksOf,
  type NotificationMessage,
  needs,
  shownLines,
} from '../../../core/channels/message.ts';

export function plainText(message: NotificationMessage): string {
  const all = [...facts(message), ...needs(message)];
  const width = Math.max(...all.map(fact => fact.label.length)) + 2;
  const lines = all.map(({ label, value }) => `${`${label}:`.padEnd(width)}${value}`);
  const shown = shownLines(message);
  return [
    'An agent asks to call',
    `  ${fullName(message)}`,
    ...forPerson(message),
    '',
    ...(shown.length > 0 ? [...shown, ''] : []),
    ...lines,
    '',
    ...linksOf(message).flatMap(({ label, url }) => [`${label}:`, url, '']),
    advice(message),
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
    .link { color: #8ab4ff !important; }
  }`;

const PAGE = 'margin:0;padding:16px;background:#f3f4f6;color:#1b1f24;font:16px/1.5 system-ui,sans-serif';
const CARD =
  'max-width:560px;margin:0 auto;padding:20px;background:#ffffff;border:1px solid #d9dde3;border-radius:10px';
const NAME = 'font:600 18px/1.4 ui-monospace,monospace;overflow-wrap:anywhere;margin:4px 0 16px';
const LABEL = 'padding:4px 12px 4px 0;color:#5b6472;text-align:left;vertical-align:top;font-weight:400';
const VALUE = 'padding:4px 0;overflow-wrap:anywhere;word-break:break-word';
const SHOWN = 'margin:0 0 8px;overflow-wrap:anywhere;word-break:break-word';
const QUIET = 'display:inline-block;padding:12px 0;margin:0 20px 8px 0;color:#1d4ed8';
const BUTTON =
  'display:inline-block;padding:12px 28px;margin:0 8px 8px 0;border-radius:8px;color:#ffffff;font-weight:600;' +
  'text-decoration:none';

export function htmlText(message: NotificationMessage): string {
  const isToReview = message.reviewFirst || message.details !== null;
  const rows = [...facts(message), ...needs(message)].map(
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
${[...forPerson(message), ...shownLines(message)].map(paragraph).join('')}<table style="border-collapse:collapse;width:100%;margin:0 0 20px;font-size:15px">
${rows.join('\n')}
</table>
<p style="margin:0 0 12px">
${linksOf(message)
  .map(({ what, label, url }) =>
    (what === 'review') === isToReview ? button(url, label, COLOURS[what]) : quietLink(url, label),
  )
  .join('\n')}
</p>
<p class="quiet" style="margin:0;font-size:13px;color:#5b6472">${escapeHtml(advice(message))}</p>
</div>
</body>
</html>
`;
}

const COLOURS = { approve: '#15803d', deny: '#b91c1c', review: '#1d4ed8' };

function paragraph(text: string): string {
  return `<p style="${SHOWN}">${escapeHtml(text)}</p>\n`;
}

/** What people should not press first does not look like a button. */
function quietLink(url: string, label: string): string {
  return `<a class="link" href="${escapeHtml(url)}" style="${QUIET}">${label}</a>`;
}

function button(url: string, label: string, colour: string): string {
  return `<a href="${escapeHtml(url)}" style="${BUTTON};background:${colour}">${label}</a>`;
}
