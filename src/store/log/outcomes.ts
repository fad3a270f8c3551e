// The outcomes of forwarded calls, stored beside their audit entries.

import { into, type Queries, type Transaction } from '../engine/db.ts';

/** `sign_in_needed`: the call was not executed, because somebody has to sign in to the server first. */
export const OUTCOMES = [
  'ok',
  'tool_error',
  'upstream_failure',
  'timed_out',
  'cancelled',
  'sign_in_needed',
] as const;
export type CallOutcome = (typeof OUTCOMES)[number];

export interface OutcomeRecord {
  toolCallId: string;
  outcome: CallOutcome;
  durationMs: number;
  at: number;
}

const RECORDS = into('outcomes', {
  tool_call_id: 'text',
  outcome: 'text',
  duration_ms: 'bigint',
  at: 'bigint',
});

export function insertOutcomes(tx: Transaction, records: readonly OutcomeRecord[]): void {
  tx.insert(
    RECORDS,
    records.flatMap(({ toolCallId, outcome, durationMs, at }) => [toolCallId, outcome, durationMs, at]),
  );
}

export async function findOutcome(db: Queries, toolCallId: string): Promise<OutcomeRecord | null> {
  const [row] = await db.all<OutcomeRecord>(
    `SELECT tool_call_id AS "toolCallId", outcome, duration_ms AS "durationMs", at FROM outcomes
     WHERE tool_call_id = $1`,
    [toolCallId],
  );
  return row ?? null;
}
