// Tasks: what clients that know MCP's tasks ask about instead of waiting. Arguments and results are in the memory of
// processes; a row says which process holds the call, or which call has run for the task.

import type { ApprovalStatus } from '../core/approvals/approval.ts';
import { placeholders, type Queries, type Transaction } from './engine/db.ts';
import type { CallOutcome } from './log/outcomes.ts';

/** `waiting`: its process holds the call. `begun`: its call has run or runs. `gone`: nobody holds the call any more. */
export type TaskState = 'waiting' | 'begun' | 'gone';

export interface TaskRecord {
  /** The id of its approval, or of its call where a tool server answered with a task of its own. */
  id: string;
  keyId: string;
  sessionId: string | null;
  personId: string | null;
  state: TaskState;
  /** The process that holds the call or waits for its answer; null if none does. */
  processId: string | null;
  toolCallId: string | null;
  /** The task of the tool server, encrypted; null if it has none. */
  serverTaskEncrypted: string | null;
  createdAt: number;
  changedAt: number;
  /** From then on the task is unknown. */
  knownUntil: number;
}

/** A task with what is known of its approval and of its call. */
export interface FoundTask extends TaskRecord {
  /** Null if the task has no approval. */
  approvalStatus: ApprovalStatus | null;
  note: string | null;
  expiresAt: number | null;
  resolvedAt: number | null;
  approverGroup: string | null;
  /** When its client cancelled it after the approval; null if it did not. */
  cancelAskedAt: number | null;
  /** How many people have to approve. */
  votesNeeded: number | null;
  /** Of its call; null while it is not recorded. */
  outcome: CallOutcome | null;
  endedAt: number | null;
  /** 1 while its call is forwarded and has no outcome. */
  executing: number;
  /** 1 if people at the clients of its key are sent to the approval's page. */
  approveHere: number | null;
}

const COLUMNS = `t.id, t.key_id AS "keyId", t.session_id AS "sessionId", t.person_id AS "personId", t.state,
  t.process_id AS "processId", t.tool_call_id AS "toolCallId", t.server_task_sealed AS "serverTaskEncrypted",
  t.created_at AS "createdAt", t.changed_at AS "changedAt", t.known_until AS "knownUntil"`;

/** A call that waits again is held by the process that took it last. A task whose call has begun stays as it is. */
export function putTask(tx: Transaction, task: TaskRecord): void {
  tx.defer(
    `INSERT INTO tasks (id, key_id, session_id, person_id, state, process_id, tool_call_id, server_task_sealed,
       created_at, changed_at, known_until)
     VALUES (${placeholders(11)})
     ON CONFLICT (id) DO UPDATE SET state = excluded.state, process_id = excluded.process_id,
       changed_at = excluded.changed_at, known_until = excluded.known_until
     WHERE tasks.state <> 'begun'`,
    [
      task.id,
      task.keyId,
      task.sessionId,
      task.personId,
      task.state,
      task.processId,
      task.toolCallId,
      task.serverTaskEncrypted,
      task.createdAt,
      task.changedAt,
      task.knownUntil,
    ],
  );
}

export async function findTask(db: Queries, id: string): Promise<FoundTask | null> {
  const [row] = await db.all<FoundTask>(
    `SELECT ${COLUMNS}, a.status AS "approvalStatus", a.note, a.expires_at AS "expiresAt", a.resolved_at AS "resolvedAt",
       a.approver_group AS "approverGroup", t.cancel_asked_at AS "cancelAskedAt", a.votes_needed AS "votesNeeded", o.outcome, o.at AS "endedAt",
       CASE WHEN e.tool_call_id IS NULL THEN 0 ELSE 1 END AS executing, k.approve_here AS "approveHere"
     FROM tasks t
       LEFT JOIN approvals a ON a.id = t.id
       LEFT JOIN keys k ON k.id = t.key_id
       LEFT JOIN outcomes o ON o.tool_call_id = t.tool_call_id
       LEFT JOIN executions e ON e.tool_call_id = t.tool_call_id AND e.unknown_at IS NULL
     WHERE t.id = $1`,
    [id],
  );
  return row ?? null;
}

/** The task whose call this is, if there is one. */
export async function findTaskOfCall(db: Queries, toolCallId: string): Promise<TaskRecord | null> {
  const [row] = await db.all<TaskRecord>(`SELECT ${COLUMNS} FROM tasks t WHERE t.tool_call_id = $1`, [
    toolCallId,
  ]);
  return row ?? null;
}

interface Begun {
  processId: string;
  now: number;
  /** Until when the task is known at least. */
  knownUntil: number;
}

/**
 * Takes a waiting task for the process that holds its call; false if that is another one, or if the task does not wait any
 * more. The call of the task is named by `nameCall` in the same transaction.
 */
