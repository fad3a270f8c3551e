// Records who changed what, in the transaction of the change.

import { insertChange } from '../store/changes.ts';
import type { Queries } from '../store/db.ts';
import { type Actor, type Guard, newId } from './guard.ts';

export function recordChange(
  tx: Queries,
  guard: Guard,
  actor: Actor,
  action: string,
  target: string,
  detail: Record<string, unknown>,
): Promise<void> {
  return insertChange(tx, { id: newId(), at: guard.now(), actor, action, target, detail });
}
