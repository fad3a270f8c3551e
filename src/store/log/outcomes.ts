// The outcomes of forwarded calls, stored beside their audit entries.

import { into, type Queries, type Transaction } from '../engine/db.ts';

/**
 * `sign_in_needed`: the call was not executed, because somebody has to sign in to the server first. `outcome_unknown`: the
 * process that forwarded it ended before the answer came.
 */
export const OUTCOMES = [
  'ok',
  'tool_error',
  'upstream_failure',
  'timed_out',
  'cancelled',
  'sign_in_needed',
  'outcome_unknown',
] as const;
export type CallOutcome = (typeof OUTCOMES)[number];

export interface OutcomeRecord {
  toolCallId: string;
  outcome: CallOutcome;
  durationMs: number;
  at: number;
  /** What was hidden of the result, in numbers; null if the policy has nothing to say about it. */
  result: LookedAt | null;
}

/** What became of a result that was looked at: how often each thing was hidden in it, and nothing of the result itself. */
export interface LookedAt {
  hidden: Readonly<Record<string, number>>;
  withheld: boolean;
  cut: boolean;
}

const RECORDS = into(
  'outcomes',
  {
    tool_call_id: 'text',
    outcome: 'text',
    duration_ms: 'bigint',
    at: 'bigint',
    result: 'text',
  },
  'ON CONFLICT DO NOTHING',
);

/** A call keeps its first outcome: a result may be reported more than once. */
export function insertOutcomes(tx: Transaction, records: readonly OutcomeRecord[]): void {
  tx.insert(
    RECORDS,
    records.flatMap(({ toolCallId, outcome, durationMs, at, result }) => [
      toolCallId,
      outcome,
      durationMs,
      at,
      result && JSON.stringify(result),
    ]),
  );
}

export async function findOutcome(db: Queries, toolCallId: string): Promise<OutcomeRecord | null> {
  const [row] = await db.all<Omit<OutcomeRecord, 'result'> & { result: string | null }>(
    `SELECT tool_call_id AS "toolCallId", outcome, duration_ms AS "durationMs", at, result FROM outcomes
     WHERE tool_call_id = $1`,
    [toolCallId],
  );
  return row ? { ...row, result: row.result === null ? null : JSON.parse(row.result) } : null;
}
