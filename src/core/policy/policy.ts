// Policies and their rules, as data. policy-file.ts reads a policy from a file, rule-index.ts finds the rules that match a
// tool, compiled-policy.ts makes a policy ready for decisions, and decide.ts says what its rules mean for a call.

import { SEPARATOR } from '../text/name.ts';
import type { Written } from './field-type.ts';
import type { Limit } from './limit.ts';
import type { ResultEntry } from './result-fields.ts';
import { RULE } from './rule-fields.ts';

/** Its fields are described in rule-fields.ts. */
export interface Rule extends Written<typeof RULE> {}

export const ACTIONS = RULE.action.type.offers;
export type Action = Rule['action'];
/** How freely a rule decides: to allow is more than to ask, and to ask is more than to deny. */
export const FREEDOM: Readonly<Record<Action, number>> = { deny: 0, require_approval: 1, allow: 2 };
/** Whether a rule with this action puts the calls to which it applies before people. */
export const ASKS: Readonly<Record<Action, boolean>> = { allow: false, deny: false, require_approval: true };

export type Limits = Readonly<Record<string, Limit>>;

export interface Policy {
  id: string;
  name: string;
  version: number;
  rules: readonly Rule[];
  limits?: Limits | undefined;
  /** What is done to the results of calls. */
  results?: readonly ResultEntry[] | undefined;
}

export const MAX_RULES = 100_000;
/**
 * The longest text that the service reads and keeps, in characters. Reading this much YAML, about 4,000 rules, takes a
 * quarter of a second, in which nothing else is answered. A larger policy is sent as rules.
 */
export const MAX_TEXT = 262_144;

/** Whether a pattern is compared with full names only. */
export const namesServer = (tool: string): boolean => tool.includes(SEPARATOR);

/** The conditions of a rule, or of an entry of `results`, as a list. */
export function conditionsOf({ when = [] }: Pick<Rule, 'when'>): readonly string[] {
  return typeof when === 'string' ? [when] : when;
}

/** The marks that a rule, or an entry of `results`, gives, as a list. */
export function marksOf({ marks = [] }: Pick<Rule, 'marks'>): readonly string[] {
  return typeof marks === 'string' ? [marks] : marks;
}

/** A rule as messages name it: `rule 2`, and its name behind that if it has one. */
export function ruleLabel(index: number, rule: Pick<Rule, 'name'> | undefined): string {
  return rule?.name === undefined ? `rule ${index}` : `rule ${index} "${rule.name}"`;
}

/** Whether a rule has conditions, hours or a limit. */
export function hasMore(rule: Rule): boolean {
  return rule.limit !== undefined || rule.during !== undefined || conditionsOf(rule).length > 0;
}

/**
 * Whether a rule can be passed over although its pattern matches. A limit that adds up amounts does not apply to a call
 * whose amount it cannot count.
 */
export function canBePassedOver(rule: Rule, limits: Limits = {}): boolean {
  if (rule.during !== undefined || conditionsOf(rule).length > 0) return true;
  return (
    rule.limit !== undefined && Object.hasOwn(limits, rule.limit) && limits[rule.limit]?.sum !== undefined
  );
}
