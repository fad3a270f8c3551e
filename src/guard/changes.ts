// Records who changed what, in the transaction of the change.

import { insertChange } from '../store/changes.ts';
import type { Queries } from '../store/engine/db.ts';
import type { Actor, Deps } from './deps.ts';
import { newId } from './ids.ts';

export function recordChange(
  tx: Queries,
  deps: Deps,
  actor: Actor | 'link',
  action: string,
  target: string,
  detail: Record<string, unknown>,
): Promise<void> {
  return insertChange(tx, { id: newId(), at: deps.now(), actor, action, target, detail });
}
