// The decision. From what was found about a call (consider.ts) and the facts that were read inside the audit
// transaction, `decide` returns `allow`, `deny` or `pending` and the reason (reason.ts). It is a pure function without
// clock or store, and nothing else in the program decides.

import type { CompiledPolicy } from '../policy/compiled-policy.ts';
import { windowText } from '../policy/limit.ts';
import { ASKS, FREEDOM, type Rule } from '../policy/policy.ts';
import type { Considered, Meter } from './consider.ts';
import type {
  HandedTo,
  HeldFor,
  PassedOver,
  QuestionOutcome,
  Reason,
  TooMany,
  WhyNotFreed,
} from './reason.ts';

export type Decision = 'allow' | 'deny' | 'pending';
export const DECISIONS = ['allow', 'deny', 'pending'] as const satisfies readonly Decision[];

/** What happens to a call of a tool whose definition is not the accepted one. */
export type Drift = 'require_approval' | 'deny';

/** What frees a call whose rule requires approval: an open grant, or the one-time approval of exactly this call. */
export interface Freedom {
  kind: 'grant' | 'approval';
  referenceId: string;
}

/**
 * What a decision may know besides the policy and the call. The facts are read in the transaction that records the
 * decision.
 */
export interface Facts {
  /**
   * Set when the tool's definition is in the way of the call: it differs from the accepted one and TOOLGATE_TOOL_DRIFT is not
   * `allow`, or it is held.
   */
  drift: Drift | null;
  /** Why the definition is held, where it is not only changed. */
  heldFor?: HeldFor | null;
  freedom: Freedom | null;
  /** Set when the caller named an approval that does not free the call. */
  whyNotFreed?: WhyNotFreed | null;
  /** Set when the same call was asked about before, and is still waiting or was denied. */
  repeats?: Repeated | null;
  /** Set when no further approval may be opened. */
  approvalLimit: TooMany | null;
  /** Whether the limit of the rule that applies has no room for this call. */
  usedUp: boolean;
  /** Who takes care of a call that would wait, instead of approvers. */
  handedTo?: HandedTo | null;
}

/** An earlier question about the same call. */
export interface Repeated {
  referenceId: string;
  /** Whether a person denied it; else it is still waiting. */
  denied: boolean;
}

export interface Decided {
  decision: Decision;
  reason: Reason;
  ruleIndex: number | null;
  /** The approval or grant that freed the call. */
  freedBy: Freedom | null;
  /** The earlier question by which the call is pending or denied. */
  repeats: Repeated | null;
}

/**
 * Whether the decision about this call needs the facts about approvals: only then are they read. `usedUp` says whether
 * the limit may turn out to be used up.
 */
export function asksForApproval(
  { call, policy, index, held, meter }: Considered,
  { drift, usedUp }: Pick<Facts, 'drift' | 'usedUp'>,
): boolean {
  if (call.relayed || call.unseen || drift === 'deny') return false;
  const action = policy.rules[index]?.action;
  switch (action) {
    case undefined:
    case 'deny':
      return false;
    case 'require_approval':
      return true;
    case 'allow':
      if (meter !== null && meter.subject === null) return false;
      return held !== null || drift !== null || (usedUp && meter?.limit.limit.beyond === 'require_approval');
  }
}

/** The rule that asks for approval: the one that an approval of this call is about. */
export function askingRule({ policy, index, held }: Considered): Rule {
  return policy.rules[held?.index ?? index] as Rule;
}

export function decide(considered: Considered, facts: Facts): Decided {
  const { call } = considered;
  const found = byPolicy(considered, facts);
  if (found.decision === 'allow')
    return call.noPlace === undefined
      ? found
      : decided('deny', { ...found.reason, noPlace: call.noPlace } as Reason, found.ruleIndex);
  // A definition that is not accepted is in the way of every rule, so no rule came near.
  const nearest = facts.drift === null ? nearestRule(considered, found) : undefined;
  if (nearest !== undefined) found.reason = { ...found.reason, nearest } as Reason;
  return found;
}

