// The pages on which people sign in and accept an invitation: plain forms that need no script and show errors in place.
// They are pure functions; sign-in.ts checks the input.

import { card, type Html, html, named, page } from './page.ts';

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
  /** No admin can sign in yet. */
  setupIsOpen: boolean;
  complaint: Complaint | null;
}

const SET_UP_FIRST = html`<p class="notice">No admin can sign in yet. To create the first one, open the set-up link that
the service printed when it started. If you do not have it, restart the service: it then prints a new one.</p>`;

export function signInPage(given: SignInPage): Response {
  const { email, next, provider, setupIsOpen, complaint } = given;
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
</form>`,
  );
}

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

interface JoinPage {
  token: string;
  email: string;
  role: string;
  complaint: Complaint | null;
}

export function joinPage({ token, email, role, complaint }: JoinPage): Response {
  return formPage(
    'Choose your password',
    complaint,
    html`<p class="soft">You sign in as <b>${named(email)}</b>, in the role ${role}. This link works once.</p>
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

export function formPage(heading: string, complaint: Complaint | null, body: Html): Response {
  const wait = complaint?.retryAfter;
  return page({
    title: `${heading} · Toolgate`,
    style: STYLE,
    status: complaint?.status ?? 200,
    headers: wait === undefined ? HEADERS : { ...HEADERS, 'Retry-After': String(wait) },
    body: card(heading, body),
  });
}

export function problem(complaint: Complaint | null): Html | null {
  return complaint === null ? null : html`<p class="notice problem" role="alert">${complaint.message}</p>`;
}
