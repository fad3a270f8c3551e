// Who is told of a sign-in to a server, and of a sign-out: the log of changes, and the replicas, which have connections with
// the account before.

import type { Db, Queries } from '../../store/engine/db.ts';
import type { ToolSource } from '../../store/tool-servers.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { giveHint } from '../hints.ts';

export function recordSignIn(
  tx: Queries,
  deps: Deps,
  actor: Actor,
  what: 'sign-in' | 'sign-out',
  { sourceId, toolServerId, keyId, name }: ToolSource,
): Promise<void> {
  return toolServerId === null
    ? recordChange(tx, deps, actor, `connected-tool.${what}`, sourceId, { keyId, name })
    : recordChange(tx, deps, actor, `tool-server.${what}`, sourceId, { name });
}

/** `owner` is the person, or empty for the sign-in of a key or of all keys that share the server. */
export function tellSignIn(db: Db, { sourceId, toolServerId, keyId }: ToolSource, owner: string): void {
  giveHint(db, 'sign-in', `${toolServerId === null ? keyId : ''} ${sourceId} ${owner}`);
}
