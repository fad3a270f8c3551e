// Opens, finds and closes the MCP sessions of clients of the older protocol era. An MCP session belongs to the
// credential that opened it, and expires after a day without use. Their number is limited for each credential: a new
// one ends the one that has been unused for the longest time.

import {
  findMcpSession,
  insertMcpSession,
  type McpSessionRecord,
  removeLeastUsed,
  removeMcpSession,
  setLogLevel,
  touchMcpSession,
} from '../store/mcp-sessions.ts';
import type { Principal } from './credentials.ts';
import type { Deps } from './deps.ts';
import { newId } from './ids.ts';
import { mcpSessionsLock } from './locks.ts';

const UNUSED_MS = 24 * 3_600_000;
/** The limit for each credential. A client opens one; a credential that opens too many ends only its own. */
const MAX_MCP_SESSIONS = 1000;
/** The time of the last use is written at most this often, not at every message. */
const TOUCH_MS = 10 * 60_000;

export async function openMcpSession(
  deps: Deps,
  principal: Principal,
  protocolVersion: string,
  elicitsUrl = false,
): Promise<string> {
  const id = newId();
  const { keyId, sessionId } = principal;
  await deps.db.transaction({ exclusive: [mcpSessionsLock(keyId)] }, async tx => {
    const opened = { id, keyId, sessionId, protocolVersion, logLevel: null, elicitsUrl: elicitsUrl ? 1 : 0 };
    insertMcpSession(tx, opened, deps.now());
    removeLeastUsed(tx, { keyId, sessionId }, MAX_MCP_SESSIONS);
  });
  return id;
}

export async function lookUpMcpSession(
  deps: Deps,
  principal: Principal,
  id: string,
): Promise<McpSessionRecord | null> {
  const now = deps.now();
  const mcpSession = await findMcpSession(deps.db, id, now - UNUSED_MS);
  if (mcpSession === null || mcpSession.keyId !== principal.keyId) return null;
  if (mcpSession.sessionId !== principal.sessionId) return null;
  if (now - mcpSession.usedAt >= TOUCH_MS) await touchMcpSession(deps.db, id, now);
  return mcpSession;
}

export function changeLogLevel(deps: Deps, id: string, level: string): Promise<void> {
  return setLogLevel(deps.db, id, level);
}

export function closeMcpSession(deps: Deps, id: string): Promise<void> {
  return removeMcpSession(deps.db, id);
}
