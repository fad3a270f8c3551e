// Connections of MCP clients as state: opened, used, ended. A connection belongs to the very credential that
// opened it, and lapses when it is not used for a day. A credential has so many; a new one ends the least used.

import {
  type ConnectionRecord,
  findConnection,
  insertConnection,
  removeConnection,
  removeLeastUsed,
  setConnectionLevel,
  touchConnection,
} from '../store/connections.ts';
import type { Principal } from './credentials.ts';
import type { Deps } from './deps.ts';
import { newId } from './ids.ts';
import { mcpSessionsLock } from './locks.ts';

const UNUSED_MS = 24 * 3_600_000;
/** For each credential. Clients open one each; whoever opens them without end ends only its own. */
const MAX_CONNECTIONS = 1000;
/** Use is written down this often, not at every message. */
const TOUCH_MS = 10 * 60_000;

export async function openConnection(
  deps: Deps,
  principal: Principal,
  protocolVersion: string,
): Promise<string> {
  const id = newId();
  const { keyId, sessionId } = principal;
  await deps.db.transaction({ exclusive: [mcpSessionsLock(keyId)] }, async tx => {
    insertConnection(tx, { id, keyId, sessionId, protocolVersion, logLevel: null }, deps.now());
    removeLeastUsed(tx, { keyId, sessionId }, MAX_CONNECTIONS);
  });
  return id;
}

export async function lookUpConnection(
  deps: Deps,
  principal: Principal,
  id: string,
): Promise<ConnectionRecord | null> {
  const now = deps.now();
  const connection = await findConnection(deps.db, id, now - UNUSED_MS);
  if (connection === null || connection.keyId !== principal.keyId) return null;
  if (connection.sessionId !== principal.sessionId) return null;
  if (now - connection.usedAt >= TOUCH_MS) await touchConnection(deps.db, id, now);
  return connection;
}

export function changeConnectionLevel(deps: Deps, id: string, level: string): Promise<void> {
  return setConnectionLevel(deps.db, id, level);
}

export function closeConnection(deps: Deps, id: string): Promise<void> {
  return removeConnection(deps.db, id);
}
