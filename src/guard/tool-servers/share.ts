// Turns a Connected Tool with its own definition into a tool server that other keys can name too. The server gets the id of
// the Connected Tool, under which its definitions, their acceptance, sign-ins and secrets are kept, so nothing of them is
// moved, and the Connected Tool, which keeps its id, names the server from then on.

import { GuardError } from '../../core/errors.ts';
import { findConnectedTool, turnIntoLink } from '../../store/connected-tools.ts';
import { insertToolServer, type ToolServer } from '../../store/tool-servers.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { giveHint } from '../hints.ts';
import { keyLock, toolServerLock } from '../locks.ts';
import { noSuchTool } from './connected-tools.ts';
import { withFreeName } from './tool-servers.ts';

/** `name` is the name of the server; without it, that of the Connected Tool. */
export async function shareTool(
  deps: Deps,
  actor: Actor,
  keyId: string,
  id: string,
  name?: string,
): Promise<ToolServer> {
  const known = await findConnectedTool(deps.db, keyId, id);
  if (known === null) throw noSuchTool();
  // Calls under way were checked under the lock of the key, and later ones are checked under that of the server.
  const exclusive = [keyLock(keyId), toolServerLock(id)];
  const server = await withFreeName(name ?? known.name, () =>
    deps.db.transaction({ exclusive }, async tx => {
      const tool = await findConnectedTool(tx, keyId, id);
      if (tool === null) throw noSuchTool();
      if (tool.toolServerId !== null) throw alreadyShared(tool.toolServerId);
      const now = deps.now();
      const made: ToolServer = {
        ...tool,
        keyId: null,
        toolServerId: id,
        name: name ?? tool.name,
        createdAt: now,
      };
      await insertToolServer(tx, made);
      await turnIntoLink(tx, id, id, Math.max(now, (tool.updatedAt ?? 0) + 1));
      await recordChange(tx, deps, actor, 'connected-tool.share', id, { keyId, name: made.name });
      return made;
    }),
  );
  giveHint(deps.db, 'tools', keyId);
  return server;
}

function alreadyShared(toolServerId: string): GuardError {
  return new GuardError(
    'conflict',
    `This Connected Tool names a tool server already: /admin/v1/tool-servers/${toolServerId}.`,
  );
}
