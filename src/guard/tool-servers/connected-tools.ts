// Connected Tools: the MCP servers of a key, registered by operators. Nobody can set a stdio command through here: a
// Connected Tool can only name one that is declared in the server file. Credentials are encrypted.

import { GuardError } from '../../core/errors.ts';
import {
  type ConnectedTool,
  findConnectedTool,
  insertConnectedTool,
  removeConnectedTool,
} from '../../store/connected-tools.ts';
import { UniqueViolation } from '../../store/engine/db.ts';
import { findKey } from '../../store/keys.ts';
import type { TransportKind, Trust } from '../../store/tool-servers.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { giveHint } from '../hints.ts';
import { newId } from '../ids.ts';
import { noSuchKey } from '../keys.ts';
import { keyLock } from '../locks.ts';
import { requireTarget, type TargetRules } from '../outgoing/addresses.ts';
import { encryptHeaders, encryptOAuth, type OAuthSettings } from './source-secrets.ts';

interface ConnectedToolInput {
  name: string;
  transport: TransportKind;
  target: string;
  headers: Record<string, string> | null;
  oauth?: OAuthSettings | null;
  trust?: Trust;
}

export async function connectTool(
  deps: Deps,
  actor: Actor,
  rules: TargetRules,
  keyId: string,
  input: ConnectedToolInput,
): Promise<ConnectedTool> {
  if (input.transport !== 'stdio') await requireTarget(input.target, rules);
  const id = newId();
  const { headers, oauth = null, trust = 'first', ...rest } = input;
  const headersEncrypted = encryptHeaders(deps.vault, id, headers);
  const signIn = encryptOAuth(deps.vault, id, oauth);
  const times = { createdAt: deps.now(), updatedAt: null };
  const tool: ConnectedTool = {
    ...rest,
    id,
    keyId,
    sourceId: id,
    toolServerId: null,
    trust,
    headersEncrypted,
    ...signIn,
    authorizationServer: null,
    ...times,
  };
  try {
    await deps.db.transaction({}, async tx => {
      if ((await findKey(tx, keyId)) === null) throw noSuchKey();
      await insertConnectedTool(tx, tool);
      await recordChange(tx, deps, actor, 'connected-tool.create', id, { keyId, name: tool.name });
    });
    giveHint(deps.db, 'tools', keyId);
    return tool;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw nameTaken(tool.name);
  }
}

export function nameTaken(name: string): GuardError {
  return new GuardError('conflict', `This key has a Connected Tool named "${name}" already.`);
}

export async function disconnectTool(deps: Deps, actor: Actor, keyId: string, id: string): Promise<void> {
  await deps.db.transaction({ exclusive: [keyLock(keyId)] }, async tx => {
    const tool = await findConnectedTool(tx, keyId, id);
    if (tool === null) throw noSuchTool();
    await removeConnectedTool(tx, tool);
    await recordChange(tx, deps, actor, 'connected-tool.delete', id, { keyId, name: tool.name });
  });
  giveHint(deps.db, 'tools', keyId);
}

export function noSuchTool(): GuardError {
  return new GuardError('not_found', 'This key has no Connected Tool with this id.');
}
