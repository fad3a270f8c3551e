// Calls that are forwarded and have no outcome yet, of clients that were promised to learn it. A row is written with the
// audit entry and removed with the outcome. One that its process left behind is unknown until somebody settles it.

import { into, padded, placeholders, type Queries, type Transaction } from './engine/db.ts';
import { insertOutcomes } from './log/outcomes.ts';

export interface ExecutionRecord {
  toolCallId: string;
  keyId: string;
  /** The process that waits for the answer; null while a tool server works on the call by itself. */
  processId: string | null;
  at: number;
}

/** A call of which it is not known whether it ran. */
export interface UnknownCall {
  toolCallId: string;
  keyId: string;
  at: number;
  unknownAt: number;
  /** 1 or 0 once somebody has found out whether it ran; null before. */
  settledRan: number | null;
  settledBy: string | null;
  settledAt: number | null;
  settledNote: string | null;
}

const COLUMNS = `tool_call_id AS "toolCallId", key_id AS "keyId", at, unknown_at AS "unknownAt", settled_ran AS "settledRan",
  settled_by AS "settledBy", settled_at AS "settledAt", settled_note AS "settledNote"`;

const RECORDS = into('executions', {
  tool_call_id: 'text',
  key_id: 'text',
  process_id: 'text',
  at: 'bigint',
});

export function insertExecutions(tx: Transaction, records: readonly ExecutionRecord[]): void {
  tx.insert(
    RECORDS,
    records.flatMap(({ toolCallId, keyId, processId, at }) => [toolCallId, keyId, processId, at]),
  );
}

/** Has to be in the transaction that records the outcome. What was given up before stays unknown. */
export function endExecution(tx: Transaction, toolCallId: string): void {
  tx.defer('DELETE FROM executions WHERE tool_call_id = $1 AND unknown_at IS NULL', [toolCallId]);
}

/** From now on no process waits for the answer, because the tool server works on the call by itself. */
export async function releaseExecution(db: Queries, toolCallId: string): Promise<void> {
  await db.run('UPDATE executions SET process_id = NULL WHERE tool_call_id = $1', [toolCallId]);
}

/** Calls that no process waits for, and no task stands for: nobody will learn what became of them. */
export async function abandonedExecutions(db: Queries, now: number, limit: number): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `SELECT tool_call_id AS id FROM executions e WHERE process_id IS NULL AND unknown_at IS NULL
       AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.tool_call_id = e.tool_call_id AND t.known_until > $1)
     ORDER BY at LIMIT $2`,
    [now, limit],
  );
  return rows.map(({ id }) => id);
}

export async function findExecution(db: Queries, toolCallId: string): Promise<ExecutionRecord | null> {
  const [row] = await db.all<ExecutionRecord>(
    `SELECT tool_call_id AS "toolCallId", key_id AS "keyId", process_id AS "processId", at FROM executions
     WHERE tool_call_id = $1 AND unknown_at IS NULL`,
    [toolCallId],
  );
  return row ?? null;
}

/** The processes that wait for an answer of a tool server, or hold a call of a task. */
export async function processesAtWork(db: Queries): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `SELECT process_id AS id FROM executions WHERE process_id IS NOT NULL
     UNION SELECT process_id FROM tasks WHERE process_id IS NOT NULL`,
  );
  return rows.map(({ id }) => id);
}

/** Calls of a process that were to be forwarded before a time, and have no outcome. */
export async function listForwardedBy(
  db: Queries,
  processId: string,
  before: number,
  limit: number,
): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `SELECT tool_call_id AS id FROM executions WHERE process_id = $1 AND at < $2 ORDER BY tool_call_id LIMIT $3`,
    [processId, before, limit],
  );
  return rows.map(({ id }) => id);
}

/** Gives up calls of a process that nobody waits for any more: their outcome is unknown. Returns the ids of those that are. */
export async function giveUpExecutions(
  tx: Transaction,
  processId: string,
  toolCallIds: readonly string[],
  now: number,
): Promise<string[]> {
  const ids = padded(toolCallIds);
  const lost = await tx.all<Lost>(
    `UPDATE executions SET process_id = NULL, unknown_at = $2
     WHERE process_id = $1 AND tool_call_id IN (${placeholders(ids.length, 2)})
     RETURNING tool_call_id AS "toolCallId", at`,
    [processId, now, ...ids],
  );
  recordUnknown(tx, lost, now);
  return lost.map(({ toolCallId }) => toolCallId);
}

/** Gives up one call, if it was not before and has no outcome. */
export async function giveUpExecution(tx: Transaction, toolCallId: string, now: number): Promise<void> {
  const lost = await tx.all<Lost>(
    `UPDATE executions SET process_id = NULL, unknown_at = $2 WHERE tool_call_id = $1 AND unknown_at IS NULL
     RETURNING tool_call_id AS "toolCallId", at`,
    [toolCallId, now],
  );
  recordUnknown(tx, lost, now);
}

type Lost = Pick<ExecutionRecord, 'toolCallId' | 'at'>;

function recordUnknown(tx: Transaction, lost: readonly Lost[], now: number): void {
  const unknown = { outcome: 'outcome_unknown', at: now, result: null } as const;
  insertOutcomes(
    tx,
    lost.map(({ toolCallId, at }) => ({ toolCallId, ...unknown, durationMs: Math.max(0, now - at) })),
  );
}

export async function findUnknown(db: Queries, toolCallId: string): Promise<UnknownCall | null> {
  const [row] = await db.all<UnknownCall>(
    `SELECT ${COLUMNS} FROM executions WHERE tool_call_id = $1 AND unknown_at IS NOT NULL`,
    [toolCallId],
  );
  return row ?? null;
}

/** Those that nobody has settled, the newest first. */
export function listUnknown(db: Queries, limit: number, before: string): Promise<UnknownCall[]> {
  return db.all(
    `SELECT ${COLUMNS} FROM executions
     WHERE unknown_at IS NOT NULL AND settled_at IS NULL AND tool_call_id < $1 ORDER BY tool_call_id DESC LIMIT $2`,
    [before, limit],
  );
}

interface Settled {
  ran: boolean;
  by: string;
  at: number;
  note: string | null;
}

/** False if it is not unknown, or if it was settled before. */
export async function settleExecution(
  tx: Transaction,
  toolCallId: string,
  { ran, by, at, note }: Settled,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE executions SET settled_ran = $2, settled_by = $3, settled_at = $4, settled_note = $5
     WHERE tool_call_id = $1 AND unknown_at IS NOT NULL AND settled_at IS NULL`,
    [toolCallId, ran ? 1 : 0, by, at, note],
  );
  return changed === 1;
}
