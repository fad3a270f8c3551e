// The clients that may ask people to connect them: those with a document on the web (client-documents.ts), those that
// register themselves, and those that an admin registers. A registration is no row: the client_id itself says what was
// registered and carries a MAC, so strangers cannot fill the store, and repeating a registration gives the same id.

import { GuardError } from '../../core/errors.ts';
import { textFault } from '../../core/text/name.ts';
import {
  activeSessionsOfClient,
  deleteOAuthClient,
  findOAuthClient,
  insertOAuthClient,
  type OAuthClientRecord,
} from '../../store/oauth.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { isId, newId } from '../ids.ts';
import { PEOPLE_LOCK } from '../locks.ts';
import { sameText } from '../secrets.ts';
import { type ClientDocuments, isDocumentUrl } from './client-documents.ts';
import { OAuthError } from './oauth-error.ts';
import { endOAuthSession } from './oauth-tokens.ts';
import { isOnHostOf, isOpenRedirect, redirectFault, sameRedirect } from './redirects.ts';
import type { SignedIn } from './sign-ins.ts';

export interface OAuthClient {
  id: string;
  /** How the client calls itself. */
  name: string;
  redirectUris: readonly string[];
  /** Who vouches for it: the host of its document, nobody, or an admin. */
  from: 'document' | 'registration' | 'admin';
}

const MAX_NAME = 100;
const MAX_REDIRECTS = 10;
/** The client_id travels in addresses. */
const MAX_REGISTERED_CHARS = 2000;
const PREFIX = 'tgc_';
const REGISTERED = /^tgc_([\w-]{1,3000})\.([\w-]{43})$/;

/** The client_id for what a client says about itself. `listed` are the addresses of the settings. */
export function registerClient(
  { vault }: Deps,
  said: { name: string | undefined; redirectUris: readonly string[] },
  listed: readonly string[],
): OAuthClient {
  const redirectUris = [...new Set(said.redirectUris)];
  if (redirectUris.length === 0 || redirectUris.length > MAX_REDIRECTS)
    throw new OAuthError('invalid_redirect_uri', `redirect_uris must list 1 to ${MAX_REDIRECTS} addresses.`);
  redirectUris.forEach((uri, at) => {
    const fault = redirectFault(uri);
    if (fault !== null) throw new OAuthError('invalid_redirect_uri', `redirect_uris[${at}] ${fault}.`);
    if (isOpenRedirect(uri, listed)) return;
    throw new OAuthError(
      'invalid_redirect_uri',
      `redirect_uris[${at}] is not an address that clients may register here. An admin can add it to TOOLGATE_OAUTH_REDIRECTS.`,
    );
  });
  const name = readableName(said.name ?? '');
  const text = JSON.stringify([name, ...redirectUris]);
  if (text.length > MAX_REGISTERED_CHARS)
    throw new OAuthError('invalid_client_metadata', 'The name and the addresses are too long together.');
  const written = Buffer.from(text).toString('base64url');
  const id = `${PREFIX}${written}.${vault.oauthMac('client', written)}`;
  return { id, name, redirectUris, from: 'registration' };
}

/** A name that can be stored and shown: one line, not too long. */
function readableName(name: string): string {
  if (textFault(name, 1, MAX_NAME) === null) return name;
  const clean = [
    ...name
      .toWellFormed()
      .replace(/\p{Cc}+/gu, ' ')
      .trim(),
  ]
    .slice(0, MAX_NAME)
    .join('');
  return clean === '' ? 'a client without a name' : clean;
}

/** The client with an id. Throws a GuardError for people if there is none. Without a person, no document is fetched. */
export async function requireClient(
  deps: Deps,
  documents: ClientDocuments,
  id: string,
  person: SignedIn | null,
): Promise<OAuthClient> {
  if (person !== null && isDocumentUrl(id)) {
    const { name, redirectUris } = await documents.find(id, person.operatorId);
    return { id, name: readableName(name), redirectUris, from: 'document' };
  }
  const client = isId(id) ? await adminsClient(deps, id) : registeredClient(deps, id);
  if (client === null)
    throw new GuardError(
      'invalid_input',
      'No client with this client_id is known here. Remove the connection in your client, then add it again.',
    );
  return client;
}

async function adminsClient({ db }: Deps, id: string): Promise<OAuthClient | null> {
  const found = await findOAuthClient(db, id);
  return found && { id, name: found.name, redirectUris: found.redirectUris, from: 'admin' };
}

function registeredClient({ vault }: Deps, id: string): OAuthClient | null {
  const [, written = '', mac = ''] = REGISTERED.exec(id) ?? [];
  if (written === '' || !sameText(mac, vault.oauthMac('client', written))) return null;
  const [name = '', ...redirectUris] = JSON.parse(Buffer.from(written, 'base64url').toString()) as string[];
  return { id, name, redirectUris, from: 'registration' };
}

/** Whether a client may be sent to an address: it has registered it, and the settings still allow it. */
export function mayRedirect(client: OAuthClient, uri: string, listed: readonly string[]): boolean {
  if (redirectFault(uri) !== null || !client.redirectUris.some(each => sameRedirect(each, uri))) return false;
  if (client.from === 'admin' || isOpenRedirect(uri, listed)) return true;
  return client.from === 'document' && isOnHostOf(client.id, uri);
}

export async function createOAuthClient(
  deps: Deps,
  actor: Actor,
  { name, redirectUris }: Pick<OAuthClientRecord, 'name' | 'redirectUris'>,
): Promise<OAuthClientRecord> {
  const client = { id: newId(), name, redirectUris: [...new Set(redirectUris)], createdAt: deps.now() };
  await deps.db.transaction({}, async tx => {
    await insertOAuthClient(tx, client);
    await recordChange(tx, deps, actor, 'oauth-client.create', client.id, {
      name,
      redirectUris: client.redirectUris,
    });
  });
  return client;
}

const ENDED_AT_ONCE = 100;

/** Also ends what people have connected with it. With the lock, nobody can be connecting it meanwhile. */
export async function removeOAuthClient(deps: Deps, actor: Actor, id: string): Promise<void> {
  await deps.db.transaction({ exclusive: [PEOPLE_LOCK] }, async tx => {
    const client = await findOAuthClient(tx, id);
    if (client === null || !(await deleteOAuthClient(tx, id)))
      throw new GuardError('not_found', 'There is no OAuth client with this id.');
    await recordChange(tx, deps, actor, 'oauth-client.delete', id, { name: client.name });
  });
  for (;;) {
    const sessions = await activeSessionsOfClient(deps.db, id, deps.now(), ENDED_AT_ONCE);
    for (const sessionId of sessions)
      await endOAuthSession(deps, actor, sessionId, 'Its OAuth client was removed.');
    if (sessions.length < ENDED_AT_ONCE) return;
  }
}
