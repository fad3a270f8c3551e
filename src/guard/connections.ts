// Connections of MCP clients as state: opened, used, ended. A connection belongs to the very credential that
// opened it, and lapses when it is not used for a day.

import {
  type ConnectionRecord,
  endConnection,
  findConnection,
  insertConnection,
  setConnectionLevel,
  touchConnection,
} from '../store/connections.ts';
import type { Principal } from './credentials.ts';
import type { Guard } from './guard.ts';
import { newId } from './guard.ts';

const UNUSED_MS = 24 * 3_600_000;
/** Use is written down this often, not at every message. */
const TOUCH_MS = 10 * 60_000;

const touched = new Map<string, number>();
const MAX_TOUCHED = 10_000;

export async function openConnection(
  guard: Guard,
  principal: Principal,
  protocolVersion: string,
): Promise<string> {
  const id = newId();
  const { keyId, sessionId } = principal;
  await insertConnection(guard.db, { id, keyId, sessionId, protocolVersion, logLevel: null }, guard.now());
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
  await noteUse(guard, id, now);
  return connection;
}

export function changeConnectionLevel(guard: Guard, id: string, level: string): Promise<void> {
  return setConnectionLevel(guard.db, id, level);
}

export function closeConnection(guard: Guard, id: string): Promise<void> {
  return endConnection(guard.db, id, guard.now());
}

async function noteUse(guard: Guard, id: string, now: number): Promise<void> {
  const before = touched.get(id);
  if (before === undefined || now - before >= TOUCH_MS) {
    if (touched.size >= MAX_TOUCHED) touched.clear();
    touched.set(id, now);
    if (before !== undefined) await touchConnection(guard.db, id, now);
  }
}
