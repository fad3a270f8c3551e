// The audit log: written by the group commit only, never changed. The id sorts by time, so a time range is a
// range of ids. Searching it is audit-search.ts, counting it audit-tally.ts.

import type { Decision } from '../core/decide.ts';
import type { Surface } from '../core/event.ts';
import { type Context, ContextMemory } from './contexts.ts';
import { type Queries, rowInserts, type Transaction, type Value } from './db.ts';

export interface AuditEntry {
  id: string;
  at: number;
  keyId: string;
  sessionId: string | null;
  surface: Surface;
  serverName: string;
  toolName: string;
  decision: Decision;
  reason: string;
  policyId: string;
  policyVersion: number;
  ruleIndex: number | null;
  referenceId: string | null;
  latencyMs: number;
}

const insertRows = rowInserts(
  `audit_entries (id, at, context, key_tag, tool_tag, session_id, surface, decision, reference_id, latency_ms)`,
  10,
);

export async function insertAudit(
  tx: Transaction,
  entries: readonly AuditEntry[],
  memory = new ContextMemory(),
): Promise<void> {
  const contexts = await memory.of(tx, entries);
  insertRows(tx, entries.length, (params, index) =>
    pushRow(params, entries[index] as AuditEntry, contexts[index] as Context),
  );
}

function pushRow(params: Value[], entry: AuditEntry, { number, keyTag, toolTag }: Context): void {
  params.push(
    entry.id,
    entry.at,
    number,
    keyTag,
    toolTag,
    entry.sessionId,
    entry.surface,
    entry.decision,
    entry.referenceId,
    entry.latencyMs,
  );
}

/** The columns of an entry, under its names. */
export const AUDIT_COLUMNS = `id, at, key_id AS "keyId", session_id AS "sessionId", surface, server_name AS "serverName",
  tool_name AS "toolName", decision, reason, policy_id AS "policyId", policy_version AS "policyVersion",
  rule_index AS "ruleIndex", reference_id AS "referenceId", latency_ms AS "latencyMs"`;

/** Entries after an id, newest first. */
export function listAuditSince(db: Queries, after: string, limit: number): Promise<AuditEntry[]> {
  return db.all(`SELECT ${AUDIT_COLUMNS} FROM audit WHERE id > $1 ORDER BY id DESC LIMIT $2`, [after, limit]);
}

export async function findAudit(db: Queries, id: string): Promise<AuditEntry | null> {
  const [row] = await db.all<AuditEntry>(`SELECT ${AUDIT_COLUMNS} FROM audit WHERE id = $1`, [id]);
  return row ?? null;
}

/** The smallest UUID of version 7 made at or after a time. */
export function firstIdAt(ms: number): string {
  const hex = Math.max(0, Math.min(Math.ceil(ms), 0xffff_ffff_ffff))
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
