// The pages on which people sign in and accept an invitation: plain forms that show errors in place. Only passkeys need a
// script; without it their button stays hidden. The pages are pure functions; sign-in.ts checks the input.

import type { Role } from '../../store/operators.ts';
import { card, type Html, html, named, type PageParts, page } from '../serving/page.ts';

// With `no-referrer` a browser also hides the form's origin, by which the server recognises its own pages.
const HEADERS = { 'Referrer-Policy': 'same-origin' };

const STYLE = `
form { display: grid; gap: 1.1rem; }
.button {
  display: flex; align-items: center; justify-content: center; padding: 0.6rem 1.1rem; font-weight: 600;
  border: 1px solid var(--edge); color: var(--ink); text-decoration: none; text-align: center; overflow-wrap: anywhere;
}
.button:hover { background: var(--tint); border-color: var(--ink); color: var(--ink); }
.button bdi { margin-left: 0.35em; }
.or { display: flex; align-items: center; gap: 0.9rem; }
.or::before, .or::after { content: ''; flex: 1; border-top: 1px solid var(--line); }
.problem { border-left-color: currentColor; font-weight: 600; }
`;

export interface Complaint {
  status: number;
  message: string;
  retryAfter?: number | undefined;
}

export interface SignInPage {
  email: string;
  /** The name of the page to return to; empty: the dashboard. */
  next: string;
  /** The provider's host, or null if single sign-on is not configured. */
  provider: string | null;
  /** The address on whose pages passkeys work, or null if browsers offer none for this service. */
  passkeysAt: string | null;
  /** No admin can sign in yet. */
  setupIsOpen: boolean;
  complaint: Complaint | null;
}

const SET_UP_FIRST = html`<p class="notice">No admin can sign in yet. To create the first one, open the set-up link that
the service printed when it started, or wrote into printed-secrets.txt in its data folder. If you do not have it, restart
the service: it then makes a new one.</p>`;

export function signInPage(given: SignInPage): Response {
  const { email, next, provider, passkeysAt, setupIsOpen, complaint } = given;
  const why =
    next === ''
      ? null
      : html`<p class="soft">This link is for signed-in operators. Sign in, and you go on to it.</p>`;
  return formPage(
    'Sign in',
    complaint,
    html`${setupIsOpen ? SET_UP_FIRST : null}
${why}
${provider === null ? null : singleSignOn(provider, next)}
<form method="post" action="/dashboard/sign-in">
<div><label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="320" value="${email}" required></div>
<div><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1000" required></div>
<input type="hidden" name="continue" value="${next}">
${problem(complaint)}
<div class="row"><button>Sign in</button></div>
</form>
${passkeysAt === null ? null : passkeySignIn(passkeysAt, next)}`,
    passkeysAt === null ? {} : { script: PASSKEY_SCRIPT },
  );
}

/** The script shows it where the browser can use passkeys, and fills in what the passkey answers. */
function passkeySignIn(origin: string, next: string): Html {
  return html`<form id="passkey" method="post" action="/dashboard/sign-in/passkey" data-origin="${origin}" hidden>
<p class="or soft small">or</p>
<input type="hidden" name="response">
<input type="hidden" name="continue" value="${next}">
<p class="notice problem" role="alert" hidden></p>
<div class="row"><button class="plain">Sign in with a passkey</button></div>
</form>`;
}

// The browser's own functions read the options and write the answer. All browsers have them since 2025; in an older one the
// password still works.
const PASSKEY_SCRIPT = `
{
  const form = document.getElementById('passkey');
  const [button, problem] = [form.querySelector('button'), form.querySelector('.problem')];
  const answer = async () => {
    const asked = await fetch('/admin/v1/passkey-sign-in/options', { method: 'POST' });
    const options = await asked.json();
    if (!asked.ok) throw new Error(options.detail);
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    return navigator.credentials.get({ publicKey });
  };
  const say = error => {
    const refused = error.name === 'NotAllowedError';
    problem.textContent = refused ? 'No passkey was chosen. Try again, or use your password.' : error.message;
    problem.hidden = false;
    button.disabled = false;
  };
  form.addEventListener('submit', event => {
    event.preventDefault();
    problem.hidden = true;
    button.disabled = true;
    answer().then(passkey => {
      form.elements.response.value = JSON.stringify(passkey);
      form.submit();
    }).catch(say);
  });
  form.hidden = !window.PublicKeyCredential?.parseRequestOptionsFromJSON || location.origin !== form.dataset.origin;
}
`;

/** This is a link, because the page's policy does not let a form lead to another origin. */
function singleSignOn(provider: string, next: string): Html {
  const query = next === '' ? '' : `?continue=${encodeURIComponent(next)}`;
  return html`<a class="button" href="/dashboard/sign-in/oidc${query}">Sign in with <bdi>${provider}</bdi></a>
<p class="or soft small">or with your password</p>`;
}

export const NEW_PASSWORD = html`<div><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="15" maxlength="1000"
 aria-describedby="password-hint" required>
<p id="password-hint" class="soft small">At least 15 characters. A few unrelated words make a good one.</p></div>`;

/** What a role means to somebody who has not seen the service yet. */
const ROLE_WORDS: Record<Role, string> = {
  user: ': you can use agents and MCP clients with this service, and see what they do in your name',
  viewer: ': you see everything and change nothing',
  approver: ': you see everything and answer approvals',
  admin: ': you may do everything',
};

interface JoinPage {
  token: string;
  email: string;
  role: Role;
  complaint: Complaint | null;
}

export function joinPage({ token, email, role, complaint }: JoinPage): Response {
  return formPage(
    'Choose your password',
    complaint,
    html`<p class="soft">You sign in as <b>${named(email)}</b>, in the role ${role}${ROLE_WORDS[role]}. This link works once.</p>
<form method="post" action="/dashboard/join">
${NEW_PASSWORD}
<input type="hidden" name="token" value="${token}">
${problem(complaint)}
<div class="row"><button>Set the password and sign in</button></div>
</form>`,
  );
}

/** A page with an error and no form. `then` says where to go on. */
export function refusedPage(
  heading: string,
  { status, message }: Complaint,
  then: Html | null = null,
): Response {
  return page({
    title: `${heading} · Toolgate`,
    status,
    headers: HEADERS,
    body: card(heading, html`<p class="soft">${message}</p>${then}`),
  });
}

export function formPage(
  heading: string,
  complaint: Complaint | null,
  body: Html,
  { script, formsLeadAway }: Pick<PageParts, 'script' | 'formsLeadAway'> = {},
): Response {
  const wait = complaint?.retryAfter;
  return page({
    title: `${heading} · Toolgate`,
    style: STYLE,
    ...(script === undefined ? {} : { script, connects: true }),
    ...(formsLeadAway && { formsLeadAway }),
    status: complaint?.status ?? 200,
    headers: wait === undefined ? HEADERS : { ...HEADERS, 'Retry-After': String(wait) },
    body: card(heading, body),
  });
}

export function problem(complaint: Complaint | null): Html | null {
  return complaint === null ? null : html`<p class="notice problem" role="alert">${complaint.message}</p>`;
}
