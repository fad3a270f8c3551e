// What a client asks a person for, and the code that it gets when they agree. The consent page's form carries a value that
// binds it to the sign-in and to the request, so that no other page can send it.

import { isOpenTo } from '../../core/approvals/open-to.ts';
import { GuardError } from '../../core/errors.ts';
import { findKey } from '../../store/keys.ts';
import { insertCode } from '../../store/oauth.ts';
import { type OpenKey, openKeys, personFacts } from '../../store/people.ts';
import { keyLives } from '../credentials.ts';
import type { Deps } from '../deps.ts';
import { keyLock, PEOPLE_LOCK } from '../locks.ts';
import { hashToken, sameText } from '../secrets.ts';
import type { OAuthClient } from './oauth-clients.ts';
import { OAuthError } from './oauth-error.ts';
import { newSecret, type SignedIn } from './sign-ins.ts';

/** The parameters of a request for a code, as the client sent them. */
export interface CodeRequest {
  responseType: string | undefined;
  redirectUri: string;
  state: string | undefined;
  challenge: string | undefined;
  challengeMethod: string | undefined;
  resource: string | undefined;
}

const CODE_MS = 60_000;
/** How long a person may look at the consent page. */
const CONSENT_MS = 60 * 60_000;

/** What is wrong with a request, to be told to the client, or null. `resource` is our own. */
export function requestFault(asked: CodeRequest, resource: string): OAuthError | null {
  if (asked.responseType !== 'code')
    return new OAuthError('unsupported_response_type', 'The response_type must be code.');
  if (asked.challengeMethod !== 'S256')
    return new OAuthError('invalid_request', 'The code_challenge_method must be S256 (PKCE).');
  if (!/^[\w-]{43}$/.test(asked.challenge ?? ''))
    return new OAuthError('invalid_request', 'The code_challenge must be a SHA-256 in base64url (PKCE).');
  return resourceFault(asked.resource, resource);
}

/** A request that names no resource means ours. */
export function resourceFault(asked: string | undefined, resource: string): OAuthError | null {
  if (asked === undefined || asked === '' || sameAddress(asked, resource)) return null;
  return new OAuthError('invalid_target', `Tokens are given only for the resource ${resource}.`);
}

const sameAddress = (a: string, b: string): boolean =>
  a === b || (URL.canParse(a) && new URL(a).href === new URL(b).href);

export async function keysOpenTo({ db, now }: Deps, { operatorId }: SignedIn): Promise<OpenKey[]> {
  const [person] = await personFacts(db, [operatorId]);
  if (person === undefined) return [];
  return (await openKeys(db, now())).filter(key => isOpenTo(key.openTo, person));
}

/** The value that the consent page's form carries. `request` is the whole request. */
export function consentFor({ vault, now }: Deps, { signInId }: SignedIn, request: string): string {
  const until = String(now() + CONSENT_MS);
  return `${until}.${vault.oauthMac('consent', `${until}\n${signInId}\n${request}`)}`;
}

/** Throws unless the form was made for this sign-in and this request, not long ago. */
export function requireConsent(
  { vault, now }: Deps,
  { signInId }: SignedIn,
  request: string,
  given: string,
): void {
  const [until = '', mac = ''] = given.split('.');
  const fits = sameText(mac, vault.oauthMac('consent', `${until}\n${signInId}\n${request}`));
  if (fits && Number(until) > now()) return;
  throw new GuardError(
    'forbidden',
    'This form is too old, or was made for somebody else. Start again in your client.',
  );
}

/**
 * The code for a client that the person agreed to connect to one of their keys. Whether the key is open to them is read
 * again in the transaction, because the document of a client may have taken seconds since they agreed.
 */
export async function giveCode(
  deps: Deps,
  client: OAuthClient,
  { redirectUri, challenge }: CodeRequest,
  person: SignedIn,
  keyId: string,
): Promise<string> {
  // Nobody takes a lock by a name that is no key's.
  if ((await findKey(deps.db, keyId)) === null) throw notOpen();
  const code = newSecret();
  await deps.db.transaction({ shared: [PEOPLE_LOCK, keyLock(keyId)] }, async tx => {
    const now = deps.now();
    const [key, [facts]] = [await findKey(tx, keyId), await personFacts(tx, [person.operatorId])];
    if (key === null || !keyLives(key, now) || facts === undefined || !isOpenTo(key.openTo, facts))
      throw notOpen();
    const record = {
      clientId: client.id,
      clientName: client.name,
      redirectUri,
      personId: person.operatorId,
      keyId,
      challenge: challenge ?? '',
      expiresAt: now + CODE_MS,
      sessionId: null,
    };
    await insertCode(tx, record, hashToken(code));
  });
  return code;
}

function notOpen(): GuardError {
  return new GuardError('forbidden', 'This key is not open to you. Nothing was connected.');
}
