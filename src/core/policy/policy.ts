// Policies and their rules, as data. policy-file.ts reads a policy from a file, rule-index.ts finds the rules that match a
// tool, compiled-policy.ts makes a policy ready for decisions, and decide.ts says what its rules mean for a call.

import { SEPARATOR, textFault } from '../text/name.ts';
import type { Limit } from './limit.ts';

export const ACTIONS = ['allow', 'deny', 'require_approval'] as const;
export type Action = (typeof ACTIONS)[number];

export interface Rule {
  /** For people; unique in the policy. It has no influence on decisions. */
  name?: string | undefined;
  tool: string;
  action: Action;
  reason?: string | undefined;
  /** Conditions (core/condition/) that must all hold for the rule to apply. */
  when?: string | readonly string[] | undefined;
  /** The days and hours in which the rule applies (hours.ts). */
  during?: string | undefined;
  /** The name of the limit that an `allow` counts against. */
  limit?: string | undefined;
  // The rest is about the question to people, for rules that lead to one (asking-faults.ts).
  /** Paths of the arguments that approvers see, or all of them (details.ts). */
  show?: 'all' | readonly string[] | undefined;
  /** The question to the approver, with `{path}` in it. */
  ask?: string | undefined;
  /** Whose approval is needed, of how many of them (1 unless it says more), and what each has to prove. */
  approvers?: Approvers | undefined;
  /** How long the approval stays open, such as `15m`, if not as long as the service's setting says. */
  timeout?: string | undefined;
  /** The channels that tell people about it, instead of those of the key. */
  notify?: readonly string[] | undefined;
  /** Further channels that tell people, once it has waited so long. */
  escalate?: Escalation | undefined;
}

/** At least `group` or `proof` is given. */
export interface Approvers {
  /** Every approver may answer where it is left out. */
  group?: string | undefined;
  count?: number | undefined;
  /** Each approval needs an assertion of the approver's passkey over this very answer. */
  proof?: 'passkey' | undefined;
}

export interface Escalation {
  after: string;
  notify: readonly string[];
}

/** What a rule that asks for approval says about people: what they see, who of them may answer, and who is told. */
export const ASKING_FIELDS = [
  'show',
  'ask',
  'approvers',
  'timeout',
  'notify',
  'escalate',
] as const satisfies (keyof Rule)[];

/** In the order in which they are written. */
export const RULE_FIELDS = [
  'name',
  'tool',
  'action',
  'when',
  'during',
  'limit',
  ...ASKING_FIELDS,
  'reason',
] as const satisfies (keyof Rule)[];

export type Limits = Readonly<Record<string, Limit>>;

export interface Policy {
  id: string;
  name: string;
  version: number;
  rules: readonly Rule[];
  limits?: Limits | undefined;
}

export const MAX_RULES = 100_000;
/**
 * The longest text that the service reads and keeps, in characters. Reading this much YAML, about 4,000 rules, takes a
 * quarter of a second, in which nothing else is answered. A larger policy is sent as rules.
 */
export const MAX_TEXT = 262_144;
const MAX_PATTERN = 512;
const MAX_REASON = 1000;
export const MAX_RULE_NAME = 64;

/** What is wrong with a rule's pattern, or null. */
export const patternFault = (tool: string): string | null => textFault(tool, 1, MAX_PATTERN);
export const ruleNameFault = (name: string): string | null => textFault(name, 1, MAX_RULE_NAME);
export const reasonFault = (reason: string): string | null => textFault(reason, 0, MAX_REASON);

/** Whether a pattern is compared with full names only. */
export const namesServer = (tool: string): boolean => tool.includes(SEPARATOR);

/** The conditions of a rule as a list. */
export function conditionsOf({ when = [] }: Rule): readonly string[] {
  return typeof when === 'string' ? [when] : when;
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
