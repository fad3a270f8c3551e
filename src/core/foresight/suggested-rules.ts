// The rules of a policy, narrowed to one tool that was called. They decide the calls of that tool that were recorded as
// the policy did, and let through no call that the policy would not.

import { conditionsOf, FREEDOM, type Policy, type Rule } from '../policy/policy.ts';
import { exactRule } from '../policy-file/exact-rule.ts';
import type { SeenTool } from './seen-tools.ts';

/** The rules that are kept, by their numbers. Empty where no rule decided anything about the tool. */
export function rulesFor(tool: SeenTool, policy: Policy): Map<number, Rule> {
  return new Map(keptRules(tool, policy).map(index => [index, narrowed(policy.rules[index] as Rule, tool)]));
}

/**
 * The numbers of the rules that are kept. Those that decided calls are, and above them also those that guard: without a
 * rule that denies or asks, or that has a limit, a rule below it would decide about further calls. Whatever no recorded
 * call needs is left out, because what no rule matches is denied.
 */
export function keptRules(tool: SeenTool, { rules }: Policy): readonly number[] {
  const { candidates } = tool;
  if (tool.unsure) return candidates;
  const last = candidates.findLastIndex(each => tool.rules.has(each));
  return candidates.slice(0, last + 1).filter(each => tool.rules.has(each) || isGuard(rules[each] as Rule));
}

function isGuard({ action, limit }: Rule): boolean {
  return FREEDOM[action] < FREEDOM.allow || limit !== undefined;
}

/** The rule for this tool only. It has no name: names are unique, and the rule may be kept for several tools. */
function narrowed({ name: _, ...rule }: Rule, named: SeenTool): Rule {
  const { tool, when } = exactRule(named);
  if (when === undefined) return { ...rule, tool };
  return { ...rule, tool, when: [when, ...conditionsOf(rule)] };
}
