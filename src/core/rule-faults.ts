// What is wrong with the rules and limits of a policy, apart from the types of a rule's fields, which each reader checks
// as it reads. Policy files, the administration and the guard all ask here, so they refuse the same policies.

import { compileSum, compileWhen } from './compiled-policy.ts';
import { ConditionFault, suggestion } from './condition/condition.ts';
import { parseHours } from './hours.ts';
import { LIMIT_FIELDS, limitFault } from './limit.ts';
import { textFault } from './name.ts';
import { conditionsOf, type Rule } from './policy.ts';

/** The names and indexes that lead to a part of a policy, such as `rules 3 when 0`. */
export type Path = readonly (string | number)[];

export interface Fault {
  path: Path;
  message: string;
  /** Where the fault is in a condition, in UTF-16 units; null if it is not inside one. */
  offset: number | null;
}

/** Limits of which only the names are known. */
type UnreadLimits = Readonly<Record<string, unknown>>;

/** ` Did you mean "refunds"?`, or nothing. */
type Suggest = (name: string) => string;

export const MAX_CONDITIONS = 2_000;
export const MAX_LIMITS = 1_000;
const MAX_ASK = 300;
/** So many wrong names are compared with those of all limits: with 1,000 long ones, that takes 75 ms each. */
const MAX_SUGGESTED = 5;
const MAX_SHOWN = 20;
const LIMIT_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

export function policyFaults(rules: readonly Rule[], limits: UnreadLimits): Fault[] {
  const counted = countFaults(rules, limits);
  if (counted.length > 0) return counted;
  let suggested = 0;
  const similarLimit = (name: string) =>
    ++suggested > MAX_SUGGESTED ? '' : suggestion(name, Object.keys(limits));
  return [
    ...Object.entries(limits).flatMap(([name, limit]) => limitFaults(name, limit)),
    ...rules.flatMap((rule, index) => below(['rules', index], ruleFaults(rule, limits, similarLimit))),
  ];
}

/** Whoever sends more than this gets nothing compiled. */
function countFaults(rules: readonly Rule[], limits: UnreadLimits): Fault[] {
  const all = Object.values(limits);
  if (all.length > MAX_LIMITS) return [fault(['limits'], `a policy has at most ${MAX_LIMITS} limits`)];
  let conditions = all.filter(limit => partOf(limit, 'sum') !== undefined).length;
  for (const rule of rules) conditions += conditionsOf(rule).length;
  return conditions > MAX_CONDITIONS
    ? [fault(['rules'], `a policy has at most ${MAX_CONDITIONS} conditions`)]
    : [];
}

function ruleFaults(rule: Rule, limits: UnreadLimits, similarLimit: Suggest): Fault[] {
  const { when, during, limit, ask } = rule;
  const found: Fault[] = [];
  if (when !== undefined && conditionsOf(rule).length === 0)
    found.push(fault(['when'], 'must not be an empty list'));
  conditionsOf(rule).forEach((source, index) => {
    const path = typeof when === 'string' ? ['when'] : ['when', index];
    found.push(...conditionFaults(path, source, compileWhen));
  });
  const hours = during === undefined ? null : parseHours(during);
  if (typeof hours === 'string') found.push(fault(['during'], hours));
  const wrongLimit = limit === undefined ? null : namedLimitFault(rule, limit, limits, similarLimit);
  if (wrongLimit !== null) found.push(fault(['limit'], wrongLimit));
  const wrongAsk = ask === undefined ? null : askFault(rule, ask, limits);
  if (wrongAsk !== null) found.push(fault(['ask'], wrongAsk));
  return found;
}

function namedLimitFault(
  { action }: Rule,
  limit: string,
  limits: UnreadLimits,
  similarLimit: Suggest,
): string | null {
  if (action !== 'allow') return 'is only for allow rules';
  if (Object.hasOwn(limits, limit)) return null;
  const known = Object.keys(limits);
  if (known.length === 0) return 'names no limit of this policy, which has none';
  const shown = known.length > MAX_SHOWN ? [...known.slice(0, MAX_SHOWN), '…'] : known;
  const meant = similarLimit(limit);
  return `names no limit of this policy; known: ${shown.join(', ')}${meant && `.${meant}`}`;
}

function askFault({ action, limit }: Rule, ask: string, limits: UnreadLimits): string | null {
  const held =
    action === 'require_approval' ||
    (limit !== undefined &&
      Object.hasOwn(limits, limit) &&
      partOf(limits[limit], 'beyond') === 'require_approval');
  if (!held)
    return 'is only for require_approval rules, and for allow rules whose limit has beyond: require_approval';
  return textFault(ask, 1, MAX_ASK);
}

function limitFaults(name: string, limit: unknown): Fault[] {
  const path = ['limits', name];
  if (!LIMIT_NAME.test(name)) return [fault(path, NAME_FORM)];
  if (typeof limit !== 'object' || limit === null || Array.isArray(limit))
    return [fault(path, 'must be an object, such as { calls: 20, within: 1h }')];
  const stray = Object.keys(limit).find(field => !isLimitField(field));
  if (stray !== undefined)
    return [fault([...path, stray], `is an unknown field; known: ${LIMIT_FIELDS.join(', ')}`)];
  const wrong = limitFault(limit);
  if (wrong !== null) return [fault(wrong.field === null ? path : [...path, wrong.field], wrong.message)];
  const sum = partOf(limit, 'sum');
  return typeof sum === 'string' ? conditionFaults([...path, 'sum'], sum, compileSum) : [];
}
const NAME_FORM =
  'is no name for a limit: it has 1 to 64 letters, digits, _, . and -, and begins with a letter or a digit';

const isLimitField = (field: string): boolean => LIMIT_FIELDS.some(each => each === field);

function conditionFaults(path: Path, source: string, compile: (source: string) => unknown): Fault[] {
  try {
    compile(source);
    return [];
  } catch (error) {
    if (!(error instanceof ConditionFault)) throw error;
    return [{ path, message: error.message, offset: error.offset }];
  }
}

function partOf(limit: unknown, field: string): unknown {
  if (typeof limit !== 'object' || limit === null || !Object.hasOwn(limit, field)) return undefined;
  return (limit as Record<string, unknown>)[field];
}

function fault(path: Path, message: string): Fault {
  return { path, message, offset: null };
}

function below(path: Path, faults: readonly Fault[]): Fault[] {
  return faults.map(each => ({ ...each, path: [...path, ...each.path] }));
}
