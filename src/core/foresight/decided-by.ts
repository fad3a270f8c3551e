// Says which rule of a key's current policy decided a call that is recorded. The recorded rule may be one of an earlier
// version, or of another policy that the key had: it counts as the same rule if it is written in the same words.

import type { CompiledPolicy } from '../policy/compiled-policy.ts';
import { ASKS, type Rule } from '../policy/policy.ts';
import { unnamedLine } from '../policy-file/policy-text.ts';
import { joinName } from '../text/name.ts';
import { type Evidence, evidenceOf, type RecordedCall } from './evidence.ts';
import type { DecidedBy, SeenCall } from './seen-tools.ts';

/**
 * The call for seen-tools.ts. Null if no rule had a say: it was relayed, or outside its session's scope. `recorded` is
 * the policy version that decided it; null if it cannot be read any more.
 */
export function seenCall(
  call: RecordedCall & { count: number },
  recorded: CompiledPolicy | null,
  current: CompiledPolicy,
): SeenCall | null {
  const evidence = evidenceOf(call);
  if (evidence.cause === 'scope' || evidence.cause === 'relayed') return null;
  const { serverName, toolName, decision, count } = call;
  const rule = call.ruleIndex === null ? undefined : recorded?.rules[call.ruleIndex];
  return {
    serverName,
    toolName,
    decision,
    count,
    by: decidedBy(call, rule, evidence, current),
    held: decision !== 'deny' && rule !== undefined && ASKS[rule.action] && mayBeHeld(evidence),
  };
}

/** A rule that asks also holds what rules below it decide about, if a condition of it could not be evaluated. */
function mayBeHeld({ failed, cause }: Evidence): boolean {
  return cause === 'unread' || (typeof failed === 'object' && failed !== null);
}

function decidedBy(
  call: RecordedCall,
  rule: Rule | undefined,
  { cause }: Evidence,
  { id, version, rules, index }: CompiledPolicy,
): DecidedBy {
  const isCurrent = call.policyId === id && call.policyVersion === version;
  const candidates = index.candidatesFor(joinName(call.serverName, call.toolName), call.toolName);
  if (call.ruleIndex === null) {
    const unmatched = candidates.length === 0 || (isCurrent && cause === 'no rule');
    return unmatched ? 'no rule' : 'other';
  }
  if (isCurrent) return candidates.includes(call.ruleIndex) ? call.ruleIndex : 'other';
  if (rule === undefined) return 'other';
  const line = unnamedLine(rule);
  return candidates.find(each => unnamedLine(rules[each] as Rule) === line) ?? 'other';
}
