// Finds rules that can never match because an earlier one covers them. A pattern covers another when it
// matches it with every `*` read as a character that no pattern contains: only a `*` can stand for that.

import { type Rule, RuleIndex } from './policy.ts';

export interface Shadowed {
  index: number;
  /** The earlier rule that always decides first. */
  by: number;
}

const ANYTHING = '\u0000';

export function shadowedRules(rules: readonly Rule[]): Shadowed[] {
  const index = new RuleIndex(rules);
  const found: Shadowed[] = [];
  rules.forEach((rule, position) => {
    const by = index.first(rule.tool.replaceAll('*', ANYTHING));
    if (by >= 0 && by < position) found.push({ index: position, by });
  });
  return found;
}
