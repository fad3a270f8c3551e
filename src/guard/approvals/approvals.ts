// The ways to an answer: through the link, through the administration, or none in time. answer.ts takes the answer,
// approvers.ts says who may give it, and asking for an approval is the job of ask.ts.

import type { Ended, Resolution } from '../../core/approvals/approval.ts';
import { GuardError } from '../../core/errors.ts';
import { joinName } from '../../core/text/name.ts';
import {
  type ApprovalRecord,
  findApproval,
  findApprovalByToken,
  isVotedOn,
  lapseApprovals,
} from '../../store/approvals.ts';
import { listSubscribers } from '../../store/deliveries.ts';
import { findKey } from '../../store/keys.ts';
import { findSession } from '../../store/sessions.ts';
import { withdrawApproval } from '../../store/usable-approvals.ts';
import type { VoteRecord } from '../../store/votes.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import type { Job } from '../outgoing/worker.ts';
import type { RelyingParty } from '../people/passkey-responses.ts';
import { roleFault, type SignedIn } from '../people/sign-ins.ts';
import { hashToken, tokenKind } from '../secrets.ts';
import { ended, letDetailsGo, type Resolve, resolveOnce, tell } from './answer.ts';
import { type Answerer, answerFault, isOwnCall } from './approvers.ts';
import { beginProof } from './proofs.ts';
import { votesFor } from './votes.ts';

/** Approvals that one transaction ends. */
const LAPSE_BATCH = 100;

/** What a person sees before answering. */
export interface Question {
  approval: ApprovalRecord;
  keyName: string;
  sessionLabel: string | null;
  requiresSignIn: boolean;
  /** Whether each approval is a vote. */
  isVotedOn: boolean;
  /** Who has approved so far, if they vote. */
  votes: readonly VoteRecord[];
  /** Why it can no longer be answered; null while it can. */
  ended: Ended | null;
}

/** The question behind a link, or null when the link is unknown. */
export async function findQuestion(deps: Deps, token: string): Promise<Question | null> {
  const approval = await approvalBehind(deps, token);
  if (approval === null) return null;
  const [key, session, votes] = await Promise.all([
    findKey(deps.db, approval.keyId),
    approval.sessionId === null ? null : findSession(deps.db, approval.sessionId),
    votesFor(deps.db, [approval]),
  ]);
  const votedOn = isVotedOn(approval);
  return {
    approval,
    keyName: key?.name ?? '',
    sessionLabel: session?.label || null,
    isVotedOn: votedOn,
    requiresSignIn: votedOn || (key?.requireSignInToApprove ?? true),
    votes,
    ended: ended(approval, deps.now()),
  };
}

/**
 * Answers through a link. The link is the only credential needed, unless the key or the rule requires a signed-in
 * operator.
 */
export async function resolveByLink(
  deps: Deps,
  token: string,
  resolve: Resolve,
  operator: SignedIn | null = null,
): Promise<ApprovalRecord> {
  const question = await findQuestion(deps, token);
  if (question === null) throw new GuardError('not_found', 'This approval link is unknown.');
  if (question.ended !== null) throw usedUp();
  return resolveOnce(deps, question.approval, resolve, linkAnswerer(question, operator), usedUp);
}

/**
 * Who answers through a link. An approver who happens to be signed in answers by name; otherwise it is whoever has the
 * link. It throws if a signed-in operator is needed and this one may not answer, and if the call is in their own name.
 */
export function linkAnswerer(
  { approval, requiresSignIn }: Pick<Question, 'approval' | 'requiresSignIn'>,
  operator: SignedIn | null,
): Answerer | 'link' {
  if (operator === null && requiresSignIn) {
    throw new GuardError('sign_in_required', 'This question needs the answer of a signed-in operator.');
  }
  if (operator === null) return 'link';
  const isApprover = roleFault(operator, 'approver') === null;
  if (!requiresSignIn && !isApprover && !isOwnCall(approval, operator)) return 'link';
  const fault = answerFault(approval, operator);
  if (fault !== null) throw fault;
  return operator;
}

export async function requireApproval(deps: Deps, referenceId: string): Promise<ApprovalRecord> {
  const approval = await findApproval(deps.db, referenceId);
  if (approval === null) throw noSuchApproval();
  return approval;
}

/** Answers through the administration. */
export async function resolveByOperator(
  deps: Deps,
  who: Answerer,
  referenceId: string,
  resolve: Resolve,
): Promise<ApprovalRecord> {
  return resolveOnce(deps, await requireApproval(deps, referenceId), resolve, who, answeredBefore);
}

/** What a browser needs to ask an operator for the passkey that signs this answer. */
export async function beginAnswer(
  deps: Deps,
  who: Answerer,
  referenceId: string,
  { action, rp }: { action: Resolution; rp: RelyingParty | null },
) {
  const approval = await requireApproval(deps, referenceId);
  if (ended(approval, deps.now()) !== null) throw answeredBefore();
  return beginProof(deps, approval, who, action, rp);
}

/**
 * Withdraws an approval of one call: once this has returned, the approval frees no call. If it is withdrawn and spent
 * at the same time, exactly one of the two conditional updates wins. To end a grant, see grants.ts.
 */
export async function withdraw(deps: Deps, actor: Actor, referenceId: string): Promise<void> {
  await deps.db.transaction({}, async tx => {
    const withdrawn = await withdrawApproval(tx, referenceId, deps.now());
    const approval = await findApproval(tx, referenceId);
    if (approval === null) throw noSuchApproval();
    if (!withdrawn) throw new GuardError('conflict', notToWithdraw(approval));
    const tool = joinName(approval.serverName, approval.toolName);
    await recordChange(tx, deps, actor, 'approval.withdraw', referenceId, { tool });
  });
}

function notToWithdraw({ status, spentAt, grantExpiresAt }: ApprovalRecord): string {
  if (status !== 'approved') return 'Only an approval that was given can be withdrawn, and this one was not.';
  if (grantExpiresAt !== null) return 'This approval opened a grant. Revoke the grant instead.';
  return spentAt === null
    ? 'This approval was withdrawn before.'
    : 'This approval is spent: the call was allowed.';
}

/** The job that ends approvals that nobody answered in time. */
export function lapses(deps: Deps): Job {
  return async () => {
    while ((await lapse(deps, LAPSE_BATCH)) === LAPSE_BATCH);
  };
}

/** Returns how many it ended. */
export async function lapse(deps: Deps, limit: number): Promise<number> {
  const lapsed = await deps.db.transaction({}, async tx => {
    const now = deps.now();
    const approvals = await lapseApprovals(tx, now, limit);
    if (approvals.length === 0) return [];
    const subscribers = await listSubscribers(tx);
    const votes = await votesFor(tx, approvals);
    for (const approval of approvals) tell(tx, subscribers, approval, now, votes);
    return approvals;
  });
  for (const approval of lapsed) letDetailsGo(deps, approval);
  if (lapsed.length > 0) deps.db.wake();
  return lapsed.length;
}

function approvalBehind(deps: Deps, token: string): Promise<ApprovalRecord | null> | null {
  return tokenKind(token) === 'approval' ? findApprovalByToken(deps.db, hashToken(token)) : null;
}

function noSuchApproval(): GuardError {
  return new GuardError('not_found', 'There is no approval with this referenceId.');
}

function answeredBefore(): GuardError {
  return new GuardError('conflict', 'This approval is already answered or has lapsed.');
}

function usedUp(): GuardError {
  return new GuardError('gone', 'This approval link was used or has expired.');
}
