// Answers approvals. If several people answer at once, exactly one wins, by a conditional update. The same transaction
// writes the event and the grant and drops unsent notifications. Asking for an approval is the job of ask.ts.

import { type Resolution, statusAfter } from '../../core/approval.ts';
import { GuardError } from '../../core/errors.ts';
import {
  type ApprovalRecord,
  findApproval,
  findApprovalByToken,
  lapseApprovals,
  resolveApproval,
  withdrawApproval,
} from '../../store/approvals.ts';
import type { Transaction } from '../../store/db.ts';
import { listSubscribers, type Subscriber } from '../../store/deliveries.ts';
import { insertGrant } from '../../store/grants.ts';
import { findKey } from '../../store/keys.ts';
import { dropNotifications } from '../../store/notifications.ts';
import { findSession } from '../../store/sessions.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { emit } from '../outgoing/outbox.ts';
import type { Job } from '../outgoing/worker.ts';
import { requireRole, type SignedIn } from '../people/sign-ins.ts';
import { hashToken, tokenKind } from '../secrets.ts';

/** Approvals that one transaction ends. */
const LAPSE_BATCH = 100;

interface Resolve {
  action: Resolution;
  /** How long the grant lasts, in milliseconds; null: there is no grant, and the approval frees only its own call. */
  grantMs: number | null;
}

/** What a person sees before answering. */
export interface Question {
  approval: ApprovalRecord;
  keyName: string;
  sessionLabel: string | null;
  requiresSignIn: boolean;
  /** Why it can no longer be answered; null while it can. */
  ended: 'approved' | 'denied' | 'timed_out' | null;
}

/** The question behind a link, or null when the link is unknown. */
export async function findQuestion(deps: Deps, token: string): Promise<Question | null> {
  const approval = await approvalBehind(deps, token);
  if (approval === null) return null;
  const [key, session] = await Promise.all([
    findKey(deps.db, approval.keyId),
    approval.sessionId === null ? null : findSession(deps.db, approval.sessionId),
  ]);
  return {
    approval,
    keyName: key?.name ?? '',
    sessionLabel: session?.label || null,
    requiresSignIn: key?.requireSignInToApprove ?? true,
    ended: ended(approval, deps.now()),
  };
}

/** Answers through a link. The link is the only credential needed, unless the key requires a signed-in operator. */
export async function resolveByLink(
  deps: Deps,
  token: string,
  resolve: Resolve,
  operator: SignedIn | null = null,
): Promise<ApprovalRecord> {
  const question = await findQuestion(deps, token);
  if (question === null) throw new GuardError('not_found', 'This approval link is unknown.');
  if (question.ended !== null) throw usedUp();
  const by = question.requiresSignIn ? resolver(operator) : 'link';
  const resolved = await resolveOnce(deps, question.approval, resolve, by);
  if (resolved === null) throw usedUp();
  return resolved;
}

/** The name under which the operator's answer is recorded. It throws if the operator may not answer. */
export function resolver(operator: SignedIn | null): Actor {
  if (operator === null) {
    throw new GuardError('sign_in_required', 'Approvals of this key need a signed-in operator.');
  }
  requireRole(operator, 'approver');
  return `operator:${operator.email}`;
}

export async function wantApproval(deps: Deps, referenceId: string): Promise<ApprovalRecord> {
  const approval = await findApproval(deps.db, referenceId);
  if (approval === null) throw noSuchApproval();
  return approval;
}

/** Answers through the administration. */
export async function resolveByOperator(
  deps: Deps,
  actor: Actor,
  referenceId: string,
  resolve: Resolve,
): Promise<ApprovalRecord> {
  const approval = await wantApproval(deps, referenceId);
  const resolved = await resolveOnce(deps, approval, resolve, actor);
  if (resolved === null) throw new GuardError('conflict', 'This approval is already answered or has lapsed.');
  return resolved;
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
    await recordChange(tx, deps, actor, 'approval.withdraw', referenceId, {});
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
    for (const approval of approvals) tell(tx, subscribers, approval, now);
    return approvals;
  });
  for (const approval of lapsed) letDetailsGo(deps, approval);
  if (lapsed.length > 0) deps.db.wake();
  return lapsed.length;
}

/** Null if somebody else answered first or the approval had timed out. */
async function resolveOnce(
  deps: Deps,
  approval: ApprovalRecord,
  { action, grantMs }: Resolve,
  by: Actor | 'link',
): Promise<ApprovalRecord | null> {
  const resolved = await deps.db.transaction({}, async tx => {
    const at = deps.now();
    const grantExpiresAt = grantMs === null ? null : at + grantMs;
    const status = statusAfter(action);
    if (!(await resolveApproval(tx, approval.id, { status, at, by, grantExpiresAt }))) return null;
    const after: ApprovalRecord = { ...approval, status, resolvedAt: at, resolvedBy: by, grantExpiresAt };
    if (grantExpiresAt !== null) openGrant(tx, after, at, grantExpiresAt);
    tell(tx, await listSubscribers(tx), after, at);
    if (by !== 'link')
      await recordChange(tx, deps, by, `approval.${action}`, approval.id, {
        grantExpiresAt: grantExpiresAt === null ? null : new Date(grantExpiresAt).toISOString(),
      });
    return after;
  });
  if (resolved !== null) {
    letDetailsGo(deps, resolved);
    deps.db.wake();
  }
  return resolved;
}

function openGrant(tx: Transaction, approval: ApprovalRecord, createdAt: number, expiresAt: number): void {
  const { id: referenceId, keyId, serverName, toolName, definitionDigest, ruleDigest } = approval;
  const about = { referenceId, keyId, serverName, toolName, definitionDigest, ruleDigest };
  insertGrant(tx, { id: newId(), ...about, createdAt, expiresAt });
}

/** Announces the outcome: to the subscribed webhooks, and in messages that were posted. Drops unsent notifications. */
function tell(
  tx: Transaction,
  subscribers: readonly Subscriber[],
  approval: ApprovalRecord,
  now: number,
): void {
  dropNotifications(tx, approval.id, now);
  emit(tx, subscribers, 'approval.resolved', approval, now);
}

/** Only after the commit: a question that was not answered after all still has to be shown. */
function letDetailsGo({ details }: Deps, { id, shows }: ApprovalRecord): void {
  if (shows === 1) details.drop(id);
}

/** A link is invalid from `expiresAt` on, even if the worker has not ended the approval yet. */
function ended(approval: ApprovalRecord, now: number): Question['ended'] {
  if (approval.status !== 'pending') return approval.status;
  return approval.expiresAt <= now ? 'timed_out' : null;
}

function approvalBehind(deps: Deps, token: string): Promise<ApprovalRecord | null> | null {
  return tokenKind(token) === 'approval' ? findApprovalByToken(deps.db, hashToken(token)) : null;
}

function noSuchApproval(): GuardError {
  return new GuardError('not_found', 'There is no approval with this referenceId.');
}

function usedUp(): GuardError {
  return new GuardError('gone', 'This approval link was used or has expired.');
}
