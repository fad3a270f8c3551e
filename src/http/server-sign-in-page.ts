// The pages on which people begin to sign in to a server, and on which that ends. They are pure functions;
// server-sign-ins.ts decides who sees them.

import { card, html, named, page } from './page.ts';
import { formPage, refusedPage } from './sign-in-page.ts';

interface BeginPage {
  ticket: string;
  serverName: string;
  /** The server's own host, by which people recognise it. */
  host: string;
  keyName: string;
  /** Who signs in; null for the key. */
  as: string | null;
}

export function beginPage({ ticket, serverName, host, keyName, as }: BeginPage): Response {
  const whose =
    as === null
      ? html`Everybody who uses the key <b>${named(keyName)}</b> will act at this server with the account that you
sign in with.`
      : html`Calls through the key <b>${named(keyName)}</b> that are made for you, <b>${named(as)}</b>, will act at this
server with the account that you sign in with. Nobody else’s will.`;
  return formPage(
    'Sign in to a server',
    null,
    html`<p>You go on to the sign-in of <b>${named(serverName)}</b> at <code>${named(host)}</code>.</p>
<p class="soft">${whose}</p>
<form method="post" action="/oauth/connect/${ticket}">
<div class="row"><button>Go to the sign-in</button></div>
</form>`,
    { formsLeadAway: true },
  );
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
