// The decisions of a group by a clock that stands still: however busy the machine is, no call is left for a later group
// because of the time that its digest took.

import { CheckWork, newMemory } from '../../../src/guard/check/check.ts';
import type { Deps } from '../../../src/guard/deps.ts';

export function untimed(deps: Deps): CheckWork {
  return new CheckWork(deps, newMemory(), false, () => 0);
}
