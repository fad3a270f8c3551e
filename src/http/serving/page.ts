// The frame of every page that the service renders itself: escaping, security headers, and one style in light and dark.
// The contents of the pages are in their own files.

import { visible } from '../../core/text/visible.ts';

/** Markup that is safe to send. It is a class, so that no parsed JSON can be mistaken for it. */
export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}

type Part = Html | string | number | null | readonly Part[];

/** Escapes all values except those that are `Html` already. Lists are joined, and null becomes an empty text. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  let markup = strings[0] ?? '';
  parts.forEach((part, index) => {
    markup += markupOf(part) + (strings[index + 1] ?? '');
  });
  return new Html(markup);
}

/** For constant texts of this program (style, script, drawings), never for anything that came from outside. */
export function trusted(markup: string): Html {
  return new Html(markup);
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

function markupOf(part: Part): string {
  if (part === null) return '';
  if (part instanceof Html) return part.markup;
  if (typeof part === 'object') return part.map(markupOf).join('');
  return String(part).replace(/[&<>"'`]/g, found => ENTITIES[found] ?? '');
}

/** Text from outside, isolated in its writing direction, so that it cannot reorder the text around it. */
export function named(text: string): Html {
  return html`<bdi>${visible(text)}</bdi>`;
}

export interface PageParts {
  title: string;
  body: Html;
  status?: number;
  /** Style in addition to that of the frame. */
  style?: string;
  script?: string;
  /** The script may send requests to this service. */
  connects?: boolean;
  headers?: Record<string, string>;
  /**
   * The answer to a form on this page redirects to another origin. Browsers apply `form-action` to that redirect too, so
   * the page goes without it.
   */
  formsLeadAway?: true;
}

export function page(parts: PageParts): Response {
  const nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(18))).toString('base64');
  const script =
    parts.script === undefined ? null : html`<script nonce="${nonce}">${trusted(parts.script)}</script>`;
  const whole = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${parts.title}</title>
<link rel="icon" href="${ICON}">
<style nonce="${nonce}">${trusted(STYLE + (parts.style ?? ''))}</style>
</head>
<body>
${parts.body}
${script}
</body>
</html>
`;
  const headers = { ...safeHeaders(nonce, parts), ...parts.headers };
  return new Response(whole.markup, { status: parts.status ?? 200, headers });
}

function safeHeaders(
  nonce: string,
  { script, connects = false, formsLeadAway }: PageParts,
): Record<string, string> {
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    ...(script === undefined ? [] : [`script-src 'nonce-${nonce}'`]),
    ...(connects ? ["connect-src 'self'"] : []),
    'img-src data:',
    ...(formsLeadAway ? [] : ["form-action 'self'"]),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Robots-Tag': 'noindex',
  };
}

/** A page with one short text or form. */
export function card(heading: string | Html, body: Html): Html {
  return html`<header class="top">${BRAND}</header>
<main class="card">
<h1>${heading}</h1>
${body}
</main>`;
}

// The icon is part of the page, so that no browser asks for /favicon.ico.
export const ICON =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#2f5bd0"/><path d="M7 18V9a5 5 0 0 1 10 0v9M12 18v-5" fill="none" stroke="#fff" stroke-width="2.2" stroke-linecap="round"/></svg>',
  );

export const BRAND = trusted(
  '<span class="brand"><svg viewBox="0 0 24 24" width="26" height="26" aria-hidden="true"><rect class="mark" width="24" height="24" rx="6"/><path class="gate" d="M7 18V9a5 5 0 0 1 10 0v9M12 18v-5"/></svg>Toolgate</span>',
);

const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f4f6f9; --sheet: #ffffff; --ink: #18202c; --soft: #525d6e; --line: #dce1e9; --edge: #848fa1;
  --tint: #edf2fd; --accent: #2f5bd0; --accent-strong: #2449ab; --on-accent: #ffffff;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0e1217; --sheet: #161b22; --ink: #e7eaf0; --soft: #a2adbc; --line: #2b333f; --edge: #6f7b8c;
    --tint: #1b2638; --accent: #93b2ff; --accent-strong: #b4caff; --on-accent: #0d1730;
  }
}
*, *::before, *::after { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink); -webkit-text-size-adjust: 100%;
  font: 1rem/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif;
}
h1, h2, h3, h4, p, dl, dd, ul, pre { margin: 0; padding: 0; }
h1 { font-size: 1.5rem; line-height: 1.25; letter-spacing: -0.015em; text-wrap: balance; }
a { color: var(--accent); text-underline-offset: 0.2em; }
a:hover { color: var(--accent-strong); }
code, .mono { font-family: var(--mono); font-size: 0.9em; overflow-wrap: anywhere; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
[hidden] { display: none; }
.brand { display: inline-flex; align-items: center; gap: 0.6rem; font-weight: 650; letter-spacing: -0.01em; }
.mark { fill: var(--accent); }
.gate { fill: none; stroke: var(--on-accent); stroke-width: 2.2; stroke-linecap: round; }
.top { max-width: 37rem; margin: 0 auto; padding: 2rem 1.25rem 1rem; }
.card {
  max-width: 34.5rem; margin: 0 auto 3rem; padding: 2rem; display: grid; gap: 1.25rem;
  background: var(--sheet); border: 1px solid var(--line); border-radius: 14px;
  box-shadow: 0 1px 2px rgb(15 23 42 / 0.05), 0 12px 32px -16px rgb(15 23 42 / 0.18);
}
.card > * { min-width: 0; }
.card p { overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.small { font-size: 0.9rem; }
.facts { border-top: 1px solid var(--line); }
.facts > div {
  display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: 0.25rem 1rem;
  padding: 0.6rem 0; border-bottom: 1px solid var(--line);
}
.facts dt { color: var(--soft); }
.facts dd { white-space: pre-wrap; overflow-wrap: anywhere; overflow: clip; }
.row { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: center; }
.row > button { flex: 1 1 11rem; }
button, .button, input, select { font: inherit; min-height: 2.9rem; border-radius: 9px; }
button {
  padding: 0.6rem 1.1rem; font-weight: 600; cursor: pointer;
  border: 1px solid var(--accent); background: var(--accent); color: var(--on-accent);
}
button:hover { background: var(--accent-strong); border-color: var(--accent-strong); }
button.plain { background: transparent; color: var(--ink); border-color: var(--edge); }
button.plain:hover { background: var(--tint); border-color: var(--ink); }
button:disabled { opacity: 0.6; cursor: progress; }
label { display: block; font-weight: 600; margin-bottom: 0.3rem; }
input, select {
  width: 100%; padding: 0.55rem 0.75rem; color: var(--ink); background: var(--ground); border: 1px solid var(--edge);
}
summary { cursor: pointer; }
.notice { padding: 0.8rem 1rem; border-radius: 9px; background: var(--tint); border-left: 4px solid var(--accent); }
@media (max-width: 40rem) {
  .top { padding: 1.1rem 1.25rem; }
  .card { margin: 0; padding: 1.5rem 1.25rem 2.5rem; border-width: 1px 0 0; border-radius: 0; box-shadow: none; min-height: calc(100vh - 4.4rem); align-content: start; }
  .facts > div { grid-template-columns: 5rem minmax(0, 1fr); padding: 0.45rem 0; }
}
`;
