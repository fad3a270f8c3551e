// The page behind the one-time link, which creates the first operator. It calls the API and shows its answer; the API
// checks e-mail and password.

import { card, html, page } from './page.ts';

// The script shows the form: without the script, a browser would send the password as a form.
const SCRIPT = `
const form = document.getElementById('setup');
const alertBox = document.getElementById('problem');
const button = form.querySelector('button');
const UNREACHABLE = 'The service did not answer. Check that it runs, then try again.';
const ask = async () => {
  const { token, email, password } = Object.fromEntries(new FormData(form));
  const response = await fetch('/admin/v1/setup', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify({ token, email, password }),
  });
  if (response.ok) return null;
  const problem = await response.json();
  return problem.detail || problem.title;
};
const succeed = () => {
  document.getElementById('who').textContent = form.elements.email.value;
  document.getElementById('begin').hidden = true;
  document.getElementById('done').hidden = false;
  const heading = document.querySelector('h1');
  heading.textContent = 'The operator exists';
  heading.tabIndex = -1;
  heading.focus();
  form.reset();
};
form.addEventListener('submit', async event => {
  event.preventDefault();
  button.disabled = true;
  alertBox.hidden = true;
  const detail = await ask().catch(() => UNREACHABLE);
  button.disabled = false;
  if (detail === null) return succeed();
  alertBox.textContent = detail;
  alertBox.hidden = false;
});
form.hidden = false;
`;

const STYLE = `
#begin, #setup { display: grid; gap: 1.1rem; }
#begin[hidden], #setup[hidden] { display: none; }
#done { overflow-wrap: anywhere; }
h1:focus { outline: none; }
#problem { border-left-color: currentColor; font-weight: 600; }
`;

export function setupPage({ token }: { token: string }): Response {
  return page({
    title: 'Create the first operator · Toolgate',
    style: STYLE,
    script: SCRIPT,
    connects: true,
    body: card(
      'Create the first operator',
      html`<div id="begin">
<p class="soft">Operators sign in to the dashboard, decide on approvals and manage keys and policies. The first one may
do everything, and can invite others.</p>
<noscript><p class="notice">This page needs JavaScript to create the operator. Turn it on and reload, or post
<code>token</code>, <code>email</code> and <code>password</code> as JSON to <code>/admin/v1/setup</code>.</p></noscript>
<form id="setup" method="post" hidden>
<div><label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="320" required></div>
<div><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="15" maxlength="1000"
 aria-describedby="password-hint" required>
<p id="password-hint" class="soft small">At least 15 characters. A few unrelated words make a good one.</p></div>
<input type="hidden" name="token" value="${token}">
<p id="problem" class="notice" role="alert" hidden></p>
<div class="row"><button>Create operator</button></div>
</form>
</div>
<p id="done" hidden>Sign-in is at <a href="/dashboard">/dashboard</a>, as <b id="who"></b>. This link is used up now.</p>`,
    ),
  });
}
