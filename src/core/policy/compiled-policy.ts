// A policy version made ready for decisions: its patterns are indexed, its conditions compiled, its hours and limits
// parsed. It is made once and kept as long as the version is current.

import { type Condition, compileCondition, type NumberResult, readOf } from '../condition/condition.ts';
import { type Hours, parseHours } from '../time/hours.ts';
import { CompiledResults } from './compiled-results.ts';
import { type Limit, limitFault } from './limit.ts';
import { conditionsOf, hasMore, type Policy, type Rule } from './policy.ts';
import { RuleIndex } from './rule-index.ts';
import { VARIABLES } from './situation.ts';

/** What a rule has beyond its pattern and its action. */
export interface CompiledRule {
  conditions: readonly Condition<boolean>[];
  hours: Hours | null;
  limit: CompiledLimit | null;
}

export interface CompiledLimit {
  name: string;
  limit: Limit;
  /** What is added up; null where calls are counted. */
  sum: Condition<NumberResult> | null;
}

export interface CompiledPolicy extends Policy {
  index: RuleIndex;
  /** By the rule's index; a rule that has nothing beyond its pattern and its action is left out. */
  compiled: ReadonlyMap<number, CompiledRule>;
  /** Null where results are passed on as they are. */
  compiledResults: CompiledResults | null;
  /** Whether a condition reads what tools say about themselves. */
  readsAnnotations: boolean;
  /** Whether a rule or an entry of `results` gives marks, or a condition reads those of the run. */
  usesMarks: boolean;
  /** Whether a rule makes values known, or a condition asks which are. */
  usesKnown: boolean;
}

/** Throws when a stored policy cannot be used: no call is decided by a part of it. */
export function compilePolicy(policy: Policy): CompiledPolicy {
  const { rules, limits = {} } = policy;
  const compiledResults = policy.results?.length ? new CompiledResults(policy.results) : null;
  const compiledLimits = new Map<string, CompiledLimit>();
  for (const [name, limit] of Object.entries(limits)) compiledLimits.set(name, compileLimit(name, limit));
  const compiled = new Map<number, CompiledRule>();
  rules.forEach((rule, index) => {
    if (hasMore(rule)) compiled.set(index, compileRule(rule, compiledLimits));
  });
  const all = [...compiled.values()];
  return {
    ...policy,
    index: new RuleIndex(rules, limits),
    compiled,
    compiledResults,
    readsAnnotations:
      compiledResults?.readsAnnotations || all.some(rule => ruleReads(rule, 'tool', 'annotations')),
    usesMarks:
      compiledResults?.usesMarks ||
      rules.some(rule => rule.marks !== undefined) ||
      all.some(rule => ruleReads(rule, 'marks')),
    usesKnown:
      compiledResults?.usesKnown || rules.some(rule => rule.known !== undefined) || all.some(ruleAsksKnown),
  };
}

function compileRule(rule: Rule, limits: ReadonlyMap<string, CompiledLimit>): CompiledRule {
  const hours = rule.during === undefined ? null : parseHours(rule.during);
  if (typeof hours === 'string') throw new Error(`"during" ${hours}`);
  const limit = rule.limit === undefined ? null : limits.get(rule.limit);
  if (limit === undefined) throw new Error(`there is no limit "${rule.limit}"`);
  return { conditions: conditionsOf(rule).map(each => compileWhen(each, true)), hours, limit };
}

/** `isChecked`: it was compiled before, and found to be right. */
export const compileWhen = (source: string, isChecked = false): Condition<boolean> =>
  compileCondition(source, VARIABLES, 'bool', isChecked);
export const compileSum = (source: string, isChecked = false): Condition<NumberResult> =>
  compileCondition(source, VARIABLES, 'number', isChecked);

function compileLimit(name: string, limit: Limit): CompiledLimit {
  const fault = limitFault(limit);
  if (fault !== null) throw new Error(`limit "${name}": ${fault.message}`);
  return { name, limit, sum: limit.sum === undefined ? null : compileSum(limit.sum, true) };
}

/** Whether a condition or the limit of a rule reads a variable, or a field of it. */
export function ruleReads(rule: CompiledRule, ...wanted: readonly string[]): boolean {
  return expressionsOf(rule).some(each => readOf(each, ...wanted) !== undefined);
}

/** Whether it depends on what is remembered of a run. */
export function readsRun(expression: Condition<unknown>): boolean {
  return expression.calls.has('known') || readOf(expression, 'marks') !== undefined;
}

/** The same of the conditions of a rule, and of its limit. */
export const ruleReadsRun = (rule: CompiledRule): boolean => expressionsOf(rule).some(readsRun);

/** Whether a condition or the limit of a rule calls `known()`. */
function ruleAsksKnown(rule: CompiledRule): boolean {
  return expressionsOf(rule).some(each => each.calls.has('known'));
}

function expressionsOf({ conditions, limit }: CompiledRule): readonly Condition<unknown>[] {
  return limit?.sum ? [...conditions, limit.sum] : conditions;
}
