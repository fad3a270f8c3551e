// The decision. Given a policy, a call and the facts read inside the audit transaction, says `allow`,
// `deny` or `pending`, and why. Pure: no clock, no store, no second road around it. The arguments of the
// call are not among its inputs; an approval is bound to them by a digest that the guard compares.

import { joinName } from './name.ts';
import { type Policy, RuleIndex } from './policy.ts';

export type Decision = 'allow' | 'deny' | 'pending';
export const DECISIONS = ['allow', 'deny', 'pending'] as const satisfies readonly Decision[];

export interface ToolCall {
  serverName: string;
  toolName: string;
  /** Not a tool: a resource, prompt or completion that the key's setting `forward` names. `toolName` is the method. */
  relayed?: true;
  /** Set when nothing more may be forwarded now: the sentence that says which bound is reached. */
  noPlace?: string;
}

/** What a call gets whose tool shows another definition than the accepted one. */
export type Drift = 'require_approval' | 'deny';

/** A policy version with its rules compiled; made once and kept as long as the version is current. */
export interface CompiledPolicy extends Policy {
  index: RuleIndex;
}

export function compilePolicy(policy: Policy): CompiledPolicy {
  return { ...policy, index: new RuleIndex(policy.rules) };
}

/** What frees a call whose rule asks for approval: an open grant, or the one-time approval of this very call. */
export interface Freedom {
  kind: 'grant' | 'approval';
  referenceId: string;
}

/** What a decision may know besides the policy and the call. Read in the transaction that records it. */
export interface Facts {
  /** The session's full tool names; null when not scoped. */
  scope: ReadonlySet<string> | null;
  /** Set when the tool shows another definition than the accepted one, and the setting minds. */
  drift: Drift | null;
  freedom: Freedom | null;
  /** Set when the caller names an approval that does not free the call: why not. */
  unfreed?: string | null;
  /** Set when no further approval may be opened: the sentence that says which limit is reached. */
  approvalLimit: string | null;
}

export interface Outcome {
  decision: Decision;
  reason: string;
  ruleIndex: number | null;
  /** The approval or grant that freed the call. */
  freedBy: Freedom | null;
}

/** Whether the facts about approvals matter for this call: only one whose rule asks for approval reads them. */
export function asksForApproval(
  policy: CompiledPolicy,
  call: ToolCall,
  { scope, drift }: Pick<Facts, 'scope' | 'drift'>,
): boolean {
  if (call.relayed || drift === 'deny') return false;
  const name = joinName(call.serverName, call.toolName);
  if (scope !== null && !scope.has(name)) return false;
  const action = policy.rules[policy.index.firstFor(name, call.toolName)]?.action;
  return action === 'require_approval' || (action === 'allow' && drift !== null);
}

/** Whether a call could pass, now or after an approval. For listings only; it decides nothing. */
export function couldPass(policy: CompiledPolicy, call: ToolCall, scope: Facts['scope']): boolean {
  const name = joinName(call.serverName, call.toolName);
  if (scope !== null && !scope.has(name)) return false;
  const action = policy.rules[policy.index.firstFor(name, call.toolName)]?.action;
  return action !== undefined && action !== 'deny';
}

export function decide(policy: CompiledPolicy, call: ToolCall, facts: Facts): Outcome {
  const found = byPolicy(policy, call, facts);
  if (found.decision !== 'allow' || call.noPlace === undefined) return found;
  return outcome('deny', `${found.reason.slice(0, -1)}, but ${call.noPlace}.`, found.ruleIndex);
}

function byPolicy(policy: CompiledPolicy, call: ToolCall, facts: Facts): Outcome {
  const name = joinName(call.serverName, call.toolName);
  if (call.relayed)
    return outcome('allow', `This key's setting forwards ${call.toolName} to ${call.serverName}.`, null);
  if (facts.scope !== null && !facts.scope.has(name)) {
    return outcome('deny', `${name} is outside this session's scopeTools.`, null);
  }
  const index = policy.index.firstFor(name, call.toolName);
  const rule = policy.rules[index];
  if (rule === undefined) {
    return outcome(
      'deny',
      `No rule of policy "${policy.name}" matches ${name}; unmatched calls are denied.`,
      null,
    );
  }
  const source = `Rule ${index} of policy "${policy.name}"`;
  switch (rule.action) {
    case 'allow':
      if (facts.drift !== null) return drifted(`${source} allows ${name}`, facts.drift, index, facts);
      return outcome('allow', `${source} allows ${name}.`, index);
    case 'deny':
      return outcome('deny', rule.reason || `${source} denies ${name}.`, index);
    case 'require_approval':
      if (facts.drift === 'deny')
        return drifted(`${source} requires approval for ${name}`, 'deny', index, facts);
      return needsApproval(`${source} requires approval for ${name}`, rule.reason, index, facts);
  }
}

const DRIFTED = 'the definition of the tool has changed and no operator has accepted it';

/** What the policy would let pass, were the tool still the one that was accepted. */
function drifted(would: string, drift: Drift, index: number, facts: Facts): Outcome {
  if (drift === 'deny') return outcome('deny', `${would}, but ${DRIFTED}.`, index);
  return needsApproval(`${would}, but ${DRIFTED}, so it requires approval`, undefined, index, facts);
}

function needsApproval(asks: string, why: string | undefined, index: number, facts: Facts): Outcome {
  if (facts.freedom !== null) {
    const { kind, referenceId } = facts.freedom;
    const by = kind === 'grant' ? 'a grant opened by approval' : 'approval';
    return { ...outcome('allow', `${asks}; freed by ${by} ${referenceId}.`, index), freedBy: facts.freedom };
  }
  const named = facts.unfreed ? ` ${unfreedBy(facts.unfreed)}` : '';
  if (facts.approvalLimit !== null)
    return outcome('deny', `${asks}, but ${facts.approvalLimit}.${named}`, index);
  return outcome('pending', `${asks}.${why ? ` ${why}` : ''}${named}`, index);
}

/** What a caller is told whose named approval did not help. */
export function unfreedBy(why: string): string {
  return `The approval that was named does not free this call: ${why}.`;
}

function outcome(decision: Decision, reason: string, ruleIndex: number | null): Outcome {
  return { decision, reason, ruleIndex, freedBy: null };
}
