// The decision. From what was found about a call (consider.ts) and the facts that were read inside the audit
// transaction, `decide` returns `allow`, `deny` or `pending` and the reason. It is a pure function without clock or
// store, and nothing else in the program decides. Its reasons are stored, so they come from a finite set and hold no part
// of an argument.

import type { CompiledPolicy } from '../policy/compiled-policy.ts';
import { windowText } from '../policy/limit.ts';
import type { Rule } from '../policy/policy.ts';
import type { ToolCall } from '../policy/situation.ts';
import { joinName } from '../text/name.ts';
import type { Considered, Meter } from './consider.ts';
import {
  allowsText,
  asksText,
  BUT,
  DENIED_BY_PERSON,
  DRIFTED,
  deniesText,
  FREED,
  failedText,
  forwardsText,
  mayAllowText,
  noRuleText,
  noSubjectText,
  outsideScopeText,
  passedOverText,
  ruleText,
  SO_IT_ASKS,
  UNFREED,
  UNSEEN,
  usedUpText,
} from './sentences.ts';

export type Decision = 'allow' | 'deny' | 'pending';
export const DECISIONS = ['allow', 'deny', 'pending'] as const satisfies readonly Decision[];

/** What happens to a call of a tool whose definition differs from the accepted one. */
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
  /** Set when the tool's definition differs from the accepted one and TOOLGATE_TOOL_DRIFT is not `allow`. */
  drift: Drift | null;
  freedom: Freedom | null;
  /** Set when the caller named an approval that does not free the call: the reason why it does not. */
  unfreed?: string | null;
  /** Set when the same call was asked about before, and is still waiting or was denied. */
  repeats?: Repeated | null;
  /** Set when no further approval may be opened: the sentence that says which limit is reached. */
  approvalLimit: string | null;
  /** Whether the limit of the rule that applies has no room for this call. */
  usedUp: boolean;
  /** Who takes care of a call that would wait, instead of approvers. */
  handedTo?: HandedTo | null;
}

const HANDED_TO = {
  terminal: 'The person at the terminal decides.',
  proxy: 'The MCP proxy asks for the approval.',
} as const;
export type HandedTo = keyof typeof HANDED_TO;

/** An earlier question about the same call. */
export interface Repeated {
  referenceId: string;
  /** Whether a person denied it; else it is still waiting. */
  denied: boolean;
}

export interface Decided {
  decision: Decision;
  reason: string;
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
  const action = policy.rules[index]?.action;
  if (call.relayed || call.unseen || drift === 'deny' || action === undefined || action === 'deny')
    return false;
  if (meter !== null && meter.subject === null) return false;
  if (action === 'require_approval' || held !== null || drift !== null) return true;
  return usedUp && meter?.limit.limit.beyond === 'require_approval';
}

/** The rule that asks for approval: the one that an approval of this call is about. */
export function askingRule({ policy, index, held }: Considered): Rule {
  return policy.rules[held?.index ?? index] as Rule;
}

/** Whether a call could be allowed, now or after an approval. It is for lists of tools only and decides nothing. */
export function couldPass(
  policy: CompiledPolicy,
  call: ToolCall,
  scope: ReadonlySet<string> | null,
): boolean {
  const name = joinName(call.serverName, call.toolName);
  if (scope !== null && !scope.has(name)) return false;
  return policy.index
    .candidatesFor(name, call.toolName)
    .some(index => policy.rules[index]?.action !== 'deny');
}

export function decide(considered: Considered, facts: Facts): Decided {
  const { call } = considered;
  const found = byPolicy(considered, call.unseen ? { ...facts, ...UNSEEN_FACTS } : facts);
  if (found.decision === 'allow' && call.noPlace !== undefined)
    return decided('deny', `${found.reason.slice(0, -1)}${BUT}${call.noPlace}.`, found.ruleIndex);
  const nearest = facts.drift === null ? nearestText(considered, found) : '';
  const whole = nearest === '' ? found : { ...found, reason: found.reason + nearest };
  const { handedTo = null } = facts;
  return handedTo !== null && whole.decision === 'pending' ? handedOver(whole, handedTo) : whole;
}

/**
 * The sentence about the rule that came nearest: the last one above that was passed over and would have decided more
 * freely. To allow is more than to ask, and to ask is more than to deny. A call about which people were asked and that is
 * denied all the same is not freer under another rule that asks. A changed definition is in the way of every rule.
 */
function nearestText({ policy: { rules }, held, passedOver }: Considered, found: Decided): string {
  if (found.decision === 'allow') return '';
  const byHeld = held !== null && found.ruleIndex === held.index;
  const { allow, require_approval: asks } = byHeld ? held.passedOver : passedOver;
  const asked = found.decision === 'pending' || rules[found.ruleIndex ?? -1]?.action === 'require_approval';
  const nearest = !asked && (asks?.index ?? -1) > (allow?.index ?? -1) ? asks : allow;
  if (nearest === null) return '';
  const { index, why } = nearest;
  return `${passedOverText(index, rules[index]?.name)}${why}.`;
}

