// Compares a call whose rule asks for approval with approvals and grants: it says whether one of them is about this
// call, its caller and its rule. It reads nothing: approval-facts.ts does, inside the audit transaction.

import type { Drift } from '../../core/decision/decide.ts';
import type { HandedTo } from '../../core/decision/reason.ts';
import { knowsRepeats } from '../../core/text/surface.ts';
import { isVotedOn } from '../../store/approvals.ts';
import type { GrantRecord } from '../../store/grants.ts';
import type { PersonFacts } from '../../store/people.ts';
import type { Spendable } from '../../store/usable-approvals.ts';
import type { Asked } from '../approvals/ask.ts';
import { grantRuleDigest } from '../approvals/bound-grants.ts';
import type { Principal } from '../credentials.ts';
import type { CheckRequest } from './request.ts';

/**
 * A call whose rule asks for approval: it is pending unless a grant or an approval frees it. Its digests are computed
 * once, because the arguments may be large and are compared with many approvals.
 */
export interface Asking extends Asked {
  request: CheckRequest;
  /** The person in whose name the call is made; null if it is made in nobody's. */
  person: PersonFacts | null;
  drift: Drift | null;
  /** Who takes care of the call instead of approvers. */
  receiver: HandedTo | null;
}

/** Whether an approval frees a call of the same digest. */
export function frees(approval: Spendable, asking: Asking): boolean {
  return (
    mayUse(approval, asking.request) &&
    isSameTool(approval, asking.request) &&
    sameDefinition(approval, asking) &&
    enoughApprovers(approval, asking) &&
    hasItsVotes(approval)
  );
}

/** The rule may have changed, or another one may hold the call now: the people whom it wants must have approved. */
export function enoughApprovers(
  { approverGroup, votesNeeded, proof }: Pick<Spendable, 'approverGroup' | 'votesNeeded' | 'proof'>,
  { rule: { approvers } }: Asking,
): boolean {
  if (approvers === undefined) return true;
  return (
    (approvers.group === undefined || approverGroup === approvers.group) &&
    (approvers.proof === undefined || proof === approvers.proof) &&
    votesNeeded >= (approvers.count ?? 1)
  );
}

/**
 * Whether an approval is about calls of this key, in the same person's name or in nobody's. Whoever approved it did not
 * agree to a call in another's name, which may be their own.
 */
export function isFor(
  { keyId, personId }: Pick<Spendable, 'keyId' | 'personId'>,
  principal: Principal,
): boolean {
  return keyId === principal.keyId && personId === (principal.personId ?? null);
}

/** Nobody frees calls in their own name: a grant that somebody opened is for the calls of the others. */
export function isOwn({ openedBy }: GrantRecord, { person }: Asking): boolean {
  return person !== null && openedBy === `operator:${person.email}`;
}

/**
 * An approval counts only on the surface that asked for it. Where a repeated call is the same question, the call need
 * not name it if the same person or credential asked for it.
 */
function mayUse(approval: Spendable, { surface, principal, referenceId }: CheckRequest): boolean {
  if (approval.surface !== surface || !isFor(approval, principal)) return false;
  if (referenceId !== null) return approval.id === referenceId;
  return knowsRepeats(surface) && isSameAsker(approval, principal);
}

/** A person is the same in all their sessions. Without a person, it must be the same session, or the key itself. */
export function isSameAsker(
  { sessionId, personId }: Pick<Spendable, 'sessionId' | 'personId'>,
  principal: Principal,
): boolean {
  return personId === null ? sessionId === principal.sessionId : personId === principal.personId;
}

/** A replica of an older version knows no groups, or no proof: what somebody answered there does not count. */
function hasItsVotes(approval: Spendable): boolean {
  const { votesNeeded, votes, proof, proofs } = approval;
  return !isVotedOn(approval) || (votes >= votesNeeded && (proof === null || proofs >= votesNeeded));
}

interface About {
  keyId: string;
  serverName: string;
  toolName: string;
  definitionDigest: string | null;
}

export function isSameTool(about: About, { principal, call }: CheckRequest): boolean {
  return (
    about.keyId === principal.keyId &&
    about.serverName === call.serverName &&
    about.toolName === call.toolName
  );
}

/**
 * A grant covers what the same rule holds, for the accepted definition of the tool. It covers a changed definition only
 * if that one was shown when the approval was asked for.
 */
export function grantCovers(
  grant: GrantRecord,
  { drift, definitionDigest, rule, ruleDigest }: Asking,
): boolean {
  // An approval that has to be proven opens no grant.
  if (rule.approvers?.proof !== undefined) return false;
  if (grantRuleDigest(grant) !== ruleDigest) return false;
  // Where nobody is named as its opener, nobody can tell whether a person of the group opened it.
  if (rule.approvers !== undefined && grant.openedBy === null) return false;
  return drift === null || (grant.definitionDigest !== null && grant.definitionDigest === definitionDigest);
}

/**
 * An approval covers the definition that the tool had when the approval was asked for. If none was known then, it
 * covers the accepted one.
 */
export function sameDefinition(approval: About, { drift, definitionDigest }: Asking): boolean {
  if (approval.definitionDigest === null) return drift === null;
  return approval.definitionDigest === definitionDigest;
}
