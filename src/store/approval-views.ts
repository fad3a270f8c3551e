// Approvals as events and the admin API show them.

import type { ListedApproval } from '../core/api/resources.ts';
import type { ApprovalView } from '../core/approvals/event.ts';
import { type ApprovalRecord, isVotedOn } from './approvals.ts';
import type { VoteRecord } from './votes.ts';

/**
 * An approval as the admin API lists it, with its votes. `approvedFor` is how long an approval of one call can be spent.
 */
export function approvalListed(
  approval: ApprovalRecord,
  votes: readonly VoteRecord[],
  approvedFor: number,
): ListedApproval {
  const { status, resolvedAt, grantExpiresAt, spentAt, withdrawnAt } = approval;
  const once = status === 'approved' && grantExpiresAt === null && resolvedAt !== null;
  return {
    ...approvalView(approval, votes),
    proof: approval.proof,
    spentAt: spentAt === null ? null : iso(spentAt),
    withdrawnAt: withdrawnAt === null ? null : iso(withdrawnAt),
    usableUntil: once ? iso(resolvedAt + approvedFor) : null,
    ...(approval.personEmail !== null && { personEmail: approval.personEmail }),
  };
}

/** How many people have to approve, and who has. Where nobody votes, whoever approved is the only one. */
export function approvalVotes(approval: ApprovalRecord, votes: readonly VoteRecord[]): ApprovalView['votes'] {
  const { id, status, votesNeeded: needed, resolvedBy, resolvedAt } = approval;
  if (!isVotedOn(approval) && status === 'approved' && resolvedBy !== null && resolvedAt !== null)
    return { needed, approved: [{ by: resolvedBy, at: iso(resolvedAt) }] };
  const cast = votes.filter(each => each.approvalId === id);
  return { needed, approved: cast.map(({ by, at }) => ({ by, at: iso(at) })) };
}

/** An approval as events show it. */
export function approvalView(approval: ApprovalRecord, votes: readonly VoteRecord[] = []): ApprovalView {
  return {
    referenceId: approval.id,
    toolCallId: approval.toolCallId,
    policyId: approval.policyId,
    keyId: approval.keyId,
    sessionId: approval.sessionId,
    ...(approval.personId !== null && { personId: approval.personId }),
    ...(approval.runId !== null && { runId: approval.runId }),
    surface: approval.surface,
    serverName: approval.serverName,
    toolName: approval.toolName,
    status: approval.status,
    reason: approval.reason,
    createdAt: iso(approval.createdAt),
    expiresAt: iso(approval.expiresAt),
    resolvedAt: approval.resolvedAt === null ? null : iso(approval.resolvedAt),
    resolvedBy: approval.resolvedBy,
    grantExpiresAt: approval.grantExpiresAt === null ? null : iso(approval.grantExpiresAt),
    note: approval.note,
    approverGroup: approval.approverGroup,
    votes: approvalVotes(approval, votes),
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
