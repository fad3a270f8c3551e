// Warnings about a policy that is valid but probably not what its author meant: a rule that can never match, because no
// tool name fits its pattern or because earlier rules cover it; a pattern written as a regular expression; no rules at
// all; and those of the other files named lint-….ts. The warnings have no influence on decisions.

import { type Limits, type Rule, ruleLabel } from '../policy/policy.ts';
import type { ResultEntry } from '../policy/result-fields.ts';
import type { Fault } from '../policy/rule-faults.ts';
import { askingWarnings } from './lint-asking.ts';
import { conditionWarnings, limitWarnings } from './lint-conditions.ts';
import { flowWarnings } from './lint-flows.ts';
import { resultWarnings } from './lint-results.ts';
import { patternWarnings, shadowedRules } from './tool-patterns.ts';

export type Warning = Fault;

export function warningsOf(
  rules: readonly Rule[],
  limits: Limits = {},
  results: readonly ResultEntry[] = [],
): Warning[] {
  const unused = [...limitWarnings(rules, limits), ...resultWarnings(results)];
  if (rules.length === 0)
    return [...unused, about(['rules'], 'the policy has no rules, so it denies every call')];
  const shown = (index: number) => `${ruleLabel(index, rules[index])} (${rules[index]?.tool})`;
  const found = rules.flatMap((rule, index) => ruleWarnings(rule, index, shown(index)));
  for (const { index, by } of shadowedRules(rules, limits)) {
    const message = `${shown(index)} can never match: ${by.map(shown).join(' and ')} ${by.length === 1 ? 'covers' : 'cover'} it`;
    found.push(about(['rules', index], message));
  }
  return [...unused, ...found, ...flowWarnings(rules, limits, shown, results)];
}

function ruleWarnings(rule: Rule, index: number, shown: string): Warning[] {
  const found = patternWarnings(rule.tool).map(each => about(['rules', index], `${shown} ${each}`));
  if (rule.when !== undefined) found.push(...conditionWarnings(rule, index, shown));
  return [...found, ...askingWarnings(rule, index, shown)];
}

function about(path: Warning['path'], message: string): Warning {
  return { path, offset: null, message };
}
