// What tells that a task has changed, read for many tasks at once: replicas look for changes of the tasks that clients
// listen to.

import { placeholders, type Queries } from './engine/db.ts';

export interface TaskMark {
  id: string;
  /** Another text once the store knows something else of the task. */
  mark: string;
  /** 1 while a tool server works on it by itself: the store does not know what the server says. */
  atServer: number;
}

/** Of those that are known at this time. */
export function listTaskMarks(db: Queries, ids: readonly string[], now: number): Promise<TaskMark[]> {
  return db.all(
    `SELECT t.id,
       t.state || ' ' || t.changed_at || ' ' || COALESCE(a.status, '') || ' ' || COALESCE(o.outcome, '') AS mark,
       CASE WHEN t.server_task_sealed IS NOT NULL AND o.outcome IS NULL THEN 1 ELSE 0 END AS "atServer"
     FROM tasks t
       LEFT JOIN approvals a ON a.id = t.id
       LEFT JOIN outcomes o ON o.tool_call_id = t.tool_call_id
     WHERE t.known_until > $1 AND t.id IN (${placeholders(ids.length, 1)})`,
    [now, ...ids],
  );
}