export async function beginTask(
  tx: Transaction,
  id: string,
  { processId, now, knownUntil }: Begun,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE tasks SET state = 'begun', changed_at = $3, known_until = CASE WHEN known_until > $4 THEN known_until ELSE $4 END
     WHERE id = $1 AND state = 'waiting' AND process_id = $2`,
    [id, processId, now, knownUntil],
  );
  return changed === 1;
}

/** Says which call runs for a task that has begun. */
export function nameCall(tx: Transaction, id: string, toolCallId: string): void {
  tx.defer('UPDATE tasks SET tool_call_id = $2 WHERE id = $1', [id, toolCallId]);
}

/** The call was repeated and runs by another way: the task ends as that call does. False if the task does not wait any more. */
export async function passTaskOn(
  tx: Transaction,
  id: string,
  { toolCallId, processId, now, knownUntil }: Begun & { toolCallId: string },
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE tasks SET state = 'begun', tool_call_id = $2, process_id = $3, changed_at = $4,
       known_until = CASE WHEN known_until > $5 THEN known_until ELSE $5 END
     WHERE id = $1 AND state = 'waiting'`,
    [id, toolCallId, processId, now, knownUntil],
  );
  return changed === 1;
}

/** A task for which its process has to do something. */
interface DueTask {
  id: string;
  state: TaskState;
  approvalStatus: ApprovalStatus | null;
}

/**
 * Those tasks of a process that wait and whose approvals have ended, and those whose running calls are to be cancelled. The
 * first that ended come first.
 */
export function listDueTasks(db: Queries, processId: string, limit: number): Promise<DueTask[]> {
  return db.all(
    `SELECT t.id, t.state, a.status AS "approvalStatus" FROM tasks t LEFT JOIN approvals a ON a.id = t.id
     WHERE t.process_id = $1
       AND ((t.state = 'waiting' AND a.status <> 'pending') OR (t.state = 'begun' AND t.cancel_asked_at IS NOT NULL))
     ORDER BY a.resolved_at, t.id LIMIT $2`,
    [processId, limit],
  );
}

/** The tasks that wait for this process, whether their approvals have ended or not. */
export async function listWaitingTasks(db: Queries, processId: string): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `SELECT id FROM tasks WHERE process_id = $1 AND state = 'waiting'`,
    [processId],
  );
  return rows.map(({ id }) => id);
}

/** Its client does not want the call any more, which was approved and has not begun. False if it is not so. */
export async function cancelApproved(tx: Transaction, id: string, now: number): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE tasks SET state = 'gone', process_id = NULL, changed_at = $2, cancel_asked_at = $2
     WHERE id = $1 AND state = 'waiting'
       AND EXISTS (SELECT 1 FROM approvals a WHERE a.id = tasks.id AND a.status = 'approved')`,
    [id, now],
  );
  return changed === 1;
}

/** Its client does not want the running call any more. False if it does not run. */
export async function askToCancel(db: Queries, id: string, now: number): Promise<boolean> {
  const changed = await db.run(
    `UPDATE tasks SET cancel_asked_at = $2 WHERE id = $1 AND state = 'begun' AND process_id IS NOT NULL`,
    [id, now],
  );
  return changed === 1;
}

/** Nobody holds the calls of a process that has ended, for at most `limit` of its tasks. Returns how many there were. */
export function loseTasks(tx: Transaction, processId: string, now: number, limit: number): Promise<number> {
  return tx.run(
    `UPDATE tasks SET state = CASE WHEN state = 'waiting' THEN 'gone' ELSE state END, process_id = NULL, changed_at = $2
     WHERE process_id = $1 AND id IN (SELECT id FROM tasks WHERE process_id = $1 ORDER BY id LIMIT $3)`,
    [processId, now, limit],
  );
}

/** This process does not hold the call of a waiting task any more. */
export async function loseTask(db: Queries, id: string, processId: string, now: number): Promise<void> {
  await db.run(
    `UPDATE tasks SET state = 'gone', process_id = NULL, changed_at = $3
     WHERE id = $1 AND process_id = $2 AND state = 'waiting'`,
    [id, processId, now],
  );
}

/** A task that was begun and has no call to wait for: what it asked for would wait again. */
export async function loseBegun(db: Queries, id: string, now: number): Promise<void> {
  await db.run(
    `UPDATE tasks SET state = 'gone', process_id = NULL, changed_at = $2
     WHERE id = $1 AND state = 'begun' AND tool_call_id IS NULL`,
    [id, now],
  );
}

/** Has to be in the transaction that records the outcome of the call. The result is known until `knownUntil`. */
export function endTaskOf(tx: Transaction, toolCallId: string, now: number, knownUntil: number): void {
  tx.defer('UPDATE tasks SET process_id = NULL, changed_at = $2, known_until = $3 WHERE tool_call_id = $1', [
    toolCallId,
    now,
    knownUntil,
  ]);
}

/** The tool server works on the call of a task by itself, so that each replica can ask it. False if no task has this call. */
export async function followServerTask(
  tx: Transaction,
  {
    toolCallId,
    serverTaskEncrypted,
    changedAt,
    knownUntil,
  }: { toolCallId: string; serverTaskEncrypted: string; changedAt: number; knownUntil: number },
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE tasks SET server_task_sealed = $2, process_id = NULL, changed_at = $3, known_until = $4 WHERE tool_call_id = $1`,
    [toolCallId, serverTaskEncrypted, changedAt, knownUntil],
  );
  return changed > 0;
}

/** Deletes at most `limit` tasks that have become unknown. */
export async function forgetTasks(tx: Transaction, now: number, limit: number): Promise<number> {
  return tx.run(
    'DELETE FROM tasks WHERE id IN (SELECT id FROM tasks WHERE known_until <= $1 ORDER BY known_until LIMIT $2)',
    [now, limit],
  );
}