/**
 * The rule that came nearest to a freer decision: the last rule that was passed over above the one that decided, and
 * whose action is freer. Where people were asked, a rule that only asks is not freer, even if they denied the call.
 */
function nearestRule(
  { policy: { rules }, held, passedOver }: Considered,
  found: Decided,
): PassedOver | undefined {
  const byHeld = held !== null && found.ruleIndex === held.index;
  const asked = found.decision === 'pending' || ASKS[rules[found.ruleIndex ?? -1]?.action ?? 'deny'];
  const freedom = asked ? FREEDOM.require_approval : FREEDOM.deny;
  let nearest: PassedOver | undefined;
  for (const passed of Object.values(byHeld ? held.passedOver : passedOver)) {
    if (passed === null || passed.rule <= (nearest?.rule ?? -1)) continue;
    if (FREEDOM[(rules[passed.rule] as Rule).action] > freedom) nearest = passed;
  }
  return nearest;
}

/** Nobody can approve exactly this call if its arguments are not known. */
const UNSEEN_FACTS = { freedom: null, repeats: null, approvalLimit: 'unseen' } as const;

type Known = Omit<Facts, 'approvalLimit'> & { approvalLimit: TooMany | 'unseen' | null };

function byPolicy(considered: Considered, given: Facts): Decided {
  const { policy, call, held } = considered;
  if (call.relayed) return decided('allow', { code: 'relayed' }, null);
  if (!considered.inScope) return decided('deny', { code: 'outside_scope' }, null);
  const facts: Known = call.unseen ? { ...given, ...UNSEEN_FACTS } : given;
  const found = byRule(considered, facts);
  if (held === null || found.decision === 'deny') return found;
  return needsApproval(asks(policy, held.index, held.condition), policy.rules[held.index], held.index, facts);
}

function byRule(considered: Considered, facts: Known): Decided {
  const { policy, index, failed, meter } = considered;
  const rule = policy.rules[index];
  const { name: policyName } = policy;
  if (rule === undefined)
    return decided('deny', { code: 'no_rule', nearest: undefined, policy: policyName }, null);
  switch (rule.action) {
    case 'allow':
      return considered.unmetered
        ? unmetered(policy, rule.limit as string, index)
        : allowed(policy, meter, index, facts);
    case 'deny':
      return denied(policy, rule, failed, index);
    case 'require_approval':
      if (facts.drift === 'deny') return drifted(policy, true, 'deny', index, facts);
      return needsApproval(asks(policy, index, null), rule, index, facts);
  }
}

function unmetered({ name: policy, rules }: CompiledPolicy, limit: string, rule: number): Decided {
  const { name: ruleName } = rules[rule] as Rule;
  return decided('deny', { code: 'unmetered', limit, nearest: undefined, policy, rule, ruleName }, rule);
}

function denied(
  { name: policy }: CompiledPolicy,
  { name: ruleName, reason }: Rule,
  failed: number | null,
  rule: number,
): Decided {
  const [condition, text] = failed === null ? [undefined, reason || undefined] : [failed, undefined];
  return decided(
    'deny',
    { code: 'denies', condition, nearest: undefined, policy, rule, ruleName, text },
    rule,
  );
}

/** The outcome for a call that the policy allows, unless its limit or the tool's definition is in the way. */
function allowed(policy: CompiledPolicy, meter: Meter | null, rule: number, facts: Known): Decided {
  if (meter !== null && meter.subject === null) return noSubject(policy, meter, rule);
  if (facts.drift === 'deny') return drifted(policy, false, 'deny', rule, facts);
  if (meter !== null && facts.usedUp) return usedUp(policy, meter, rule, facts);
  if (facts.drift !== null) return drifted(policy, false, facts.drift, rule, facts);
  const ruleName = policy.rules[rule]?.name;
  return decided('allow', { code: 'allows', noPlace: undefined, policy: policy.name, rule, ruleName }, rule);
}

