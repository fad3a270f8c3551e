// Why an approval that a caller names can free no call, or none any more: for the verdict's reason. What frees a call
// is read and compared by facts.ts; this decides nothing.

import type { ApprovalRecord } from '../../store/approvals.ts';

type Named = Pick<
  ApprovalRecord,
  'status' | 'expiresAt' | 'resolvedAt' | 'grantExpiresAt' | 'spentAt' | 'withdrawnAt'
>;

/** Null for one that was approved for one call after the given time and still has its use. */
export function whyUnusable(approval: Named, now: number, approvedAfter: number): string | null {
  switch (approval.status) {
    case 'pending':
      return approval.expiresAt > now ? 'nobody has answered it yet' : 'it timed out';
    case 'timed_out':
      return 'it timed out';
    case 'denied':
      return 'it was denied';
    case 'approved':
      if (approval.grantExpiresAt !== null) return 'it opened a grant, and no grant is open for this call';
      if (approval.spentAt !== null) return 'it has been used';
      if (approval.withdrawnAt !== null) return 'it was withdrawn';
      return (approval.resolvedAt ?? 0) > approvedAfter ? null : 'it was approved too long ago';
  }
}
