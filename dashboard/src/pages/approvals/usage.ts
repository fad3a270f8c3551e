// How an approval was used, or can be.

import type { ListedApproval } from '../../resources.ts';

interface Usage {
  kind: 'grant' | 'spent' | 'withdrawn' | 'usable' | 'lapsed';
  /** When that happened, or will end. */
  at: string;
}

/** Null if it frees nothing. */
export function usageOf(approval: ListedApproval, now: number): Usage | null {
  const { grantExpiresAt, spentAt, withdrawnAt, usableUntil } = approval;
  if (grantExpiresAt !== null) return { kind: 'grant', at: grantExpiresAt };
  if (spentAt !== null) return { kind: 'spent', at: spentAt };
  if (withdrawnAt !== null) return { kind: 'withdrawn', at: withdrawnAt };
  if (usableUntil === null) return null;
  return { kind: Date.parse(usableUntil) > now ? 'usable' : 'lapsed', at: usableUntil };
}
