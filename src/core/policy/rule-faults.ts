// What is wrong with the rules and limits of a policy. rule-fields.ts knows it of single fields, and readers ask there as
// they read (fieldFault); here is what depends on other fields, and on the policy as a whole. Policy files, the
// administration and the guard all ask here, so they refuse the same policies.

import { MAX_MARKS } from '../flows/names.ts';
import { didYouMean } from '../text/did-you-mean.ts';
import { parseGrantDuration } from '../time/duration.ts';
import { parseHours } from '../time/hours.ts';
import { compileSum, compileWhen } from './compiled-policy.ts';
import { conditionFaults, type Fault, fault, Patterns, partOf } from './condition-faults.ts';
import { below, ONLY, single, type ValueFault } from './field-type.ts';
import { limitFault } from './limit.ts';
import { LIMIT_FIELDS } from './limit-fields.ts';
import { ASKS, conditionsOf, FREEDOM, marksOf, type Rule } from './policy.ts';
import { resultFaults } from './result-faults.ts';
import { ASKING_FIELDS, fieldOf, isReadLater, PASSING_FIELDS, type RuleField } from './rule-fields.ts';

/** Limits of which only the names are known. */
type UnreadLimits = Readonly<Record<string, unknown>>;

/** ` Did you mean "refunds"?`, or nothing. */
type Suggest = (name: string) => string;

export type { Fault, Path } from './condition-faults.ts';

export const MAX_CONDITIONS = 2_000;
export const MAX_LIMITS = 1_000;
export const MAX_RESULTS = 1_000;
/** The most items in the lists `show`, `notify` and `marks` of all rules together. */
export const MAX_LISTED = 20_000;
/** So many wrong names are compared with those of all limits: with 1,000 long ones, that takes 75 ms each. */
const MAX_SUGGESTED = 5;
const MAX_SHOWN = 20;
const LIMIT_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** What is wrong with a field of a rule by itself, or null. Those that are read later are left to policyFaults. */
export function fieldFault(name: RuleField, value: unknown): string | null {
  const field = fieldOf(name);
  return isReadLater(field) ? null : (field.type.faults(value)[0]?.message ?? null);
}

/** Of the entries of `results` nothing is known yet. */
export function policyFaults(
  rules: readonly Rule[],
  limits: UnreadLimits,
  results: readonly unknown[] = [],
): Fault[] {
  const counted = countFaults(rules, limits, results);
  if (counted.length > 0) return counted;
  let suggested = 0;
  const similarLimit = (name: string) =>
    ++suggested > MAX_SUGGESTED ? '' : didYouMean(name, Object.keys(limits));
  const patterns = new Patterns();
  return [
    ...Object.entries(limits).flatMap(([name, limit]) => limitFaults(name, limit, patterns)),
    ...rules.flatMap((rule, index) => inRule(index, ruleFaults(rule, limits, similarLimit, patterns))),
    ...repeatedNames(rules),
    ...resultFaults(results, patterns),
    ...tooManyMarks(rules, results),
  ];
}

/** Whoever sends more than this gets nothing compiled. */
function countFaults(rules: readonly Rule[], limits: UnreadLimits, results: readonly unknown[]): Fault[] {
  const all = Object.values(limits);
  if (results.length > MAX_RESULTS)
    return [fault(['results'], `"results" has at most ${MAX_RESULTS} entries`)];
  if (all.length > MAX_LIMITS) return [fault(['limits'], `a policy has at most ${MAX_LIMITS} limits`)];
  let conditions = all.filter(limit => partOf(limit, 'sum') !== undefined).length;
  let listed = 0;
  for (const rule of rules) {
    conditions += conditionsOf(rule).length;
    for (const list of [rule.show, rule.notify, partOf(rule.escalate, 'notify'), rule.marks])
      if (Array.isArray(list)) listed += list.length;
  }
  for (const each of results) {
    const when = partOf(each, 'when');
    if (when !== undefined) conditions += Array.isArray(when) ? when.length : 1;
  }
  if (conditions > MAX_CONDITIONS)
    return [fault(['rules'], `a policy has at most ${MAX_CONDITIONS} conditions`)];
  return listed > MAX_LISTED
    ? [
        fault(
          ['rules'],
          `the lists "show", "notify" and "marks" of a policy have at most ${MAX_LISTED} items together`,
        ),
      ]
    : [];
}

function ruleFaults(rule: Rule, limits: UnreadLimits, similarLimit: Suggest, patterns: Patterns): Fault[] {
  const { when, during, limit } = rule;
  const found: Fault[] = [];
  if (when !== undefined && conditionsOf(rule).length === 0)
    found.push(fault(['when'], 'must not be an empty list'));
  conditionsOf(rule).forEach((source, index) => {
    const path = typeof when === 'string' ? ['when'] : ['when', index];
    found.push(...conditionFaults(path, source, compileWhen, patterns));
  });
  const hours = during === undefined ? null : parseHours(during);
  if (typeof hours === 'string') found.push(fault(['during'], hours));
  const wrongLimit = limit === undefined ? null : namedLimitFault(rule, limit, limits, similarLimit);
  if (wrongLimit !== null) found.push(fault(['limit'], wrongLimit));
  for (const { path, message } of [...passingFaults(rule), ...askingFaults(rule, limits)])
    found.push(fault(path, message));
  return found;
}

