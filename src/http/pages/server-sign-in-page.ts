// The pages on which people begin to sign in to a server, and on which that ends. They are pure functions;
// server-sign-ins.ts decides who sees them.

import type { Way } from '../../guard/server-sign-ins/visits.ts';
import { card, type Html, html, named, page } from '../serving/page.ts';
import { formPage, refusedPage } from './sign-in-page.ts';

interface BeginPage {
  ticket: string;
  serverName: string;
  /** The server's own host, by which people recognise it. */
  host: string;
  /** Null for a server that keys share. */
  keyName: string | null;
  /** Who signs in; null for the key. */
  as: string | null;
  /** Where the sign-in leads, and what it asks for. */
  way: Way;
  /** 409 if it leads elsewhere than the page before has shown. */
  status: 200 | 409;
}

export function beginPage({ ticket, serverName, host, keyName, as, way, status }: BeginPage): Response {
  const through =
    keyName === null ? html`any key that has this server` : html`the key <b>${named(keyName)}</b>`;
  const whose =
    as === null
      ? html`Everybody who uses ${through} will act at this server with the account that you
sign in with.`
      : html`Calls through ${through} that are made for you, <b>${named(as)}</b>, will act at this
server with the account that you sign in with. Nobody else’s will.`;
  const changed = { status, message: 'The server says something else now than before. Look again.' };
  return formPage(
    'Sign in to a server',
    status === 200 ? null : changed,
    html`${status === 200 ? null : html`<p class="notice problem" role="alert">${changed.message}</p>`}
<p>The server <b>${named(serverName)}</b> wants you to sign in.</p>
${way.change === null ? null : html`<p class="notice problem" role="alert">${named(way.change)} Go on only if you know why.</p>`}
<dl class="facts">
<div><dt>You sign in at</dt><dd><b>${named(new URL(way.page).host)}</b><br><code>${named(way.page)}</code>${issuedBy(way)}</dd></div>
<div><dt>Who gets access</dt><dd><b>${named(host)}</b>, the server <b>${named(serverName)}</b></dd></div>
<div><dt>It asks for</dt><dd>${askedFor(way)}</dd></div>
</dl>
${new URL(way.page).host === host ? null : elsewhere(new URL(way.page).host, host)}
<p class="soft">${whose}</p>
<form method="post" action="/oauth/connect/${ticket}">
<input type="hidden" name="shown" value="${way.shown}">
<div class="row"><button>Go to ${named(new URL(way.page).host)}</button></div>
</form>`,
    { formsLeadAway: true },
  );
}

/** White space counts in a list of facts, so these texts have no line breaks. */
function issuedBy({ issuer, page: address }: Way): Html | null {
  const { host } = new URL(issuer);
  return host === new URL(address).host ? null : html`<br>on behalf of <b>${named(host)}</b>`;
}

const MAX_NAMED = 50;

function askedFor({ scopes }: Way): Html {
  if (scopes === null || scopes.length === 0) return html`what is usual there: that page says what`;
  const shown = scopes.slice(0, MAX_NAMED);
  const more = scopes.length > shown.length ? html` and ${scopes.length - shown.length} more` : null;
  return html`${shown.map((scope, at) => html`${at === 0 ? '' : ', '}<code>${named(scope)}</code>`)}${more}`;
}

/** Both hosts, because a hostile server can lead to the sign-in of another service. */
function elsewhere(page: string, host: string): Html {
  return html`<p class="notice"><b>${named(host)}</b> sends you to <b>${named(page)}</b>, and can then use whatever you allow
there. Go on only if you know that they belong together.</p>`;
}

export function closePage(serverName: string): Response {
  return page({
    title: 'Signed in · Toolgate',
    body: card(
      'Signed in',
      html`<p>You are signed in to <b>${named(serverName)}</b>. You can close this page and repeat the call.</p>
<p><a href="/dashboard/connections">My connections</a> shows all servers that you are signed in to.</p>`,
    ),
  });
}

export function failedPage(status: number, message: string): Response {
  return refusedPage('This sign-in does not work', { status, message });
}
