// How far the tasks of approvals have come, as the admin API shows it.

import { padded, placeholders, type Queries } from './engine/db.ts';
import type { CallOutcome } from './log/outcomes.ts';
import type { TaskState } from './tasks.ts';

/** `held`: its call is in memory. `gone`: nobody holds it any more. `runs`: it was forwarded. `ended`: see its outcome. */
export const TASK_COURSES = ['held', 'gone', 'runs', 'ended'] as const;

/** The task that waits for an approval, or waited. */
export interface TaskView {
  state: (typeof TASK_COURSES)[number];
  /** The call that ran for it; null before. */
  toolCallId: string | null;
  /** Null before the end, and if the call was not allowed after all. */
  outcome: CallOutcome | null;
}

interface Row {
  id: string;
  state: TaskState;
  toolCallId: string | null;
  outcome: CallOutcome | null;
  executing: number;
}

/** Of approvals without a task there is nothing. */
export async function findTaskViews(
  db: Queries,
  approvalIds: readonly string[],
): Promise<Map<string, TaskView>> {
  if (approvalIds.length === 0) return new Map();
  const wanted = padded(approvalIds);
  const rows = await db.all<Row>(
    `SELECT t.id, t.state, t.tool_call_id AS "toolCallId", o.outcome, CASE WHEN e.tool_call_id IS NULL THEN 0 ELSE 1 END AS executing
     FROM tasks t
       LEFT JOIN outcomes o ON o.tool_call_id = t.tool_call_id
       LEFT JOIN executions e ON e.tool_call_id = t.tool_call_id AND e.unknown_at IS NULL
     WHERE t.id IN (${placeholders(wanted.length)})`,
    wanted,
  );
  return new Map(rows.map(row => [row.id, viewOf(row)]));
}

function viewOf({ state, toolCallId, outcome, executing }: Row): TaskView {
  const call = { toolCallId, outcome };
  if (state === 'waiting') return { state: 'held', ...call };
  if (state === 'gone') return { state: 'gone', ...call };
  return { state: outcome === null && executing === 1 ? 'runs' : 'ended', ...call };
}
