// What came of forwarded calls, beside their audit entries.

import type { Queries, Transaction } from './db.ts';

export const OUTCOMES = ['ok', 'tool_error', 'upstream_failure', 'timed_out', 'cancelled'] as const;
export type CallOutcome = (typeof OUTCOMES)[number];

export interface OutcomeRecord {
  toolCallId: string;
  outcome: CallOutcome;
  durationMs: number;
  at: number;
}

export function insertOutcome(tx: Transaction, record: OutcomeRecord): void {
  tx.defer('INSERT INTO outcomes (tool_call_id, outcome, duration_ms, at) VALUES ($1, $2, $3, $4)', [
    record.toolCallId,
    record.outcome,
    record.durationMs,
    record.at,
  ]);
}

export async function findOutcome(db: Queries, toolCallId: string): Promise<OutcomeRecord | null> {
  const [row] = await db.all<OutcomeRecord>(
    `SELECT tool_call_id AS "toolCallId", outcome, duration_ms AS "durationMs", at FROM outcomes
     WHERE tool_call_id = $1`,
    [toolCallId],
  );
  return row ?? null;
}