/** The rule that has the name first is not told by its number: a reader may have left out rules above it. */
function repeatedNames(rules: readonly Rule[]): Fault[] {
  const names = new Set<string>();
  return rules.flatMap(({ name }, index) => {
    if (name === undefined) return [];
    const repeated = names.has(name);
    names.add(name);
    return repeated ? [fault(['rules', index, 'name'], REPEATED_NAME)] : [];
  });
}
const REPEATED_NAME = 'must be unique in the policy, but an earlier rule has the same name';

/** Only the first mark that is too many is reported. */
function tooManyMarks(rules: readonly Rule[], results: readonly unknown[]): Fault[] {
  const names = new Set<string>();
  const given = [
    ...rules.map(({ marks }, index) => ({ marks, path: ['rules', index, 'marks'] })),
    ...results.map((each, index) => ({ marks: partOf(each, 'marks'), path: ['results', index, 'marks'] })),
  ];
  for (const { marks, path } of given) {
    if (marks === undefined || fieldOf('marks').type.faults(marks).length > 0) continue;
    for (const name of marksOf({ marks: marks as Rule['marks'] })) names.add(name);
    if (names.size > MAX_MARKS) return [fault(path, TOO_MANY_MARKS)];
  }
  return [];
}
const TOO_MANY_MARKS = `brings the marks of the policy to more than ${MAX_MARKS}`;

function namedLimitFault(
  { action }: Rule,
  limit: string,
  limits: UnreadLimits,
  similarLimit: Suggest,
): string | null {
  if (action !== 'allow') return ONLY.allow.fault;
  if (Object.hasOwn(limits, limit)) return null;
  const known = Object.keys(limits);
  if (known.length === 0) return 'names no limit of this policy, which has none';
  const shown = known.length > MAX_SHOWN ? [...known.slice(0, MAX_SHOWN), '…'] : known;
  const meant = similarLimit(limit);
  return `names no limit of this policy; known: ${shown.join(', ')}${meant && `.${meant}`}`;
}

function passingFaults(rule: Rule): ValueFault[] {
  return PASSING_FIELDS.flatMap(field => {
    const value = rule[field];
    if (value === undefined) return [];
    if (FREEDOM[rule.action] === FREEDOM.deny) return single(ONLY.passing.fault, field);
    return below(field, fieldOf(field).type.faults(value));
  });
}

/** Nothing is known of the types of these fields yet: whether a rule may have them depends on its limit. */
function askingFaults(rule: Rule, limits: UnreadLimits): ValueFault[] {
  return ASKING_FIELDS.flatMap(field => {
    const value = rule[field];
    if (value === undefined) return [];
    if (!canAsk(rule, limits)) return single(ONLY.asking.fault, field);
    const wrong = fieldOf(field).type.faults(value);
    return below(field, field === 'escalate' ? [...lateFaults(rule, wrong), ...wrong] : wrong);
  });
}

/** An escalation that comes after the question has lapsed, if nothing else is wrong with its time. */
function lateFaults({ escalate, timeout }: Rule, wrong: readonly ValueFault[]): ValueFault[] {
  if (wrong.some(({ path: [part] }) => part !== 'notify')) return [];
  const [begins, ends] = [spanOf(partOf(escalate, 'after')), spanOf(timeout)];
  const late = begins !== null && ends !== null && begins >= ends;
  return late ? single(`must be shorter than "timeout", ${timeout}`, 'after') : [];
}

const spanOf = (value: unknown): number | null =>
  typeof value === 'string' ? parseGrantDuration(value) : null;

/** Whether a rule can lead to a question to people. */
function canAsk({ action, limit }: Rule, limits: UnreadLimits): boolean {
  if (ASKS[action]) return true;
  return (
    limit !== undefined &&
    Object.hasOwn(limits, limit) &&
    partOf(limits[limit], 'beyond') === 'require_approval'
  );
}

function limitFaults(name: string, limit: unknown, patterns: Patterns): Fault[] {
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
  return typeof sum === 'string' ? conditionFaults([...path, 'sum'], sum, compileSum, patterns) : [];
}
const NAME_FORM =
  'is no name for a limit: it has 1 to 64 letters, digits, _, . and -, and begins with a letter or a digit';

const isLimitField = (field: string): boolean => LIMIT_FIELDS.some(each => each === field);

function inRule(index: number, faults: readonly Fault[]): Fault[] {
  return faults.map(each => ({ ...each, path: ['rules', index, ...each.path] }));
}
