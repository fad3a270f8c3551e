// Which calls somebody may still ask the answer of: those of a task, and those that carried an idempotency key.

import type { Queries } from '../../store/engine/db.ts';
import { isIdempotentCall } from '../../store/idempotent-calls.ts';
import { findTaskOfCall } from '../../store/tasks.ts';

export async function isKnownCall(db: Queries, toolCallId: string, now: number): Promise<boolean> {
  const task = await findTaskOfCall(db, toolCallId);
  return (task !== null && task.knownUntil > now) || isIdempotentCall(db, toolCallId, now);
}
