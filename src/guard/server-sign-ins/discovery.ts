// Finds out how to sign in to a tool server: from its own challenge, its protected-resource metadata (RFC 9728), and the
// metadata of the authorization server that it names (RFC 8414, OpenID Connect Discovery). Servers of the revision
// 2025-03-26 have no protected-resource metadata: there the server itself is the authorization server.

import type * as OAuth from 'oauth4webapi';
import type { ToolSource } from '../../store/tool-servers.ts';
import { type Challenge, readChallenge, readScopes } from './challenge.ts';
import { requireOwnHost, type Server } from './endpoints.ts';
import { readObject, type Step, unusable } from './requests.ts';

export interface Discovered {
  server: Server;
  /** The server's name for itself, exactly as it is published. */
  resource: string;
  /** The scopes of the challenge, or else those that the metadata names. */
  scopes: string[] | null;
}

type Library = typeof OAuth;

export async function discover(
  library: Library,
  step: Step,
  { target, transport }: ToolSource,
  ownHeaders: Record<string, string>,
  trustedHosts: readonly string[],
): Promise<Discovered> {
  await step.require(target, 'an address');
  const challenge = await challengeOf(step, target, transport, ownHeaders);
  const metadata = await resourceMetadata(step, target, challenge);
  if (metadata === null) {
    const known = await findServer(library, step, new URL(target).origin, trustedHosts);
    if (known === null && !challenge.challenged) throw unusable('It does not ask for a sign-in.');
    const server = known ?? defaultServer(target);
    return { server, resource: withoutFragment(target), scopes: challenge.scopes };
  }
  const { resource, authorization_servers: servers, scopes_supported: supported } = metadata;
  if (typeof resource !== 'string' || !covers(resource, target))
    throw unusable('Its metadata is about another address than the one that is connected.');
  const issuer = Array.isArray(servers) ? servers[0] : new URL(target).origin;
  const asked = await step.require(issuer, 'an authorization server');
  const server = await findServer(library, step, asked, trustedHosts);
  if (server === null) throw unusable('The authorization server that it names has no metadata.');
  return {
    server,
    resource,
    scopes: challenge.scopes ?? (Array.isArray(supported) ? readScopes(supported) : null),
  };
}

/** Asks for the list of tools without a token. Many servers answer `initialize` to everybody. */
async function challengeOf(
  step: Step,
  target: string,
  transport: ToolSource['transport'],
  ownHeaders: Record<string, string>,
): Promise<Challenge & { challenged: boolean }> {
  const version = '2026-07-28';
  const response =
    transport === 'sse'
      ? await step.ask(target, { headers: { ...ownHeaders, Accept: 'text/event-stream' } })
      : await step.ask(target, {
          method: 'POST',
          headers: {
            ...ownHeaders,
            Accept: 'application/json, text/event-stream',
            'Content-Type': 'application/json',
            'MCP-Protocol-Version': version,
            'Mcp-Method': 'tools/list',
          },
          body: JSON.stringify({
            jsonrpc: '2.0',
            id: 1,
            method: 'tools/list',
            params: {
              _meta: {
                'io.modelcontextprotocol/protocolVersion': version,
                'io.modelcontextprotocol/clientCapabilities': {},
              },
            },
          }),
        });
  const challenged = response.status === 401 || response.status === 403;
  return { ...readChallenge(challenged ? response.headers.get('www-authenticate') : null), challenged };
}

async function resourceMetadata(
  step: Step,
  target: string,
  { resourceMetadata: named }: Challenge,
): Promise<Record<string, unknown> | null> {
  if (named !== null) {
    const found = await metadataAt(step, await step.require(named, 'an address of its metadata'));
    if (found === null) throw unusable('Its metadata is not where it says.');
    return found;
  }
  for (const place of wellKnown(new URL(target), 'oauth-protected-resource')) {
    const found = await metadataAt(step, place);
    if (found !== null) return found;
  }
  return null;
}

