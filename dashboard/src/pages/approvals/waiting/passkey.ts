// Lets the person's passkey sign one approval. The service gives out the challenge, which is for this call and this answer.

import { post } from '../../../api.ts';
import type { Approval } from '../../../resources.ts';

/** What the browser signed, as it goes with the answer. It throws a sentence if the person, or the browser, did not. */
export async function sign({ referenceId }: Approval): Promise<object> {
  if (window.PublicKeyCredential?.parseRequestOptionsFromJSON === undefined)
    throw new Error('This browser cannot use passkeys here. Approve the call in another one.');
  const { options } = await post<{ options: PublicKeyCredentialRequestOptionsJSON }>(
    `/approvals/${referenceId}/proof`,
    { action: 'approve' },
  );
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const signed = await navigator.credentials.get({ publicKey }).catch(() => null);
  if (signed === null) throw new Error('No passkey has signed, so nothing was decided. Try again.');
  return (signed as PublicKeyCredential).toJSON();
}
