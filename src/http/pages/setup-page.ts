// The page behind the one-time link, which creates the first operator: a plain form that needs no script. setup.ts
// checks the input.

import { html } from '../serving/page.ts';
import { type Complaint, formPage, NEW_PASSWORD, problem, refusedPage } from './sign-in-page.ts';

interface SetupPage {
  token: string;
  email: string;
  complaint: Complaint | null;
}

export function setupPage({ token, email, complaint }: SetupPage): Response {
  return formPage(
    'Create the first operator',
    complaint,
    html`<p class="soft">Operators sign in to the dashboard, decide on approvals and manage keys and policies. The first one may
do everything, and can invite others. This link works once.</p>
<form method="post" action="/dashboard/setup">
<div><label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="320" value="${email}" required></div>
${NEW_PASSWORD}
<input type="hidden" name="token" value="${token}">
${problem(complaint)}
<div class="row"><button>Create operator</button></div>
</form>`,
  );
}

/** The link does not work. */
export function setupGonePage(complaint: Complaint): Response {
  const then = html`<p class="small"><a href="/dashboard">Go to the dashboard</a></p>`;
  return refusedPage('This set-up link does not work', complaint, then);
}
