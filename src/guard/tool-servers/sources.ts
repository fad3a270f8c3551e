// The source of a Connected Tool: the tool server that it names, or the Connected Tool itself if it carries its own
// definition. Whatever belongs to a source is changed under the lock of those who depend on it.

import { findTool } from '../../store/connected-tools.ts';
import type { Queries, Transaction } from '../../store/engine/db.ts';
import { findToolServer, type SourceRef, type ToolSource } from '../../store/tool-servers.ts';
import type { Deps } from '../deps.ts';
import { keyLock, toolServerLock } from '../locks.ts';

/** Calls to a tool server that is shared hold the lock of that server, all others that of their key. */
function sourceLock({ toolServerId, keyId }: SourceRef): string {
  return toolServerId === null ? keyLock(keyId ?? '') : toolServerLock(toolServerId);
}

/** Null if it was removed. A Connected Tool that was shared is found as the tool server that it has become. */
export async function findSource(db: Queries, sourceId: string): Promise<ToolSource | null> {
  const server = await findToolServer(db, sourceId);
  if (server !== null) return server;
  const tool = await findTool(db, sourceId);
  return tool === null || tool.toolServerId !== null ? null : tool;
}

/**
 * Does something in a transaction that no call to this source can overlap. `work` gets the source as it is now, or null
 * if it was removed. If it was shared since it was read, the lock of its key is not enough any more, and it is tried again
 * with the lock of the tool server.
 */
export async function changeSource<Result>(
  deps: Deps,
  source: SourceRef,
  work: (tx: Transaction, now: ToolSource | null) => Promise<Result>,
  shared: readonly string[] = [],
): Promise<Result> {
  let known = source;
  for (;;) {
    const exclusive = [sourceLock(known)];
    const done = await deps.db.transaction({ exclusive, shared }, async tx => {
      const now = await findSource(tx, source.sourceId);
      if (now !== null && now.toolServerId !== known.toolServerId) return { result: null, now };
      return { result: { of: await work(tx, now) }, now };
    });
    if (done.result !== null) return done.result.of;
    known = done.now as ToolSource;
  }
}
