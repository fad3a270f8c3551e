// What the record of a call proves about it. The rule that applied had true conditions and open hours; each rule above it
// did not apply, and the reason may say of one of them why. So a condition, the hours or a whole rule of another
// policy that are written in the same words came to the same for this call, although its arguments are not known any more.

import { type Condition, Failure, type Scope, Steps } from '../condition/condition.ts';
import type { NotApplying } from '../decision/reason.ts';
import { type CompiledPolicy, type CompiledRule, readsRun, ruleReadsRun } from '../policy/compiled-policy.ts';
import { type Action, ASKS, FREEDOM, type Rule } from '../policy/policy.ts';
import { joinName } from '../text/name.ts';
import { isAlwaysOpen } from '../time/hours.ts';
import type { Evidence, RecordedCall } from './evidence.ts';

/** What something may have come to, as a set: it is true, it is false, it cannot be evaluated. */
export type Ways = number;
export const TRUE = 1;
export const FALSE = 2;
export const FAILS = 4;
const NOT_TRUE = FALSE | FAILS;
const NOT_FALSE = TRUE | FAILS;
const ANY = TRUE | FALSE | FAILS;

/** The texts of conditions, hours and whole rules, with the ways in which each may have come out. */
export interface Proven {
  conditions: Map<string, Ways>;
  hours: Map<string, Ways>;
  rules: Map<string, Ways>;
  /**
   * Whether the other policy would have brought the same into the run before the call. Otherwise what depends on the run
   * may come to something else, although it is written in the same words.
   */
  sameRun: boolean;
}

export const provesNothing = (sameRun = false): Proven => ({
  conditions: new Map(),
  hours: new Map(),
  rules: new Map(),
  sameRun,
});

/** `recorded` is the policy version that decided the call. */
export function provenBy(
  call: RecordedCall,
  recorded: CompiledPolicy,
  evidence: Evidence,
  sameRun: boolean,
): Proven {
  const proven = provesNothing(sameRun);
  const { cause, failed, nearest } = evidence;
  if (cause === 'unread' || cause === 'scope' || cause === 'relayed') return proven;
  const name = joinName(call.serverName, call.toolName);
  const candidates = recorded.index.candidatesFor(name, call.toolName);
  const at = call.ruleIndex === null ? candidates.length : candidates.indexOf(call.ruleIndex);
  if (at < 0) return proven;
  const above = candidates.slice(0, at);
  const heldByNone = isHeldByNone(call, recorded, evidence);
  for (const index of above) {
    const why = nearest?.rule === index ? nearest.not : undefined;
    const { action } = recorded.rules[index] as Rule;
    const ways = why === undefined ? waysAbove(action, heldByNone) : waysOf(why);
    note(proven, recorded, index, ways, why);
  }
  if (call.ruleIndex !== null) noteApplied(proven, recorded, call.ruleIndex, evidence);
  if (typeof failed === 'object' && failed !== null && isAsking(recorded, call.ruleIndex))
    noteBelow(proven, recorded, candidates.slice(at + 1));
  return proven;
}

const isAsking = ({ rules }: CompiledPolicy, index: number | null): boolean =>
  ASKS[rules[index ?? -1]?.action ?? 'deny'];

/**
 * What a rule came to that was passed over without being named. A condition that could not be evaluated makes a `deny`
 * rule apply, and a `require_approval` rule hold what the rules below it do not deny.
 */
function waysAbove(action: Action, heldByNone: boolean): Ways {
  switch (action) {
    case 'deny':
      return FALSE;
    case 'require_approval':
      return heldByNone ? FALSE : NOT_TRUE;
    case 'allow':
      return NOT_TRUE;
  }
}

/** A call that an `allow` rule let pass, or left to people, was held by no rule above it. */
function isHeldByNone(
  { decision, ruleIndex }: RecordedCall,
  { rules }: CompiledPolicy,
  { noPlace }: Evidence,
): boolean {
  const action = rules[ruleIndex ?? -1]?.action ?? 'deny';
  return (decision !== 'deny' || noPlace) && FREEDOM[action] === FREEDOM.allow;
}

const waysOf = ({ why }: NotApplying): Ways => (why === 'failed' ? FAILS : FALSE);

function noteApplied(
  proven: Proven,
  recorded: CompiledPolicy,
  index: number,
  { failed, cause }: Evidence,
): void {
  if (cause === 'unmetered') return;
  if (failed === null) note(proven, recorded, index, NOT_FALSE);
  else if (failed === 'none') note(proven, recorded, index, TRUE);
  else note(proven, recorded, index, FAILS, { why: 'failed', condition: failed.condition });
}

/** A call that is held is not denied below: no `deny` rule applied before another rule could. */
function noteBelow(proven: Proven, recorded: CompiledPolicy, below: readonly number[]): void {
  for (const index of below) {
    if (FREEDOM[(recorded.rules[index] as Rule).action] > FREEDOM.deny) return;
    note(proven, recorded, index, FALSE);
  }
}

