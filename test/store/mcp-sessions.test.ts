// Connections of MCP clients: one is touched at a time, and those past a credential's bound go, the least used first.

import { expect, test } from 'bun:test';
import * as sessions from '../../src/store/mcp-sessions.ts';
import { NOW, onEachEngine } from './stores.ts';

type McpSession = sessions.McpSessionRecord;
const mcpSession = (id: string, more: Partial<McpSession> = {}): McpSession => ({
  id,
  keyId: 'key-1',
  sessionId: null,
  protocolVersion: '2025-11-25',
  logLevel: null,
  elicitsUrl: 0,
  ...more,
});

await onEachEngine(store => {
  const add = async (...rows: [McpSession, usedAt: number][]) => {
    await store.db.run('DELETE FROM connections');
    await store.db.transaction({}, async tx => {
      for (const [row, usedAt] of rows) sessions.insertMcpSession(tx, row, usedAt);
    });
  };
  const left = async () =>
    (await store.db.all<{ id: string }>('SELECT id FROM connections ORDER BY id')).map(row => row.id);
  const keep = async (kept: number, sessionId: string | null = null) => {
    await store.db.transaction({}, async tx =>
      sessions.removeLeastUsed(tx, { keyId: 'key-1', sessionId }, kept),
    );
    return left();
  };

  test('a mcpSession is found while it was used after a moment and has not ended', async () => {
    const { db } = store;
    const row = mcpSession('c1', { sessionId: 'ses', logLevel: 'info' });
    await add([row, NOW], [mcpSession('c2'), NOW + 1], [mcpSession('c3'), NOW + 1]);
    expect(await sessions.findMcpSession(db, 'c1', NOW - 1)).toEqual({ ...row, usedAt: NOW });
    expect(await sessions.findMcpSession(db, 'c1', NOW)).toBeNull();
    expect(await sessions.findMcpSession(db, 'unknown', 0)).toBeNull();
    await db.run('UPDATE connections SET ended_at = $1 WHERE id = $2', [NOW, 'c2']);
    expect(await sessions.findMcpSession(db, 'c2', NOW)).toBeNull();
    expect((await sessions.findMcpSession(db, 'c3', NOW))?.id).toBe('c3');
  });

  test('a use, a level and an end concern one mcpSession', async () => {
    const { db } = store;
    await add([mcpSession('c1'), NOW], [mcpSession('c2'), NOW]);
    await sessions.touchMcpSession(db, 'c1', NOW + 5);
    await sessions.setLogLevel(db, 'c2', 'debug');
    expect(await db.all('SELECT used_at AS used, log_level AS level FROM connections ORDER BY id')).toEqual([
      { used: NOW + 5, level: null },
      { used: NOW, level: 'debug' },
    ]);
    await sessions.removeMcpSession(db, 'c1');
    expect(await left()).toEqual(['c2']);
  });

  test('of one credential those last used stay, and those of others are not counted', async () => {
    await add(
      [mcpSession('c1'), NOW + 9],
      [mcpSession('c2'), NOW],
      [mcpSession('c3'), NOW + 5],
      [mcpSession('c4'), NOW + 5],
      [mcpSession('c5', { sessionId: 'ses' }), NOW],
      [mcpSession('c6', { sessionId: 'ses' }), NOW + 1],
      [mcpSession('c7', { sessionId: 'other' }), NOW],
      [mcpSession('c8', { keyId: 'key-2' }), NOW],
      [mcpSession('c9', { keyId: 'key-2', sessionId: 'ses' }), NOW - 1],
    );
    const others = ['c5', 'c6', 'c7', 'c8', 'c9'];
    expect(await keep(4)).toEqual(['c1', 'c2', 'c3', 'c4', ...others]);
    // Of two that were used last at the same time, the one that was made later.
    expect(await keep(2)).toEqual(['c1', 'c4', ...others]);
    expect(await keep(1, 'ses')).toEqual(['c1', 'c4', 'c6', 'c7', 'c8', 'c9']);
  });
});
