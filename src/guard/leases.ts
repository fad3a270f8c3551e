// Ends the leases that a process has left behind when it died: on deliveries, notifications, chores and sealing. If
// only one process uses the store, the next one need not wait until the leases expire.

import { endLeases } from '../store/leases.ts';
import type { Deps } from './deps.ts';

/** This is allowed only if no other process uses the store. */
export function takeOver(deps: Deps): Promise<void> {
  return deps.db.transaction({}, endLeases);
}
