// Tool servers that several keys share: made, changed and removed by operators. A change takes the lock of the server, which
// every call to it shares, so it holds for all keys from the moment it is answered.

import { GuardError } from '../../core/errors.ts';
import { UniqueViolation } from '../../store/engine/db.ts';
import {
  countKeysOf,
  findToolServer,
  insertToolServer,
  listToolServerUses,
  removeToolServer,
  type ToolServer,
  updateToolServer,
} from '../../store/tool-servers.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { giveHint } from '../hints.ts';
import { newId } from '../ids.ts';
import { toolServerLock } from '../locks.ts';
import type { TargetRules } from '../outgoing/addresses.ts';
import {
  changedSource,
  endStaleSignIns,
  newSource,
  requireReachable,
  type SourceChanges,
  type SourceInput,
} from './source-fields.ts';

export async function makeToolServer(
  deps: Deps,
  actor: Actor,
  rules: TargetRules,
  input: SourceInput,
): Promise<ToolServer> {
  const id = newId();
  const server: ToolServer = { ...(await newSource(deps, rules, id, input)), keyId: null, toolServerId: id };
  await withFreeName(server.name, () =>
    deps.db.transaction({}, async tx => {
      await insertToolServer(tx, server);
      await recordChange(tx, deps, actor, 'tool-server.create', id, { name: server.name });
    }),
  );
  return server;
}

export async function editToolServer(
  deps: Deps,
  actor: Actor,
  rules: TargetRules,
  id: string,
  changes: SourceChanges,
): Promise<ToolServer> {
  const known = await findToolServer(deps.db, id);
  if (known === null) throw noSuchToolServer();
  await requireReachable({ transport: known.transport, target: changes.target }, rules);
  const edited = await withFreeName(changes.name ?? known.name, () =>
    deps.db.transaction({ exclusive: [toolServerLock(id)] }, async tx => {
      const before = await findToolServer(tx, id);
      if (before === null) throw noSuchToolServer();
      const after = changedSource(deps, before, changes);
      await updateToolServer(tx, after);
      await endStaleSignIns(tx, deps, { before, after, changes });
      // What is secret is named and not shown.
      const detail = { name: after.name, changed: Object.keys(changes) };
      await recordChange(tx, deps, actor, 'tool-server.update', id, detail);
      return after;
    }),
  );
  giveHint(deps.db, 'tool-server', id);
  return edited;
}

/** The Connected Tools of revoked keys that name it are removed with it. */
export async function deleteToolServer(deps: Deps, actor: Actor, id: string): Promise<void> {
  await deps.db.transaction({ exclusive: [toolServerLock(id)] }, async tx => {
    const server = await findToolServer(tx, id);
    if (server === null) throw noSuchToolServer();
    const keys = await countKeysOf(tx, id);
    if (keys > 0) throw inUse(keys, await listToolServerUses(tx, id, MOST_NAMED));
    await removeToolServer(tx, id);
    await recordChange(tx, deps, actor, 'tool-server.delete', id, { name: server.name });
  });
  giveHint(deps.db, 'tool-server', id);
}

const MOST_NAMED = 5;

function inUse(keys: number, first: readonly { keyId: string; keyName: string }[]): GuardError {
  const named = new Map(first.map(each => [each.keyId, JSON.stringify(each.keyName)]));
  const more = keys > named.size ? ` and ${keys - named.size} more` : '';
  return new GuardError(
    'conflict',
    `Connected Tools of these keys name this tool server: ${[...named.values()].join(', ')}${more}. Remove those first.`,
  );
}

export async function withFreeName<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new GuardError('conflict', `There is a tool server named "${name}" already.`);
  }
}

export function noSuchToolServer(): GuardError {
  return new GuardError('not_found', 'There is no tool server with this id.');
}
