// Says what this machine can confine, by trying it: versions alone do not tell, because a container may forbid what its
// kernel has. It restricts this process, which is started for nothing else.

import { landlockVersion, restrictFilesAndMore } from './landlock.ts';
import { forbidNewPrivileges, installFilter } from './launcher.ts';
import type { Features } from './plan.ts';

const ENOSYS = 38;
const EOPNOTSUPP = 95;

export function probe(): Features {
  forbidNewPrivileges();
  const landlock = landlockVersion();
  const works = landlock > 0 && succeeds(() => restrict(landlock));
  const filtered = { network: false, write: [], memory: 0 };
  const asks = succeeds(() => installFilter({ ...filtered, asks: true }));
  return {
    supported: true,
    landlock: works ? landlock : 0,
    noLandlock: whyNone(landlock),
    filter: asks || succeeds(() => installFilter({ ...filtered, asks: false })),
    asks,
  };
}

function restrict(landlock: number): void {
  restrictFilesAndMore({ read: null, write: null, network: false, landlock });
}

function whyNone(version: number): string {
  if (version === -ENOSYS) return 'this kernel has no Landlock, or a container forbids it';
  if (version === -EOPNOTSUPP) return 'Landlock is turned off on this machine';
  return 'Landlock is forbidden here';
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}