/** The well-known addresses with the path and without it. */
function wellKnown({ origin, pathname }: URL, name: string): string[] {
  const root = `${origin}/.well-known/${name}`;
  const path = pathname.replace(/\/+$/, '');
  return path === '' ? [root] : [root + path, root];
}

async function metadataAt(step: Step, url: string): Promise<Record<string, unknown> | null> {
  const response = await step.send(url, { headers: { Accept: 'application/json' } });
  if (response.status >= 500) throw unusable(`${new URL(url).host} answered ${response.status}.`);
  return response.status === 200 ? readObject(response) : null;
}

/** Whether a resource's name is about the address: the same origin, and a path above it or its own. */
export function covers(resource: string, target: string): boolean {
  if (!URL.canParse(resource)) return false;
  const [a, b] = [new URL(resource), new URL(target)];
  if (a.origin !== b.origin || a.hash !== '' || (a.search !== '' && a.search !== b.search)) return false;
  const path = a.pathname.endsWith('/') ? a.pathname : `${a.pathname}/`;
  return `${b.pathname}/`.startsWith(path);
}

function withoutFragment(target: string): string {
  return target.split('#')[0] as string;
}

async function findServer(
  library: Library,
  step: Step,
  issuer: string,
  trustedHosts: readonly string[],
): Promise<Server | null> {
  const url = new URL(issuer);
  if (url.search !== '' || url.hash !== '') throw unusable('It names an authorization server with a query.');
  const path = url.pathname.replace(/\/+$/, '');
  const places =
    path === ''
      ? [`/.well-known/oauth-authorization-server`, `/.well-known/openid-configuration`]
      : [
          `/.well-known/oauth-authorization-server${path}`,
          `/.well-known/openid-configuration${path}`,
          `${path}/.well-known/openid-configuration`,
        ];
  for (const place of places) {
    const found = await metadataAt(step, url.origin + place);
    if (found !== null) return checked(library, step, url, found, trustedHosts);
  }
  return null;
}

async function checked(
  library: Library,
  step: Step,
  issuer: URL,
  found: Record<string, unknown>,
  trustedHosts: readonly string[],
): Promise<Server> {
  let said: OAuth.AuthorizationServer;
  try {
    said = await library.processDiscoveryResponse(issuer, Response.json(found));
  } catch {
    throw unusable('The metadata of its authorization server is about another issuer.');
  }
  if (!list(said.code_challenge_methods_supported).includes('S256'))
    throw unusable('Its authorization server does not support PKCE with S256.');
  const endpoint = async (address: unknown, what: string): Promise<string> => {
    const wanted = await step.require(address, what);
    requireOwnHost(issuer, wanted, what, trustedHosts);
    return wanted;
  };
  const server: Server = {
    issuer: said.issuer,
    authorization_endpoint: await endpoint(said.authorization_endpoint, 'an authorization page'),
    token_endpoint: await endpoint(said.token_endpoint, 'a token endpoint'),
  };
  if (said.registration_endpoint !== undefined)
    server.registration_endpoint = await endpoint(said.registration_endpoint, 'a registration endpoint');
  if (said.revocation_endpoint !== undefined)
    server.revocation_endpoint = await endpoint(said.revocation_endpoint, 'a revocation endpoint');
  if (Array.isArray(said.token_endpoint_auth_methods_supported))
    server.token_endpoint_auth_methods_supported = list(said.token_endpoint_auth_methods_supported);
  if (Array.isArray(said.scopes_supported)) server.scopes_supported = readScopes(said.scopes_supported);
  if (said.authorization_response_iss_parameter_supported === true)
    server.authorization_response_iss_parameter_supported = true;
  if (found['client_id_metadata_document_supported'] === true)
    server.client_id_metadata_document_supported = true;
  return server;
}

const list = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter(each => typeof each === 'string').slice(0, 100) : [];

/** What the revision 2025-03-26 says about a server without any metadata. */
function defaultServer(target: string): Server {
  const { origin } = new URL(target);
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
  };
}
