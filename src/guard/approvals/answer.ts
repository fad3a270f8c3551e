// Takes an answer to an approval, in one transaction that also writes the event and the grant and drops unsent
// notifications. If several people answer at once, exactly one wins, by a conditional update. If a group has to answer,
// each approval is a vote (votes.ts), and the last one that is needed ends the question, as a single denial does. The
// same holds where each approval has to be proven (proofs.ts), also without a group.

import { type Ended, type Resolution, statusAfter } from '../../core/approvals/approval.ts';
import { VOTED } from '../../core/approvals/event.ts';
import { type GuardError, invalidInput } from '../../core/errors.ts';
import { joinName } from '../../core/text/name.ts';
import {
  type ApprovalRecord,
  findApproval,
  isVotedOn,
  noteOnApproval,
  resolveApproval,
} from '../../store/approvals.ts';
import { listSubscribers, type Subscriber } from '../../store/deliveries.ts';
import type { Locks, Transaction } from '../../store/engine/db.ts';
import { insertGrant } from '../../store/grants.ts';
import { dropNotifications } from '../../store/notifications.ts';
import { findOperator } from '../../store/operators.ts';
import { changeMessages } from '../../store/posted-messages.ts';
import type { VoteRecord } from '../../store/votes.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { approvalsLock, OPERATORS_LOCK } from '../locks.ts';
import { emit } from '../outgoing/outbox.ts';
import { signInEnded } from '../people/acting.ts';
import { type Answerer, answerFault, storedFault } from './approvers.ts';
import { type Binds, type Bounds, boundRuleDigest, boundsOf } from './bound-grants.ts';
import { type GivenProof, keepProof, type Proven, prove } from './proofs.ts';
import { type Seen, seenFault } from './seen.ts';
import { castVote, votesFor } from './votes.ts';

export interface Resolve extends Binds, Seen {
  action: Resolution;
  /** What the person writes to the agent. */
  note?: string | null | undefined;
  /** How long the grant lasts, in milliseconds; null: there is no grant, and the approval frees only its own call. */
  grantMs: number | null;
  /** The assertion of a passkey over this answer. */
  proof?: GivenProof | undefined;
  /** Where it was answered, if that is neither a page nor the API. The log of changes records it. */
  via?: 'slack';
}

/** An answer, by somebody who may give it. */
interface PermittedAnswer extends Resolve {
  by: Actor | 'link';
  /** Null for the link and for the admin token. */
  operatorId: string | null;
  /** How the grant is bound, if the answer opens one. */
  bounds: Bounds;
  /** The verified proof; null if none is needed. */
  proven: Proven | null;
  at: number;
  /** The error if the question has ended before. */
  over: () => GuardError;
}

/** The approval that is returned is still pending if more people have to approve it. */
export async function resolveOnce(
  deps: Deps,
  approval: ApprovalRecord,
  resolve: Resolve,
  who: Answerer | 'link',
  over: () => GuardError,
): Promise<ApprovalRecord> {
  if (ended(approval, deps.now()) !== null) throw over();
  const unseen = resolve.action === 'approve' ? await seenFault(deps, approval, resolve) : null;
  const proven = unseen === null ? await prove(deps, approval, resolve, who) : null;
  const resolved = await deps.db.transaction(locksFor(approval, who), async tx => {
    const by = await admit(tx, deps, approval, who);
    // Details are let go when a question ends, and that it has ended is what has to be said then.
    if (unseen !== null) throw (await isOpen(tx, deps, approval.id)) ? unseen : over();
    // Whoever may not answer must not learn which values the call has.
    const bounds = boundsFor(deps, approval, resolve);
    const answer = { ...resolve, bounds, proven, ...by, at: deps.now(), over };
    if (!isVotedOn(approval)) return end(tx, deps, approval, answer, []);
    return answerByVote(tx, deps, approval.id, answer);
  });
  if (resolved.status !== 'pending') letDetailsGo(deps, resolved);
  deps.db.wake();
  return resolved;
}

async function isOpen(tx: Transaction, { now }: Deps, id: string): Promise<boolean> {
  const approval = await findApproval(tx, id);
  return approval !== null && ended(approval, now()) === null;
}

/** Must be called after the commit: if that fails, the question is still open and its details have to be shown. */
export function letDetailsGo({ details }: Deps, { id, shows }: ApprovalRecord): void {
  if (shows === 1) details.drop(id);
}

/** The locks make votes count one after the other, and keep operators from losing the right to answer meanwhile. */
function locksFor(approval: ApprovalRecord, who: Answerer | 'link'): Locks {
  return {
    exclusive: isVotedOn(approval) ? [approvalsLock(approval.keyId)] : [],
    shared: typeof who === 'string' ? [] : [OPERATORS_LOCK],
  };
}

