// What operators set of a tool server, whether keys share it or one Connected Tool carries it: a new one, and changes in
// place, so that a new address or a new token does not cost the definitions that operators have accepted. What the server
// shows is compared with them as always. Its transport cannot change.

import { invalidInput } from '../../core/errors.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { removeServerClients, removeToolSignIns } from '../../store/server-sign-ins.ts';
import type { ToolSource, TransportKind, Trust } from '../../store/tool-servers.ts';
import type { Deps } from '../deps.ts';
import { requireTarget, type TargetRules } from '../outgoing/addresses.ts';
import {
  decryptHeaders,
  decryptOAuth,
  encryptHeaders,
  encryptOAuth,
  type OAuthSettings,
} from './source-secrets.ts';

export interface SourceInput {
  name: string;
  transport: TransportKind;
  target: string;
  headers: Record<string, string> | null;
  oauth?: OAuthSettings | null;
  trust?: Trust;
}

/** What is left out stays as it is. */
export interface SourceChanges {
  name?: string;
  target?: string;
  /** Null removes them. */
  headers?: Record<string, string> | null;
  /** Null: the server wants no OAuth any more. */
  oauth?: OAuthSettings | null;
  trust?: Trust;
}

/** All of a new source except for who has it. Secrets are encrypted for this id. */
export async function newSource(
  deps: Deps,
  rules: TargetRules,
  id: string,
  { headers, oauth = null, trust = 'first', ...rest }: SourceInput,
): Promise<Omit<ToolSource, 'keyId' | 'toolServerId'>> {
  await requireReachable(rest, rules);
  return {
    ...rest,
    id,
    sourceId: id,
    trust,
    headersEncrypted: encryptHeaders(deps.vault, id, headers),
    ...encryptOAuth(deps.vault, id, oauth),
    authorizationServer: null,
    createdAt: deps.now(),
    updatedAt: null,
  };
}

/** The name of a command is no address. */
export async function requireReachable(
  { transport, target }: { transport: TransportKind; target: string | undefined },
  rules: TargetRules,
): Promise<void> {
  if (transport !== 'stdio' && target !== undefined) await requireTarget(target, rules);
}

export function changedSource<Source extends ToolSource>(
  deps: Deps,
  before: Source,
  changes: SourceChanges,
): Source {
  const { sourceId: id, updatedAt } = before;
  const { name = before.name, target = before.target, trust = before.trust, headers } = changes;
  const oauth = withSecret(deps, before, changes.oauth);
  const after: Source = {
    ...before,
    name,
    target,
    trust,
    ...(headers !== undefined && { headersEncrypted: encryptHeaders(deps.vault, id, headers) }),
    ...(oauth !== undefined && encryptOAuth(deps.vault, id, oauth)),
    // A new sign-in or address may come with another authorization server, so the one that was pinned is forgotten.
    ...((oauth !== undefined || target !== before.target) && { authorizationServer: null }),
    // Replicas open their connections anew when this has changed, so it grows even if the clock has not moved.
    updatedAt: Math.max(deps.now(), (updatedAt ?? 0) + 1),
  };
  const names = Object.keys(decryptHeaders(deps.vault, after));
  if (after.oauthAs !== null && names.some(each => each.toLowerCase() === 'authorization'))
    throw invalidInput([{ path: '/headers', message: AUTHORIZATION_IS_OURS }]);
  return after;
}

/** Removes the sign-ins and our clients that are not for the source as it is now. */
export async function endStaleSignIns(
  tx: Transaction,
  deps: Deps,
  { before, after, changes }: { before: ToolSource; after: ToolSource; changes: SourceChanges },
): Promise<void> {
  if (endsSignIns(deps, before, after)) await removeToolSignIns(tx, after.sourceId);
  if (entersClient(deps, before, after, changes)) await removeServerClients(tx, after.sourceId);
}

/** The secret is never shown, so whoever leaves it out, for the same client, keeps it. */
function withSecret(
  { vault }: Deps,
  before: ToolSource,
  oauth: OAuthSettings | null | undefined,
): OAuthSettings | null | undefined {
  if (!oauth || oauth.clientSecret !== undefined || before.oauthAs === null) return oauth;
  const { clientId, clientSecret } = decryptOAuth(vault, before);
  return clientSecret !== undefined && clientId === oauth.clientId ? { ...oauth, clientSecret } : oauth;
}

const AUTHORIZATION_IS_OURS = 'must not have Authorization, which the sign-in sets';

/** Tokens are for one server, and were given to one client for one owner: none of them may reach another. */
function endsSignIns({ vault }: Deps, before: ToolSource, after: ToolSource): boolean {
  if (before.oauthAs === null) return false;
  if (after.oauthAs !== before.oauthAs || after.target !== before.target) return true;
  return decryptOAuth(vault, before).clientId !== decryptOAuth(vault, after).clientId;
}

/**
 * Our clients at authorization servers are for the entered client, which goes to no other server than its first one until
 * it is entered again. If it has a secret, that has to be entered too.
 */
function entersClient(
  { vault }: Deps,
  before: ToolSource,
  after: ToolSource,
  { oauth }: SourceChanges,
): boolean {
  if (before.oauthAs === null || after.oauthAs === null) return true;
  const { clientId, clientSecret } = decryptOAuth(vault, after);
  if (clientId !== decryptOAuth(vault, before).clientId) return true;
  return oauth?.clientId !== undefined && (oauth.clientSecret !== undefined || clientSecret === undefined);
}