/** An open question about the same call is none of theirs: it is neither repeated nor answered there. */
function handedOver(waits: Decided, to: HandedTo): Decided {
  return { ...waits, reason: `${waits.reason} ${HANDED_TO[to]}`, repeats: null };
}

/** Nobody can approve exactly this call if its arguments are not known. */
const UNSEEN_FACTS = { freedom: null, repeats: null, approvalLimit: UNSEEN } as const;

function byPolicy(considered: Considered, facts: Facts): Decided {
  const { policy, call, name, held } = considered;
  if (call.relayed) return decided('allow', `${forwardsText(call.toolName, call.serverName)}.`, null);
  if (!considered.inScope) return decided('deny', outsideScopeText(name), null);
  const found = byRule(considered, facts);
  if (held === null || found.decision === 'deny') return found;
  const why = held.condition === null ? '' : `: its ${failedText(held.condition)}`;
  const asks = `${source(policy, held.index)}${asksText(name)}${why}`;
  return needsApproval(asks, policy.rules[held.index]?.reason, held.index, facts);
}

const source = ({ rules, name }: CompiledPolicy, index: number): string =>
  ruleText(index, rules[index]?.name, name);

function byRule(considered: Considered, facts: Facts): Decided {
  const { policy, name, index, failed, meter } = considered;
  const rule = policy.rules[index];
  if (rule === undefined) {
    return decided('deny', noRuleText(policy.name, name), null);
  }
  const rules = source(policy, index);
  switch (rule.action) {
    case 'allow':
      if (considered.unmetered)
        return decided('deny', `${rules}${mayAllowText(name, rule.limit as string)}${BUT}${UNSEEN}.`, index);
      return allowed(`${rules}${allowsText(name)}`, meter, index, facts);
    case 'deny':
      if (failed !== null)
        return decided('deny', `${rules}${deniesText(name)}: its ${failedText(failed)}.`, index);
      return decided('deny', rule.reason || `${rules}${deniesText(name)}.`, index);
    case 'require_approval':
      if (facts.drift === 'deny') return drifted(`${rules}${asksText(name)}`, 'deny', index, facts);
      return needsApproval(`${rules}${asksText(name)}`, rule.reason, index, facts);
  }
}

/** The outcome for a call that the policy allows, unless its limit or a changed definition is in the way. */
function allowed(allows: string, meter: Meter | null, index: number, facts: Facts): Decided {
  if (meter !== null && meter.subject === null) {
    const { name, limit } = meter.limit;
    return decided(
      'deny',
      `${allows}${BUT}${noSubjectText(name)}${limit.per}, and this call has none.`,
      index,
    );
  }
  if (facts.drift === 'deny') return drifted(allows, 'deny', index, facts);
  if (meter !== null && facts.usedUp) return usedUp(allows, meter, index, facts);
  if (facts.drift !== null) return drifted(allows, facts.drift, index, facts);
  return decided('allow', `${allows}.`, index);
}

function usedUp(allows: string, { limit: { name, limit } }: Meter, index: number, facts: Facts): Decided {
  const { calls, atMost = calls, per = 'key', beyond } = limit;
  const spent = `${allows}${BUT}${usedUpText(name)}${atMost} ${windowText(limit)} per ${per})`;
  if (beyond !== 'require_approval') return decided('deny', `${spent}.`, index);
  return needsApproval(`${spent}${SO_IT_ASKS}`, undefined, index, facts);
}

/** The outcome for a call that the policy would allow or ask about, of a tool whose definition has changed. */
function drifted(would: string, drift: Drift, index: number, facts: Facts): Decided {
  if (drift === 'deny') return decided('deny', `${would}${BUT}${DRIFTED}.`, index);
  return needsApproval(`${would}${BUT}${DRIFTED}${SO_IT_ASKS}`, undefined, index, facts);
}

function needsApproval(asks: string, why: string | undefined, index: number, facts: Facts): Decided {
  if (facts.freedom !== null) {
    const { kind, referenceId } = facts.freedom;
    const by = kind === 'grant' ? 'a grant opened by approval' : 'approval';
    return { ...decided('allow', `${asks}${FREED}${by} ${referenceId}.`, index), freedBy: facts.freedom };
  }
  const { repeats = null } = facts;
  if (repeats?.denied) return { ...decided('deny', DENIED_BY_PERSON, index), repeats };
  const named = facts.unfreed ? ` ${unfreedBy(facts.unfreed)}` : '';
  if (facts.approvalLimit !== null && repeats === null)
    return decided('deny', `${asks}${BUT}${facts.approvalLimit}.${named}`, index);
  return { ...decided('pending', `${asks}.${why ? ` ${why}` : ''}${named}`, index), repeats };
}

/** The sentence for a caller who named an approval that does not free the call. */
export function unfreedBy(why: string): string {
  return `${UNFREED}${why}.`;
}

function decided(decision: Decision, reason: string, ruleIndex: number | null): Decided {
  return { decision, reason, ruleIndex, freedBy: null, repeats: null };
}
