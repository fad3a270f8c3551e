// Creates a key that has tool servers from the beginning, in one transaction: either it has all of them, or it is not made.

import { invalidInput } from '../../core/errors.ts';
import type { Queries } from '../../store/engine/db.ts';
import { findToolServerByName, type ToolServer } from '../../store/tool-servers.ts';
import type { Actor, Deps } from '../deps.ts';
import { type CreatedKey, createKey, type KeyInput } from '../keys.ts';
import { toolServerLock } from '../locks.ts';
import { addLink } from './links.ts';

/** `names` are those of tool servers, and of the Connected Tools that the key gets. */
export async function createKeyWith(
  deps: Deps,
  actor: Actor,
  names: readonly string[],
  input: KeyInput,
): Promise<CreatedKey> {
  const servers = await serversNamed(deps.db, names);
  return createKey(deps, actor, input, {
    shared: servers.map(({ id }) => toolServerLock(id)),
    work: async (tx, keyId) => {
      for (const [at, { id: toolServerId, name }] of servers.entries())
        await addLink(tx, deps, actor, { keyId, toolServerId, name }, pathOf(at));
    },
  });
}

const pathOf = (at: number): string => `/toolServers/${at}`;

async function serversNamed(db: Queries, names: readonly string[]): Promise<ToolServer[]> {
  const servers: ToolServer[] = [];
  for (const [at, name] of names.entries()) {
    const server = await findToolServerByName(db, name);
    const message = `there is no tool server named ${JSON.stringify(name)}`;
    if (server === null) throw invalidInput([{ path: pathOf(at), message }]);
    servers.push(server);
  }
  return servers;
}
