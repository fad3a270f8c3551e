// Changes a Connected Tool in place, so that a new address or a new token does not cost the definitions that operators
// have accepted: what the server shows is compared with them as always. Its transport cannot change.

import { invalidInput } from '../../core/errors.ts';
import { type ConnectedTool, findConnectedTool, updateConnectedTool } from '../../store/connected-tools.ts';
import { UniqueViolation } from '../../store/engine/db.ts';
import { removeServerClients, removeToolSignIns } from '../../store/server-sign-ins.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { giveHint } from '../hints.ts';
import { keyLock } from '../locks.ts';
import { requireTarget, type TargetRules } from '../outgoing/addresses.ts';
import { nameTaken, noSuchTool } from './connected-tools.ts';
import {
  decryptHeaders,
  decryptOAuth,
  encryptHeaders,
  encryptOAuth,
  type OAuthSettings,
} from './source-secrets.ts';

/** What is left out stays as it is. */
export interface ToolChanges {
  name?: string;
  target?: string;
  /** Null removes them. */
  headers?: Record<string, string> | null;
  /** Null: the server wants no OAuth any more. */
  oauth?: OAuthSettings | null;
}

export async function editTool(
  deps: Deps,
  actor: Actor,
  rules: TargetRules,
  keyId: string,
  id: string,
  changes: ToolChanges,
): Promise<ConnectedTool> {
  const known = await findConnectedTool(deps.db, keyId, id);
  if (known === null) throw noSuchTool();
  if (changes.target !== undefined && known.transport !== 'stdio') await requireTarget(changes.target, rules);
  try {
    const edited = await deps.db.transaction({ exclusive: [keyLock(keyId)] }, async tx => {
      const before = await findConnectedTool(tx, keyId, id);
      if (before === null) throw noSuchTool();
      const after = changed(deps, before, changes);
      await updateConnectedTool(tx, after);
      if (endsSignIns(deps, before, after)) await removeToolSignIns(tx, id);
      if (entersClient(deps, before, after, changes)) await removeServerClients(tx, id);
      // What is secret is named and not shown.
      const detail = { keyId, name: after.name, changed: Object.keys(changes) };
      await recordChange(tx, deps, actor, 'connected-tool.update', id, detail);
      return after;
    });
    giveHint(deps.db, 'tools', keyId);
    return edited;
  } catch (error) {
    if (error instanceof UniqueViolation) throw nameTaken(changes.name ?? known.name);
    throw error;
  }
}

function changed(deps: Deps, before: ConnectedTool, changes: ToolChanges): ConnectedTool {
  const { id, updatedAt } = before;
  const { name = before.name, target = before.target, headers } = changes;
  const oauth = withSecret(deps, before, changes.oauth);
  const after: ConnectedTool = {
    ...before,
    name,
    target,
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

/** The secret is never shown, so whoever leaves it out, for the same client, keeps it. */
function withSecret(
  { vault }: Deps,
  before: ConnectedTool,
  oauth: OAuthSettings | null | undefined,
): OAuthSettings | null | undefined {
  if (!oauth || oauth.clientSecret !== undefined || before.oauthAs === null) return oauth;
  const { clientId, clientSecret } = decryptOAuth(vault, before);
  return clientSecret !== undefined && clientId === oauth.clientId ? { ...oauth, clientSecret } : oauth;
}

const AUTHORIZATION_IS_OURS = 'must not have Authorization, which the sign-in sets';

/** Tokens are for one server, and were given to one client for one owner: none of them may reach another. */
function endsSignIns({ vault }: Deps, before: ConnectedTool, after: ConnectedTool): boolean {
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
  before: ConnectedTool,
  after: ConnectedTool,
  { oauth }: ToolChanges,
): boolean {
  if (before.oauthAs === null || after.oauthAs === null) return true;
  const { clientId, clientSecret } = decryptOAuth(vault, after);
  if (clientId !== decryptOAuth(vault, before).clientId) return true;
  return oauth?.clientId !== undefined && (oauth.clientSecret !== undefined || clientSecret === undefined);
}
