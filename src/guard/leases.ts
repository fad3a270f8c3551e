// What a process that died has left leased: deliveries, notifications, chores, sealing. Where one process serves the
// store, the next one need not wait for the leases to end.

import { endLeases } from '../store/leases.ts';
import type { Deps } from './deps.ts';

/** Only for a store that is ours alone. */
export function takeOver(deps: Deps): Promise<void> {
  return deps.db.transaction({}, endLeases);
}
