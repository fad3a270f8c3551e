// The one HTML page of the dashboard: an empty frame with its script and style, under a policy that allows nothing
// else. Without JavaScript it says that it needs it.

import type { SignedIn } from '../../guard/people/sign-ins.ts';
import { showSignedIn } from '../admin/sign-ins.ts';
import { html, ICON } from '../serving/page.ts';
import type { Dashboard } from './dashboard-build.ts';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  // With this, the browser refuses to turn a text into markup or script, even if our code tries to by mistake.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/**
 * The page says who reads it. So it requests nothing that they may not see, and shows what they may do before any request is
 * answered. It also has the address at which MCP clients sign in, which is empty if they cannot.
 */
export function framePage({ script, style }: Dashboard, operator: SignedIn, clientAddress: string): Response {
  const me = JSON.stringify(showSignedIn(operator));
  const file = (name: string) => `/dashboard/assets/${name}`;
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Toolgate</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${file(style)}">
<script type="module" src="${file(script)}"></script>
</head>
<body>
<div id="app" data-me="${me}" data-clients="${clientAddress}"></div>
<noscript><p class="noscript">The dashboard needs JavaScript. Approval links, the sign-in and the <a href="/docs">API
reference</a> work without it.</p></noscript>
</body>
</html>
`;
  return new Response(markup, {
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': POLICY,
      'Cache-Control': 'no-store',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Referrer-Policy': 'same-origin',
      'X-Content-Type-Options': 'nosniff',
      'X-Robots-Tag': 'noindex',
    },
  });
}
