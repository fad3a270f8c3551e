// Says why an approval that a caller names cannot free any call, judged by the state of the approval alone. This
// becomes part of the verdict's reason. approval-facts.ts reads the approvals, and freeing.ts compares them with the
// call.

import type { WhyNotFreed } from '../../core/decision/reason.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';

type Named = Pick<
  ApprovalRecord,
  'status' | 'expiresAt' | 'resolvedAt' | 'grantExpiresAt' | 'spentAt' | 'withdrawnAt'
>;

/** Null if it was approved for one call, after the given time, and has not been spent or withdrawn. */
export function whyUnusable(approval: Named, now: number, approvedAfter: number): WhyNotFreed | null {
  switch (approval.status) {
    case 'pending':
      return approval.expiresAt > now ? 'unanswered' : 'timed_out';
    case 'timed_out':
      return 'timed_out';
    case 'withdrawn':
      return 'withdrawn';
    case 'denied':
      return 'denied';
    case 'approved':
      if (approval.grantExpiresAt !== null) return 'opened_grant';
      if (approval.spentAt !== null) return 'used';
      if (approval.withdrawnAt !== null) return 'withdrawn';
      return (approval.resolvedAt ?? 0) > approvedAfter ? null : 'too_old';
  }
}
