// Connected Tools that name a tool server, which several keys share. Whoever makes one shares the lock of the server, so
// that the server is not removed meanwhile.

import { invalidInput } from '../../core/errors.ts';
import { type ConnectedTool, insertLink } from '../../store/connected-tools.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { findToolServer } from '../../store/tool-servers.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { newId } from '../ids.ts';

interface Link {
  keyId: string;
  toolServerId: string;
  /** Without it, the name of the server. */
  name?: string | undefined;
}

/** Gives a key a tool server. The transaction has the lock of the server; `path` says where the input names it. */
export async function addLink(
  tx: Transaction,
  deps: Deps,
  actor: Actor,
  { keyId, toolServerId, name: wanted }: Link,
  path = '/toolServerId',
): Promise<ConnectedTool> {
  const server = await findToolServer(tx, toolServerId);
  if (server === null) throw unknownServer(path);
  const name = wanted ?? server.name;
  const id = newId();
  const createdAt = deps.now();
  await insertLink(tx, { id, keyId, name, toolServerId, createdAt });
  await recordChange(tx, deps, actor, 'connected-tool.create', id, { keyId, name, toolServerId });
  return { ...server, id, keyId, name, createdAt };
}

export function unknownServer(path: string) {
  return invalidInput([{ path, message: 'there is no tool server with this id' }]);
}
