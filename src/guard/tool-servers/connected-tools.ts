// Connected Tools: the MCP servers of a key, registered by operators. One carries its own definition, or names a tool server
// that keys share. Nobody can set a stdio command through here: only the name of one that is declared in the server file.

import { GuardError } from '../../core/errors.ts';
import {
  type ConnectedTool,
  findConnectedTool,
  insertConnectedTool,
  removeConnectedTool,
} from '../../store/connected-tools.ts';
import { type Locks, type Transaction, UniqueViolation } from '../../store/engine/db.ts';
import { findKey } from '../../store/keys.ts';
import { findToolServer } from '../../store/tool-servers.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { giveHint } from '../hints.ts';
import { newId } from '../ids.ts';
import { noSuchKey } from '../keys.ts';
import { keyLock, toolServerLock } from '../locks.ts';
import type { TargetRules } from '../outgoing/addresses.ts';
import { addLink, unknownServer } from './links.ts';
import { newSource, type SourceInput } from './source-fields.ts';

export async function connectTool(
  deps: Deps,
  actor: Actor,
  rules: TargetRules,
  keyId: string,
  input: SourceInput,
): Promise<ConnectedTool> {
  const id = newId();
  const tool: ConnectedTool = { ...(await newSource(deps, rules, id, input)), keyId, toolServerId: null };
  return connected(deps, keyId, tool.name, {}, async tx => {
    await insertConnectedTool(tx, tool);
    await recordChange(tx, deps, actor, 'connected-tool.create', id, { keyId, name: tool.name });
    return tool;
  });
}

/** Gives a key a tool server that keys share, under this name or the server's own. */
export async function connectServer(
  deps: Deps,
  actor: Actor,
  keyId: string,
  { toolServerId, name }: { toolServerId: string; name?: string | undefined },
): Promise<ConnectedTool> {
  const server = await findToolServer(deps.db, toolServerId);
  if (server === null) throw unknownServer('/toolServerId');
  return connected(deps, keyId, name ?? server.name, { shared: [toolServerLock(toolServerId)] }, tx =>
    addLink(tx, deps, actor, { keyId, toolServerId, name }),
  );
}

async function connected(
  deps: Deps,
  keyId: string,
  name: string,
  locks: Locks,
  insert: (tx: Transaction) => Promise<ConnectedTool>,
): Promise<ConnectedTool> {
  try {
    const tool = await deps.db.transaction(locks, async tx => {
      if ((await findKey(tx, keyId)) === null) throw noSuchKey();
      return insert(tx);
    });
    giveHint(deps.db, 'tools', keyId);
    return tool;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw nameTaken(name);
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
