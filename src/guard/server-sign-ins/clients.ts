// Which OAuth client we are at an authorization server: the one that an admin entered, else our metadata document, else
// one that the server registers. A client belongs to the authorization server for which it was made: if the tool server
// names another one, a registered client is made anew, and an entered one is refused.

import type * as OAuth from 'oauth4webapi';
import {
  countServerClients,
  findServerClient,
  putServerClient,
  removeServerClient,
  removeServerClients,
} from '../../store/server-sign-ins.ts';
import type { ToolSource } from '../../store/tool-servers.ts';
import type { Deps } from '../deps.ts';
import type { OAuthSettings } from '../tool-servers/source-secrets.ts';
import type { Server } from './endpoints.ts';
import { readObject, type Step, Unanswered, unusable } from './requests.ts';

const METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const;
type Method = (typeof METHODS)[number];

export interface Client {
  id: string;
  secret: string | null;
  method: Method;
}

interface KeptClient extends Client {
  /** An admin entered it. */
  entered: boolean;
  redirectUri: string;
  /** When the secret ends; null if it does not. */
  until: number | null;
}

const MAX_ID = 2048;
const MAX_CLIENTS = 20;
const about = (toolId: string, issuer: string): string => `server client ${toolId} ${issuer}`;

/** The addresses under which servers know us. */
export interface Addresses {
  redirectUri: string;
  /** The address of the tool's metadata document. */
  document: string;
}

export async function clientFor(
  deps: Deps,
  library: typeof OAuth,
  step: Step,
  tool: ToolSource,
  { clientId, clientSecret }: OAuthSettings,
  server: Server,
  { redirectUri, document }: Addresses,
): Promise<Client> {
  const kept = await keptClient(deps, tool.sourceId, server.issuer);
  if (clientId !== undefined) {
    const entered = clientOf(server, clientId, clientSecret ?? null, null);
    if (kept === null) await requireNoOther(deps, tool.sourceId);
    if (kept?.id !== clientId)
      await keep(deps, tool.sourceId, server.issuer, { ...entered, entered: true, redirectUri, until: null });
    return entered;
  }
  if (server.client_id_metadata_document_supported === true && document.startsWith('https:'))
    return { id: document, secret: null, method: 'none' };
  const usable =
    kept !== null &&
    !kept.entered &&
    kept.redirectUri === redirectUri &&
    (kept.until === null || deps.now() < kept.until);
  if (usable) return { id: kept.id, secret: kept.secret, method: kept.method };
  return register(deps, library, step, tool, server, redirectUri);
}

/**
 * The server does not know the client any more, so the next sign-in registers another one. An entered client stays bound
 * to its server.
 */
export async function forgetClient(deps: Deps, toolId: string, issuer: string): Promise<void> {
  const kept = await keptClient(deps, toolId, issuer);
  if (kept?.entered === false) await removeServerClient(deps.db, toolId, issuer);
}

async function keptClient(deps: Deps, toolId: string, issuer: string): Promise<KeptClient | null> {
  const encrypted = await findServerClient(deps.db, toolId, issuer);
  return encrypted === null ? null : JSON.parse(deps.vault.decrypt(encrypted, about(toolId, issuer)));
}

function keep(deps: Deps, toolId: string, issuer: string, client: KeptClient): Promise<void> {
  const clientEncrypted = deps.vault.encrypt(JSON.stringify(client), about(toolId, issuer));
  return putServerClient(deps.db, { toolId, issuer, clientEncrypted }, deps.now());
}

/** An entered client is bound to the first authorization server that it is used with: its secret goes nowhere else. */
async function requireNoOther(deps: Deps, toolId: string): Promise<void> {
  if ((await countServerClients(deps.db, toolId)) === 0) return;
  throw unusable(
    'It now names another authorization server than the one for which the client was entered. If that is right, enter the client again.',
  );
}

/** Uses the method for which the client was registered, or else one that the server supports; the default is basic. */
function clientOf(server: Server, id: string, secret: string | null, registered: unknown): Client {
  const { token_endpoint_auth_methods_supported: supported = ['client_secret_basic'] } = server;
  if (secret === null) return { id, secret, method: 'none' };
  const method =
    METHODS.find(each => each === registered) ??
    METHODS.find(each => supported.includes(each)) ??
    'client_secret_basic';
  return method === 'none' ? { id, secret: null, method } : { id, secret, method };
}

async function register(
  deps: Deps,
  library: typeof OAuth,
  step: Step,
  { sourceId: toolId }: ToolSource,
  server: Server,
  redirectUri: string,
): Promise<Client> {
  if (server.registration_endpoint === undefined) throw noRegistration();
  const { token_endpoint_auth_methods_supported: supported = ['client_secret_basic'] } = server;
  const metadata = {
    ...clientMetadata(redirectUri),
    token_endpoint_auth_method: METHODS.find(each => supported.includes(each)) ?? 'client_secret_basic',
  };
  const response = await library.dynamicClientRegistrationRequest(
    server as OAuth.AuthorizationServer,
    metadata,
    {
      [library.customFetch]: (url, init) => step.send(url, init as never),
      // step.send has checked the address.
      [library.allowInsecureRequests]: true,
    },
  );
  if (response.status >= 500)
    throw new Unanswered(`${new URL(server.issuer).host} cannot register us now.`, true);
  const said = (await readObject(response)) ?? {};
  const { client_id: id, client_secret: secret, client_secret_expires_at: until } = said;
  if (response.status >= 400 || typeof id !== 'string' || id === '' || id.length > MAX_ID)
    throw noRegistration();
  const client = clientOf(
    server,
    id,
    typeof secret === 'string' && secret !== '' ? secret : null,
    said['token_endpoint_auth_method'],
  );
  // A server that names another authorization server each time must not fill the store.
  if ((await countServerClients(deps.db, toolId)) >= MAX_CLIENTS) await removeServerClients(deps.db, toolId);
  await keep(deps, toolId, server.issuer, {
    ...client,
    entered: false,
    redirectUri,
    until: typeof until === 'number' && until > 0 ? until * 1000 : null,
  });
  return client;
}

/** What we say about ourselves, in a registration and in our metadata document. */
export function clientMetadata(redirectUri: string) {
  const { protocol, origin } = new URL(redirectUri);
  return {
    client_name: 'Toolgate',
    client_uri: origin,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    // The redirect of a web application must have https.
    application_type: protocol === 'https:' ? 'web' : 'native',
  };
}

function noRegistration() {
  return unusable('This server registers no clients: enter the id of an own app.');
}

/**
 * How the client authenticates at the token endpoint. Id and secret are encoded as RFC 6749 says, but characters that
 * need no encoding stay as they are, because many servers do not decode them.
 */
export function authentication(library: typeof OAuth, { secret, method }: Client): OAuth.ClientAuth {
  if (secret === null || method === 'none') return library.None();
  if (method === 'client_secret_post') return library.ClientSecretPost(secret);
  return (_, client, __, headers) => {
    const pair = `${encodeURIComponent(client.client_id)}:${encodeURIComponent(secret)}`;
    headers.set('authorization', `Basic ${btoa(pair)}`);
  };
}
