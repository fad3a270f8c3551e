// Changes a Connected Tool in place. One that names a tool server can only get another name: whatever else belongs to the
// server, and is changed there for all keys.

import { GuardError } from '../../core/errors.ts';
import {
  type ConnectedTool,
  findConnectedTool,
  renameLink,
  updateConnectedTool,
} from '../../store/connected-tools.ts';
import { type Transaction, UniqueViolation } from '../../store/engine/db.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { giveHint } from '../hints.ts';
import { keyLock } from '../locks.ts';
import type { TargetRules } from '../outgoing/addresses.ts';
import { nameTaken, noSuchTool } from './connected-tools.ts';
import { changedSource, endStaleSignIns, requireReachable, type SourceChanges } from './source-fields.ts';

export async function editTool(
  deps: Deps,
  actor: Actor,
  rules: TargetRules,
  keyId: string,
  id: string,
  changes: SourceChanges,
): Promise<ConnectedTool> {
  const known = await findConnectedTool(deps.db, keyId, id);
  if (known === null) throw noSuchTool();
  requireOwn(known, changes);
  await requireReachable({ transport: known.transport, target: changes.target }, rules);
  try {
    const edited = await deps.db.transaction({ exclusive: [keyLock(keyId)] }, async tx => {
      const before = await findConnectedTool(tx, keyId, id);
      if (before === null) throw noSuchTool();
      const after = await write(tx, deps, before, changes);
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

async function write(
  tx: Transaction,
  deps: Deps,
  before: ConnectedTool,
  changes: SourceChanges,
): Promise<ConnectedTool> {
  if (before.toolServerId !== null) {
    requireOwn(before, changes);
    const { name = before.name } = changes;
    await renameLink(tx, before.id, name);
    return { ...before, name };
  }
  const after = changedSource(deps, before, changes);
  await updateConnectedTool(tx, after);
  await endStaleSignIns(tx, deps, { before, after, changes });
  return after;
}

function requireOwn({ toolServerId }: ConnectedTool, changes: SourceChanges): void {
  const others = Object.keys(changes).filter(each => each !== 'name');
  if (toolServerId === null || others.length === 0) return;
  throw new GuardError(
    'conflict',
    `This Connected Tool names a tool server that keys share, so that only its name can be changed here. Change the server at /admin/v1/tool-servers/${toolServerId}.`,
  );
}
