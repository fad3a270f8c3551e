// Where the endpoints of an authorization server may be, and whether a tool server still names the same one. A hostile tool
// server can bring an issuer of its own whose metadata sends people to the authorization page of another service, and
// their codes to itself (mix-up, RFC 9700, section 4.4). docs/decisions/0021-sign-ins-to-servers.md says what each check
// is for, and what is left.

import type { ToolSource } from '../../store/tool-servers.ts';
import { unusable } from './requests.ts';

/** What is used of an authorization server's metadata, checked. It is kept with the tokens that come from there. */
export type Server = {
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  registration_endpoint?: string;
  revocation_endpoint?: string;
  token_endpoint_auth_methods_supported?: string[];
  scopes_supported?: string[];
  authorization_response_iss_parameter_supported?: boolean;
  client_id_metadata_document_supported?: boolean;
};

/** Issuers whose endpoints are known to be on another host as well. */
const KNOWN: Record<string, readonly string[]> = { 'https://accounts.google.com': ['oauth2.googleapis.com'] };

/** Throws unless the endpoint is on the issuer's own host, or on one that an admin trusts. */
export function requireOwnHost(
  issuer: URL,
  endpoint: string,
  what: string,
  trusted: readonly string[],
): void {
  const url = new URL(endpoint);
  const others = [...(KNOWN[issuer.href.replace(/\/$/, '')] ?? []), ...trusted];
  if (isSameHost(issuer, url) || others.includes(url.host)) return;
  throw unusable(
    `Its authorization server ${issuer.host} names ${what} on another host, ${url.host}. If both belong together, an admin can enter ${url.host} as a trusted host of this Connected Tool.`,
  );
}

/** The same host, or one of them is below the other: `mcp.example.com` and `auth.mcp.example.com`. */
export function isSameHost(a: URL, b: URL): boolean {
  if (a.protocol !== b.protocol || a.port !== b.port) return false;
  return a.hostname === b.hostname || isBelow(a.hostname, b.hostname) || isBelow(b.hostname, a.hostname);
}

const isBelow = (host: string, above: string): boolean => above.includes('.') && host.endsWith(`.${above}`);

/** What is remembered of the authorization server of the first sign-in. */
export function pinOf({ issuer, authorization_endpoint, token_endpoint }: Server): string {
  return JSON.stringify({ issuer, authorization_endpoint, token_endpoint });
}

/** A sentence if somebody has signed in with another authorization server than this one before; else null. */
export function changeOf({ authorizationServer: pinned }: ToolSource, server: Server): string | null {
  if (pinned === null || pinned === pinOf(server)) return null;
  const before = JSON.parse(pinned) as Pick<Server, 'issuer'>;
  return before.issuer === server.issuer
    ? `It now names other endpoints of its authorization server ${server.issuer} than at the first sign-in.`
    : `It now names another authorization server, ${server.issuer}, than at the first sign-in, ${before.issuer}.`;
}

/** Throws if it is another one. */
export function requirePinned(tool: ToolSource, server: Server): void {
  const change = changeOf(tool, server);
  if (change === null) return;
  throw unusable(
    `${change} If that is right, an admin can edit this Connected Tool and enter its sign-in again.`,
  );
}
