// The decision. From a policy, a call and the facts that were read inside the audit transaction, `decide` returns
// `allow`, `deny` or `pending` and the reason. It is a pure function without clock or store, and nothing else in the
// program decides. The arguments of the call are not among its inputs; an approval is bound to them by a digest that
// the guard compares.

import { joinName } from './name.ts';
import { type Policy, RuleIndex } from './policy.ts';

export type Decision = 'allow' | 'deny' | 'pending';
export const DECISIONS = ['allow', 'deny', 'pending'] as const satisfies readonly Decision[];

export interface ToolCall {
  serverName: string;
  toolName: string;
  /**
   * True for a resource, a prompt or a completion, which the key's setting `forward` allows; `toolName` is then the
   * method.
   */
  relayed?: true;
  /** Set when no further call may be forwarded now: the sentence that says which limit is reached. */
  noPlace?: string;
}

/** What happens to a call of a tool whose definition differs from the accepted one. */
export type Drift = 'require_approval' | 'deny';

/** A policy version with its rules compiled; it is made once and kept as long as the version is current. */
export interface CompiledPolicy extends Policy {
  index: RuleIndex;
}

export function compilePolicy(policy: Policy): CompiledPolicy {
  return { ...policy, index: new RuleIndex(policy.rules) };
}

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
  /** The full names of the tools that the session may call; null when the session has no scope. */
  scope: ReadonlySet<string> | null;
  /** Set when the tool's definition differs from the accepted one and TOOLGATE_TOOL_DRIFT is not `allow`. */
  drift: Drift | null;
  freedom: Freedom | null;
  /** Set when the caller named an approval that does not free the call: the reason why it does not. */
  unfreed?: string | null;
  /** Set when no further approval may be opened: the sentence that says which limit is reached. */
  approvalLimit: string | null;
}

export interface Decided {
  decision: Decision;
  reason: string;
  ruleIndex: number | null;
  /** The approval or grant that freed the call. */
  freedBy: Freedom | null;
}

/** Whether the decision about this call needs the facts about approvals: only then are they read. */
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

/** Whether a call could be allowed, now or after an approval. It is for lists of tools only and decides nothing. */
export function couldPass(policy: CompiledPolicy, call: ToolCall, scope: Facts['scope']): boolean {
  const name = joinName(call.serverName, call.toolName);
  if (scope !== null && !scope.has(name)) return false;
  const action = policy.rules[policy.index.firstFor(name, call.toolName)]?.action;
  return action !== undefined && action !== 'deny';
}

export function decide(policy: CompiledPolicy, call: ToolCall, facts: Facts): Decided {
  const found = byPolicy(policy, call, facts);
  if (found.decision !== 'allow' || call.noPlace === undefined) return found;
  return decided('deny', `${found.reason.slice(0, -1)}, but ${call.noPlace}.`, found.ruleIndex);
}

function byPolicy(policy: CompiledPolicy, call: ToolCall, facts: Facts): Decided {
  const name = joinName(call.serverName, call.toolName);
  if (call.relayed)
    return decided('allow', `This key's setting forwards ${call.toolName} to ${call.serverName}.`, null);
  if (facts.scope !== null && !facts.scope.has(name)) {
    return decided('deny', `${name} is outside this session's scopeTools.`, null);
  }
  const index = policy.index.firstFor(name, call.toolName);
  const rule = policy.rules[index];
  if (rule === undefined) {
    return decided(
      'deny',
      `No rule of policy "${policy.name}" matches ${name}; unmatched calls are denied.`,
      null,
    );
  }
  const source = `Rule ${index} of policy "${policy.name}"`;
  switch (rule.action) {
    case 'allow':
      if (facts.drift !== null) return drifted(`${source} allows ${name}`, facts.drift, index, facts);
      return decided('allow', `${source} allows ${name}.`, index);
    case 'deny':
      return decided('deny', rule.reason || `${source} denies ${name}.`, index);
    case 'require_approval':
      if (facts.drift === 'deny')
        return drifted(`${source} requires approval for ${name}`, 'deny', index, facts);
      return needsApproval(`${source} requires approval for ${name}`, rule.reason, index, facts);
  }
}

const DRIFTED = 'the definition of the tool has changed and no operator has accepted it';

/** The outcome for a call that the policy would allow or ask about, of a tool whose definition has changed. */
function drifted(would: string, drift: Drift, index: number, facts: Facts): Decided {
  if (drift === 'deny') return decided('deny', `${would}, but ${DRIFTED}.`, index);
  return needsApproval(`${would}, but ${DRIFTED}, so it requires approval`, undefined, index, facts);
}

function needsApproval(asks: string, why: string | undefined, index: number, facts: Facts): Decided {
  if (facts.freedom !== null) {
    const { kind, referenceId } = facts.freedom;
    const by = kind === 'grant' ? 'a grant opened by approval' : 'approval';
    return { ...decided('allow', `${asks}; freed by ${by} ${referenceId}.`, index), freedBy: facts.freedom };
  }
  const named = facts.unfreed ? ` ${unfreedBy(facts.unfreed)}` : '';
  if (facts.approvalLimit !== null)
    return decided('deny', `${asks}, but ${facts.approvalLimit}.${named}`, index);
  return decided('pending', `${asks}.${why ? ` ${why}` : ''}${named}`, index);
}

/** The sentence for a caller who named an approval that does not free the call. */
export function unfreedBy(why: string): string {
  return `The approval that was named does not free this call: ${why}.`;
}

function decided(decision: Decision, reason: string, ruleIndex: number | null): Decided {
  return { decision, reason, ruleIndex, freedBy: null };
}
