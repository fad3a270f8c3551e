// People who sign their approvals with a software authenticator, over HTTP, for tests of proof.

import type { SignedChallenge } from '../../src/guard/people/passkey-responses.ts';
import { newPerson, type Person, send } from '../operators/people.ts';
import { Authenticator } from '../support/authenticator.ts';
import type { Reply, TestService } from '../support/service.ts';

/** The address that the service must have in TOOLGATE_PUBLIC_URL. */
export const ORIGIN = 'https://gate.example';

export interface Signer extends Person {
  passkey: Authenticator;
}

export async function newSigner(service: TestService, groups: string[] = []): Promise<Signer> {
  const person = await newPerson(service, 'approver');
  await service.admin('PATCH', `/operators/${person.id}`, { groups });
  const passkey = new Authenticator(ORIGIN);
  const own = (path: string, body?: unknown) =>
    send(service, 'POST', `/admin/v1/me/passkeys${path}`, person, body);
  const { body: options } = await own('/options');
  const added = await own('', { name: 'key', response: passkey.make(options) });
  if (added.status !== 201) throw new Error(`no passkey: ${added.text}`);
  return { ...person, passkey };
}

export const begin = (service: TestService, referenceId: string, who: Person, action = 'approve') =>
  send(service, 'POST', `/admin/v1/approvals/${referenceId}/proof`, who, { action });

/** The options must have been given out. */
export async function signed(
  service: TestService,
  referenceId: string,
  who: Signer,
): Promise<SignedChallenge> {
  const { body, text } = await begin(service, referenceId, who);
  if (body.options === undefined) throw new Error(`no options: ${text}`);
  return who.passkey.sign(body.options);
}

export const resolve = (
  service: TestService,
  referenceId: string,
  who: Person,
  body: Record<string, unknown>,
): Promise<Reply> => send(service, 'POST', `/admin/v1/approvals/${referenceId}/resolve`, who, body);