function note(
  proven: Proven,
  { rules, compiled }: CompiledPolicy,
  index: number,
  ways: Ways,
  why?: NotApplying | undefined,
): void {
  const rule = compiled.get(index);
  if (rule === undefined) return;
  narrow(proven.rules, textOf(rule, rules[index] as Rule), ways);
  const { during } = rules[index] as Rule;
  const open = hoursOf(rule, ways, why);
  if (during !== undefined) narrow(proven.hours, during, open);
  rule.conditions.forEach(({ source }, at) => {
    narrow(proven.conditions, source, conditionOf(rule, at, ways, why));
  });
}

/** What the hours of a rule were, if the rule came to one of these ways. */
function hoursOf({ conditions, limit }: CompiledRule, ways: Ways, why: NotApplying | undefined): Ways {
  if (why !== undefined) return why.why === 'hours' ? FALSE : TRUE;
  if ((ways & FALSE) === 0) return TRUE;
  const isAlone = conditions.length === 0 && !limit?.sum;
  return isAlone && (ways & TRUE) === 0 ? FALSE : TRUE | FALSE;
}

/** What a condition was. Those behind a false one were not looked at. */
function conditionOf(
  { conditions, hours, limit }: CompiledRule,
  at: number,
  ways: Ways,
  why: NotApplying | undefined,
): Ways {
  switch (why?.why) {
    case 'hours':
      return ANY;
    case 'uncounted':
      return TRUE;
    case 'false':
      if (at === why.condition) return FALSE;
      return at < why.condition ? NOT_FALSE : ANY;
    case 'failed':
      if (at === why.condition) return FAILS;
      return at < why.condition ? TRUE : NOT_FALSE;
    case undefined: {
      if (ways === TRUE) return TRUE;
      const isAlone = conditions.length === 1 && hours === null && !limit?.sum;
      if (isAlone) return ways;
      return (ways & FALSE) === 0 ? NOT_FALSE : ANY;
    }
  }
}

/** A record that contradicts itself proves nothing: a check that ran out of steps evaluates the same text differently. */
function narrow(of: Map<string, Ways>, text: string, ways: Ways): void {
  const both = (of.get(text) ?? ANY) & ways;
  of.set(text, both === 0 ? ANY : both);
}

const texts = new WeakMap<CompiledRule, string>();

/** All that says whether a rule applies: its conditions, its hours, and what its limit adds up. */
export function textOf(rule: CompiledRule, { during }: Rule): string {
  let text = texts.get(rule);
  if (text === undefined) {
    const { sum = null, unit = 1 } = rule.limit?.limit ?? {};
    const counted = sum === null ? null : [sum, unit];
    text = JSON.stringify([rule.conditions.map(each => each.source), during ?? null, counted]);
    texts.set(rule, text);
  }
  return text;
}

/**
 * The ways in which a rule of any policy may come out for the call: from what is proven, and from what its conditions
 * say without the unknown variables. Its limit is left out.
 */
export function waysOfRule(rule: CompiledRule | undefined, of: Rule, proven: Proven, scope: Scope): Ways {
  if (rule === undefined) return TRUE;
  const { conditions, hours } = rule;
  const open = hours === null || isAlwaysOpen(hours) ? TRUE : waysIn(proven.hours, of.during as string);
  const isProven = proven.sameRun || !ruleReadsRun(rule);
  const known = (isProven ? proven.rules.get(textOf(rule, of)) : undefined) ?? ANY;
  let mayBeTrue = (open & TRUE) !== 0;
  let mayFail = false;
  // The limit of a rule that was passed over may have been unable to count the call.
  let mayBeFalse = (open & FALSE) !== 0 || (rule.limit?.sum != null && (known & TRUE) === 0);
  let mayBeNotFalse = mayBeTrue;
  for (const condition of conditions) {
    const ways = waysOfCondition(condition, proven, scope);
    mayBeTrue &&= (ways & TRUE) !== 0;
    mayBeNotFalse &&= (ways & NOT_FALSE) !== 0;
    mayBeFalse ||= (ways & FALSE) !== 0;
    mayFail ||= (ways & FAILS) !== 0;
  }
  const ways = (mayBeTrue ? TRUE : 0) | (mayBeFalse ? FALSE : 0) | (mayFail && mayBeNotFalse ? FAILS : 0);
  const both = ways & known;
  return both === 0 ? ways : both;
}

/** Hours never fail. */
const waysIn = (of: ReadonlyMap<string, Ways>, text: string): Ways => (of.get(text) ?? ANY) & ~FAILS;

function waysOfCondition(condition: Condition<boolean>, proven: Proven, scope: Scope): Ways {
  const isProven = proven.sameRun || !readsRun(condition);
  const ways = (isProven ? proven.conditions.get(condition.source) : undefined) ?? ANY;
  if (ways === TRUE || ways === FALSE || ways === FAILS) return ways;
  const result = condition.evaluate(scope, new Steps());
  if (result instanceof Failure) return ways;
  return result ? TRUE : FALSE;
}
