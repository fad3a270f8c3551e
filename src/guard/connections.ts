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
import type { Guard } from './guard.ts';
import { connectionsLock, newId } from './guard.ts';

const UNUSED_MS = 24 * 3_600_000;
/** For each credential. Clients open one each; whoever opens them without end ends only its own. */
const MAX_CONNECTIONS = 1000;
/** Use is written down this often, not at every message. */
const TOUCH_MS = 10 * 60_000;

export async function openConnection(
  guard: Guard,
  principal: Principal,
  protocolVersion: string,
): Promise<string> {
  const id = newId();
  const { keyId, sessionId } = principal;
  await guard.db.transaction({ exclusive: [connectionsLock(keyId)] }, async tx => {
    insertConnection(tx, { id, keyId, sessionId, protocolVersion, logLevel: null }, guard.now());
    removeLeastUsed(tx, { keyId, sessionId }, MAX_CONNECTIONS);
  });
  return id;
}

export async function lookUpConnection(
  guard: Guard,
  principal: Principal,
  id: string,
): Promise<ConnectionRecord | null> {
  const now = guard.now();
  const connection = await findConnection(guard.db, id, now - UNUSED_MS);
  if (connection === null || connection.keyId !== principal.keyId) return null;
  if (connection.sessionId !== principal.sessionId) return null;
  if (now - connection.usedAt >= TOUCH_MS) await touchConnection(guard.db, id, now);
  return connection;
}

export function changeConnectionLevel(guard: Guard, id: string, level: string): Promise<void> {
  return setConnectionLevel(guard.db, id, level);
}

export function closeConnection(guard: Guard, id: string): Promise<void> {
  return removeConnection(guard.db, id);
}
