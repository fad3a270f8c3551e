// The secrets of a tool server: the headers that are sent to it, and how we sign in. Both are encrypted for the source to
// which they belong.

import { GuardError } from '../../core/errors.ts';
import type { ToolSource } from '../../store/tool-servers.ts';
import type { Vault } from '../secrets.ts';

/** How we sign in to a server that wants OAuth. */
export interface OAuthSettings {
  /** Whether an admin signs in once for the key, or everybody for themselves. */
  as: 'key' | 'person';
  /** A client that was made at the server beforehand. */
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  /** All scopes to ask for; otherwise the server says which. */
  scopes?: string[] | undefined;
  /** Hosts besides the issuer's own on which endpoints of its authorization server may be. */
  trustedHosts?: string[] | undefined;
}

export function encryptHeaders(
  vault: Vault,
  id: string,
  headers: Record<string, string> | null,
): string | null {
  return headers === null ? null : vault.encrypt(JSON.stringify(headers), about(id));
}

export function decryptHeaders(
  vault: Vault,
  { sourceId, headersEncrypted }: Pick<ToolSource, 'sourceId' | 'headersEncrypted'>,
): Record<string, string> {
  return headersEncrypted === null ? {} : JSON.parse(vault.decrypt(headersEncrypted, about(sourceId)));
}

export function encryptOAuth(
  vault: Vault,
  id: string,
  oauth: OAuthSettings | null,
): Pick<ToolSource, 'oauthEncrypted' | 'oauthAs'> {
  if (oauth === null) return { oauthEncrypted: null, oauthAs: null };
  return { oauthEncrypted: vault.encrypt(JSON.stringify(oauth), aboutOAuth(id)), oauthAs: oauth.as };
}

/** How we sign in to the server. It throws for one that wants no OAuth. */
export function decryptOAuth(
  vault: Vault,
  { sourceId, oauthEncrypted }: Pick<ToolSource, 'sourceId' | 'oauthEncrypted'>,
): OAuthSettings {
  if (oauthEncrypted === null) throw new GuardError('conflict', 'This Connected Tool does not use OAuth.');
  return JSON.parse(vault.decrypt(oauthEncrypted, aboutOAuth(sourceId)));
}

const about = (id: string): string => `connected tool ${id} headers`;
const aboutOAuth = (id: string): string => `connected tool ${id} oauth`;
