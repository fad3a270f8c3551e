// A person connects a client to a key, by the way that clients go: registration, consent, code, tokens.

import {
  asking,
  authorize,
  consent,
  exchange,
  fieldsOf,
  REDIRECT,
  register,
  sentBack,
} from '../oauth/connect.ts';
import type { TestService } from '../support/service.ts';
import { type Person, send } from './people.ts';

interface Connected {
  /** Of the session. */
  id: string;
  clientId: string;
  /** The access token. */
  token: string;
}

/** A code that can be exchanged for tokens. */
export async function codeFor(
  service: TestService,
  person: Person,
  keyId: string,
  clientName = 'Some Client',
): Promise<{ code: string; clientId: string }> {
  const registered = await register(service, { client_name: clientName, redirect_uris: [REDIRECT] });
  const clientId = registered.body.client_id;
  const page = await authorize(service, asking(clientId), person.cookie);
  const fields = { ...fieldsOf(page), key: keyId, answer: 'connect' };
  const { code = '' } = sentBack(await consent(service, person.cookie, fields));
  return { code, clientId };
}

export async function connected(
  service: TestService,
  person: Person,
  keyId: string,
  clientName?: string,
): Promise<Connected> {
  const { code, clientId } = await codeFor(service, person, keyId, clientName);
  const { body, text } = await exchange(service, clientId, code);
  if (body.access_token === undefined) throw new Error(`no tokens: ${text}`);
  const { connections } = (await send(service, 'GET', '/admin/v1/me/connections?limit=1', person)).body;
  return { id: connections[0].id, clientId, token: body.access_token };
}