function noSubject(
  { name: policy, rules }: CompiledPolicy,
  { limit: { name, limit } }: Meter,
  rule: number,
): Decided {
  const { per = 'key' } = limit;
  const ruleName = rules[rule]?.name;
  return decided(
    'deny',
    { code: 'no_subject', limit: name, nearest: undefined, per, policy, rule, ruleName },
    rule,
  );
}

function usedUp(
  { name: policy, rules }: CompiledPolicy,
  { limit: { name, limit } }: Meter,
  rule: number,
  facts: Known,
): Decided {
  const { calls, atMost = calls, per = 'key', beyond } = limit;
  const because = (answer: QuestionOutcome | undefined): Reason => ({
    answer,
    atMost: String(atMost),
    code: 'used_up',
    limit: name,
    nearest: undefined,
    noPlace: undefined,
    per,
    policy,
    rule,
    ruleName: rules[rule]?.name,
    window: windowText(limit),
  });
  if (beyond !== 'require_approval') return decided('deny', because(undefined), rule);
  return needsApproval(because, undefined, rule, facts);
}

/** The outcome for a call that the policy would allow or ask about, of a tool whose definition is not accepted. */
function drifted(
  { name: policy, rules }: CompiledPolicy,
  asks: boolean,
  drift: Drift,
  rule: number,
  facts: Known,
): Decided {
  const { heldFor } = facts;
  const because = (answer: QuestionOutcome | undefined): Reason => {
    const ruleName = rules[rule]?.name;
    const asked = asks || undefined;
    return heldFor
      ? { answer, asks: asked, code: 'unaccepted', noPlace: undefined, policy, rule, ruleName, why: heldFor }
      : { answer, asks: asked, code: 'drifted', noPlace: undefined, policy, rule, ruleName };
  };
  if (drift === 'deny') return decided('deny', because(undefined), rule);
  return needsApproval(because, undefined, rule, facts);
}

/** Makes the reason of a call that asks people, once the outcome of the question is known. */
type Because = (answer: QuestionOutcome) => Reason;

function asks({ name: policy, rules }: CompiledPolicy, rule: number, failed: number | null): Because {
  return answer => ({
    answer,
    code: 'asks',
    condition: failed ?? undefined,
    nearest: undefined,
    noPlace: undefined,
    policy,
    rule,
    ruleName: rules[rule]?.name,
  });
}

/** `rule` is the one that asks. Its own text is part of the reason while the question waits. */
function needsApproval(because: Because, rule: Rule | undefined, index: number, facts: Known): Decided {
  if (facts.freedom !== null) {
    const { kind: by, referenceId } = facts.freedom;
    return {
      ...decided('allow', because({ by, is: 'freed', referenceId }), index),
      freedBy: facts.freedom,
    };
  }
  const { repeats = null, approvalLimit, handedTo } = facts;
  if (repeats?.denied) return { ...decided('deny', because({ is: 'denied' }), index), repeats };
  const whyNotFreed = facts.whyNotFreed ?? undefined;
  if (approvalLimit !== null && repeats === null)
    return decided('deny', because(notAsked(approvalLimit, whyNotFreed)), index);
  const text = rule?.reason || undefined;
  const waits = because({ handedTo: handedTo ?? undefined, is: 'waits', text, whyNotFreed });
  // Whoever the call is handed to cannot answer an open approval of the same call, so it is not named to them.
  return { ...decided('pending', waits, index), repeats: handedTo ? null : repeats };
}

function notAsked(limit: TooMany | 'unseen', whyNotFreed: WhyNotFreed | undefined): QuestionOutcome {
  if (limit === 'unseen') return { is: 'unseen', whyNotFreed };
  return { is: 'too_many', of: limit.of, open: limit.open, whyNotFreed };
}

function decided(decision: Decision, reason: Reason, ruleIndex: number | null): Decided {
  return { decision, reason, ruleIndex, freedBy: null, repeats: null };
}