/** Role and groups may have changed since the request was authenticated, so they are read again here. */
async function admit(
  tx: Transaction,
  deps: Deps,
  approval: ApprovalRecord,
  who: Answerer | 'link',
): Promise<{ by: Actor | 'link'; operatorId: string | null }> {
  if (who === 'link') return { by: who, operatorId: null };
  if (who === 'admin') {
    const fault = answerFault(approval, who);
    if (fault !== null) throw fault;
    return { by: who, operatorId: null };
  }
  const operator = await findOperator(tx, who.operatorId);
  // Somebody who was reset meanwhile, or has not joined yet, has no sign-in.
  if (operator?.status !== 'active') throw signInEnded();
  const fault = await storedFault(tx, deps, approval, operator);
  if (fault !== null) throw fault;
  return { by: `operator:${operator.email}`, operatorId: operator.id };
}

/** The lock on the key's approvals is held, so what is read here stays true. */
async function answerByVote(
  tx: Transaction,
  deps: Deps,
  referenceId: string,
  answer: PermittedAnswer,
): Promise<ApprovalRecord> {
  const { action, by, operatorId, proven, at, note, via, over } = answer;
  const approval = await findApproval(tx, referenceId);
  if (approval === null || ended(approval, at) !== null) throw over();
  if (by !== 'link' && proven !== null) await keepProof(tx, proven, { by, at });
  if (action === 'deny') return end(tx, deps, approval, answer, await votesFor(tx, [approval]));
  if (by === 'link' || operatorId === null) throw new Error('only operators can vote');
  const votes = await castVote(tx, deps, approval, { operatorId, by, at, via });
  // The agent is told the latest note of those who approve.
  const said = note ?? approval.note;
  if (votes.length >= approval.votesNeeded) return end(tx, deps, approval, { ...answer, note: said }, votes);
  if (said !== approval.note && said !== null) await noteOnApproval(tx, referenceId, said);
  const counted = { ...approval, note: said };
  emit(tx, [], VOTED, counted, at, votes);
  changeMessages(tx, approval.id, at);
  return counted;
}

async function end(
  tx: Transaction,
  deps: Deps,
  approval: ApprovalRecord,
  { action, note = null, grantMs, bounds, by, at, via, over }: PermittedAnswer,
  votes: readonly VoteRecord[],
): Promise<ApprovalRecord> {
  const grantExpiresAt = grantMs === null ? null : at + grantMs;
  const status = statusAfter(action);
  if (!(await resolveApproval(tx, approval.id, { status, at, by, grantExpiresAt, note }))) throw over();
  const after: ApprovalRecord = { ...approval, status, resolvedAt: at, resolvedBy: by, grantExpiresAt, note };
  if (grantExpiresAt !== null)
    openGrant(tx, after, bounds, { openedBy: by, createdAt: at, expiresAt: grantExpiresAt });
  tell(tx, await listSubscribers(tx), after, at, votes);
  await recordChange(tx, deps, by, `approval.${action}`, approval.id, {
    tool: joinName(approval.serverName, approval.toolName),
    grantExpiresAt: grantExpiresAt === null ? null : new Date(grantExpiresAt).toISOString(),
    ...(via !== undefined && { via }),
  });
  return after;
}

function openGrant(
  tx: Transaction,
  approval: ApprovalRecord,
  bounds: Bounds,
  opened: { openedBy: string; createdAt: number; expiresAt: number },
): void {
  const { id: referenceId, keyId, serverName, toolName, definitionDigest } = approval;
  const about = { referenceId, keyId, serverName, toolName, definitionDigest };
  const ruleDigest = boundRuleDigest(bounds, approval.ruleDigest);
  insertGrant(tx, { id: newId(), ...about, ruleDigest, ...bounds, ...opened });
}

/** Announces the outcome: to the subscribed webhooks, and in messages that were posted. Drops unsent notifications. */
export function tell(
  tx: Transaction,
  subscribers: readonly Subscriber[],
  approval: ApprovalRecord,
  now: number,
  votes: readonly VoteRecord[],
): void {
  dropNotifications(tx, approval.id, now);
  emit(tx, subscribers, 'approval.resolved', approval, now, votes);
}

/**
 * How an approval has ended; null while it can be answered. It cannot from `expiresAt` on, even if the worker has not
 * ended it yet.
 */
export function ended(approval: ApprovalRecord, now: number): Ended | null {
  if (approval.status !== 'pending') return approval.status;
  return approval.expiresAt <= now ? 'timed_out' : null;
}

function boundsFor(deps: Deps, approval: ApprovalRecord, resolve: Resolve): Bounds {
  const { votesNeeded: needed, proof } = approval;
  if (resolve.grantMs === null || (needed === 1 && proof === null))
    return boundsOf(deps.vault, approval, resolve);
  // What is signed with a passkey is the answer to one call.
  const why = proof === null ? `${needed} people have to approve it` : 'it has to be approved with a passkey';
  const message = `does not go with this approval: ${why}, and it frees one call only`;
  throw invalidInput([{ path: '/duration', message }]);
}
