// The part of the approval page that asks for a passkey: the button, the script behind it, and what to do for somebody who
// cannot sign here. The script asks /admin/v1 for a challenge, lets the passkey sign it, and sends the page's form with
// the signature.

import { type Html, html } from '../serving/page.ts';

/** Whether an approval has to be signed with a passkey, and whether this person can do so on this page. */
export type Passkey = 'not needed' | 'ready' | 'missing' | 'impossible here';

/** What the page says about the passkey. */
export function passkeyShown(passkey: Exclude<Passkey, 'not needed'>): Html {
  switch (passkey) {
    case 'ready':
      return html`<p class="soft">This call has to be approved with your passkey, which signs this one answer. A denial needs no passkey.</p>
<p id="passkey-problem" class="notice warning" role="alert" hidden></p>
<noscript><p class="notice">To approve here, allow JavaScript on this page.</p></noscript>`;
    case 'missing':
      return html`<p class="notice">This call has to be approved with a passkey, and you have none. <a href="/dashboard/account">Add one on your account page</a>, then open this link again. You can deny the call without one.</p>`;
    case 'impossible here':
      return html`<p class="notice">This call has to be approved with a passkey, and passkeys do not work at this address. Open the service at its name over https, then approve the call there. You can deny it here.</p>`;
  }
}

/** The button that approves, for somebody who can sign. Its script sends the form. */
export function signButton(passkey: Passkey, referenceId: string): Html | null {
  if (passkey !== 'ready') return null;
  return html`<input type="hidden" name="proof" value="">
<button type="button" id="sign" data-reference="${referenceId}">Approve with passkey</button>`;
}

// The browser's own functions read the options and write the answer. All browsers have them since 2025.
export const SIGN = `
{
  const [form, button] = [document.getElementById('decision'), document.getElementById('sign')];
  const problem = document.getElementById('passkey-problem');
  const options = async () => {
    const answer = await fetch('/admin/v1/approvals/' + button.dataset.reference + '/proof', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"action":"approve"}',
    });
    const { options, detail } = await answer.json();
    if (!answer.ok) throw new Error(detail);
    return options;
  };
  const sign = async () => {
    if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON)
      throw new Error('This browser cannot use passkeys here. Approve the call in another one.');
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await options());
    return navigator.credentials.get({ publicKey });
  };
  const words = {
    NotAllowedError: 'No passkey was used, so nothing was decided. Try again.',
    SecurityError: 'Passkeys do not work at this address. Open the link at the public address of the service.',
  };
  const say = error => {
    problem.textContent = words[error.name] ?? error.message;
    problem.hidden = false;
    button.disabled = false;
  };
  button.addEventListener('click', () => {
    problem.hidden = true;
    button.disabled = true;
    sign().then(signed => {
      form.elements.proof.value = JSON.stringify(signed);
      const action = document.createElement('input');
      Object.assign(action, { type: 'hidden', name: 'action', value: 'approve' });
      form.append(action);
      form.submit();
    }).catch(say);
  });
}
`;
