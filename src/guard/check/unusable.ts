// Says why an approval that a caller names cannot free a call; the text becomes part of the verdict's reason. This is
// not a decision: facts.ts reads the approvals and compares them with the call.

import type { ApprovalRecord } from '../../store/approvals.ts';

type Named = Pick<
  ApprovalRecord,
  'status' | 'expiresAt' | 'resolvedAt' | 'grantExpiresAt' | 'spentAt' | 'withdrawnAt'
>;

/** Null if it was approved for one call, after the given time, and has not been spent or withdrawn. */
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
