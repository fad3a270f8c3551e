// The pages on which a person decides whether to connect a client: plain forms that need no script. They are pure
// functions; authorize.ts decides what is shown.

import type { GuardError } from '../../core/errors.ts';
import type { OAuthClient } from '../../guard/people/oauth-clients.ts';
import { isLoopback } from '../../guard/people/redirects.ts';
import type { SignedIn } from '../../guard/people/sign-ins.ts';
import type { OpenKey } from '../../store/people.ts';
import { STATUS } from '../serving/errors.ts';
import { card, type Html, html, named, page } from '../serving/page.ts';

// With `no-referrer` a browser also hides the form's origin, by which the server recognises its own pages.
const HEADERS = { 'Referrer-Policy': 'same-origin', 'X-Frame-Options': 'DENY' };

const STYLE = `
form { display: grid; gap: 1.25rem; }
.mark-line { display: block; color: var(--soft); font-size: 0.9rem; }
.warn { border-left-color: currentColor; }
.facts label { margin: 0; font-weight: inherit; }
@media (min-width: 40.01rem) { .facts > div { grid-template-columns: 8rem minmax(0, 1fr); } }
`;

interface Facts {
  client: OAuthClient;
  redirectUri: string;
  person: SignedIn;
  /** The query of the page. */
  request: string;
  /** Binds the form to the sign-in and the request. */
  consent: string;
}

export function consentPage(facts: Facts, keys: readonly OpenKey[]): Response {
  const { client, person } = facts;
  return answerPage(
    html`Connect ${named(client.name)}?`,
    html`<p>A client that calls itself <b>${named(client.name)}</b> asks to use tools on behalf of
<b>${named(person.email)}</b>.</p>
<form method="post" action="/oauth/authorize">
<dl class="facts">
<div><dt>Client</dt><dd>${vouched(client)}</dd></div>
<div><dt>Sends you to</dt><dd>${destination(facts.redirectUri)}</dd></div>
<div><dt>${keys.length === 1 ? 'Key' : html`<label for="key">Key</label>`}</dt><dd>${keyChoice(keys)}</dd></div>
<div><dt>For how long</dt><dd>Until you disconnect it, for at most 90 days.<span class="mark-line">It ends after 14 days without use. Its tokens last 15 minutes and are renewed.</span></dd></div>
</dl>
${isLoopback(facts.redirectUri) ? FROM_HERE : null}
${hidden(facts)}
<div class="row"><button name="answer" value="connect">Connect</button>
<button name="answer" value="deny" class="plain" formnovalidate>Do not connect</button></div>
</form>
<p class="soft small">It can call what the policy of the key allows. Every call is recorded with your name. You can
disconnect it at any time under <a href="/dashboard/connections">My connections</a>.</p>`,
  );
}

const FROM_HERE = html`<p class="notice warn">Any program on this computer can ask this. Connect only if you have just
started it yourself.</p>`;

export function noKeyPage(facts: Facts): Response {
  const { client, person } = facts;
  const groups = person.groups.length === 0 ? null : html` Your groups are: ${list(person.groups)}.`;
  return answerPage(
    html`No key is open to you`,
    html`<p><b>${named(client.name)}</b> asks to use tools on behalf of <b>${named(person.email)}</b>. For that, an admin has
to open a key to you or to one of your groups, and none is open yet.${groups}</p>
<p class="soft">Ask an admin, then start again in the client. Nothing was connected.</p>
<form method="post" action="/oauth/authorize">${hidden(facts)}
<div class="row"><button name="answer" value="deny" class="plain">Go back to the client</button></div></form>`,
    403,
  );
}

const list = (groups: readonly string[]): Html[] =>
  groups.slice(0, 20).map((group, at) => html`${at === 0 ? '' : ', '}${named(group)}`);

/** The message is ours and never quotes the request. */
export function unusablePage(error: GuardError): Response {
  const wait = error.retryAfter === undefined ? {} : { 'Retry-After': String(error.retryAfter) };
  const heading = error.code === 'rate_limited' ? 'Too many requests' : 'This client cannot be connected';
  return page({
    title: `${heading} · Toolgate`,
    status: STATUS[error.code],
    headers: { ...HEADERS, ...wait },
    body: card(
      heading,
      html`<p class="soft">${error.message}</p><p class="soft small">Nothing was connected. You can close this page.</p>`,
    ),
  });
}

/** The answer leads to the client, on another origin, so forms of these pages may lead anywhere. */
function answerPage(heading: Html, body: Html, status = 200): Response {
  return page({
    title: 'Connect a client · Toolgate',
    style: STYLE,
    status,
    headers: HEADERS,
    formsLeadAway: true,
    body: card(heading, body),
  });
}

function hidden({ request, consent }: Facts): Html {
  return html`<input type="hidden" name="request" value="${request}"><input type="hidden" name="consent" value="${consent}">`;
}

/** White space counts in a list of facts, so these texts have no line breaks. */
function vouched({ from, id }: OAuthClient): Html {
  switch (from) {
    case 'document':
      return fact(new URL(id).host, 'The client is described on this domain.');
    case 'admin':
      return fact('Registered by an admin', 'An admin of this service entered its name and address.');
    case 'registration':
      return fact('Unverified', 'It chose its name itself. Anybody can use that name.');
  }
}

const fact = (what: string, more: string | Html): Html =>
  html`<b>${named(what)}</b><span class="mark-line">${more}</span>`;

function destination(uri: string): Html {
  const whole = html`<code>${named(uri)}</code>`;
  if (isLoopback(uri)) return fact('This computer', whole);
  const { host, protocol } = new URL(uri);
  return fact(protocol === 'https:' ? host : `An app on this computer (${protocol})`, whole);
}

function keyChoice(keys: readonly OpenKey[]): Html {
  const [first] = keys;
  if (keys.length === 1 && first !== undefined)
    return html`${named(first.name)}${untilOf(first)}<input type="hidden" name="key" value="${first.id}">`;
  return html`<select id="key" name="key" required><option value="">Choose one</option>${keys.map(key => html`<option value="${key.id}">${key.name}${untilOf(key)}</option>`)}</select>`;
}

/** No connection lasts longer than its key. */
const untilOf = ({ expiresAt }: OpenKey): string =>
  expiresAt === null ? '' : ` (ends on ${new Date(expiresAt).toISOString().slice(0, 10)})`;
