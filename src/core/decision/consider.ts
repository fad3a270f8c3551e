// Finds the rule that applies to a call: the first one whose pattern matches and whose conditions and hours hold. This is
// the only place where conditions are evaluated for a decision, once per call; decide.ts says what follows from it.
//
// A condition that cannot be evaluated counts as whichever outcome is stricter. An `allow` rule then does not apply, and a
// `deny` rule does. A `require_approval` rule holds the call, unless the rules below it deny it or want more of people:
// more approvals, or proof of them.

import { decimalOf, Failure, type Scope, Steps } from '../condition/condition.ts';
import type { CompiledLimit, CompiledPolicy, CompiledRule } from '../policy/compiled-policy.ts';
import { unitsOf } from '../policy/limit.ts';
import { type Action, ASKS, type Rule } from '../policy/policy.ts';
import { MAX_VOTES } from '../policy/rule-fields.ts';
import { type Situation, scopeOf, type ToolCall } from '../policy/situation.ts';
import { joinName } from '../text/name.ts';
import { isWithin } from '../time/hours.ts';
import type { NotApplying, PassedOver } from './reason.ts';

/** What a call that is allowed by a rule with a limit adds to it. */
export interface Meter {
  limit: CompiledLimit;
  /** The id of whoever the limit counts for; null where the call has none, such as a limit per session without a session. */
  subject: string | null;
  units: number;
}

/** The last rule of each action that was passed over. One that denies did not stand in the way of the call. */
export type LastPassed = Readonly<Record<Exclude<Action, 'deny'>, PassedOver | null>>;
export const NONE_PASSED: LastPassed = { allow: null, require_approval: null };

/**
 * A rule that holds the call because a condition of it could not be evaluated, or, if that is null, because it may match
 * the name that the tool had before the agent renamed it.
 */
interface Held {
  index: number;
  condition: number | null;
  /** The rules above this one that were passed over. */
  passedOver: LastPassed;
}

export interface Considered {
  policy: CompiledPolicy;
  call: ToolCall;
  /** The full name of the tool. */
  name: string;
  /** False when the tool is outside the session's scope; no rule was looked at then. */
  inScope: boolean;
  /** The rule that applies, or -1. */
  index: number;
  /** The condition for whose failure a `deny` rule applies. */
  failed: number | null;
  /**
   * The `require_approval` rule above it with a condition that could not be evaluated: the first, or the first of those
   * that want most of people. Null if the rule that applies wants more.
   */
  held: Held | null;
  meter: Meter | null;
  /** Whether it is an `allow` rule whose limit may be used up by this call, which only the arguments could tell. */
  unmetered: boolean;
  passedOver: LastPassed;
  /** The steps that its conditions took. */
  steps: number;
}

export function consider(
  policy: CompiledPolicy,
  call: ToolCall,
  scope: ReadonlySet<string> | null,
  situation: Situation,
): Considered {
  const name = joinName(call.serverName, call.toolName);
  const considered: Considered = {
    policy,
    call,
    name,
    inScope: scope === null || scope.has(name),
    index: -1,
    failed: null,
    held: null,
    meter: null,
    unmetered: false,
    passedOver: NONE_PASSED,
    steps: 0,
  };
  if (considered.inScope && !call.relayed) findRule(considered, situation);
  return considered;
}

function findRule(considered: Considered, situation: Situation): void {
  const { policy, call, name } = considered;
  let examiner: Examiner | null = null;
  const matching = policy.index.candidatesFor(name, call.toolName);
  const alike = call.renamed === undefined ? [] : policy.index.alike(call.renamed, name);
  const candidates = alike.length === 0 ? matching : inOrder(matching, alike);
  for (let at = 0; at < candidates.length; at++) {
    const index = candidates[at] as number;
    const compiled = policy.compiled.get(index);
    const mayMatch = alike.length > 0 && !matching.includes(index);
    if (compiled === undefined && !mayMatch) {
      applies(considered, index);
      return;
    }
    examiner ??= new Examiner(policy.id, call, situation);
    const rule = policy.rules[index] as Rule;
    const { action } = rule;
    const examined = compiled === undefined ? APPLIES : examiner.examine(compiled);
    considered.steps = examiner.steps;
    const follows = whatFollows(action, mayMatch && examined.applies ? null : examined.applies);
    if (follows === 'applies') {
      applies(considered, index);
      considered.failed = examined.condition;
      considered.meter = examined.meter;
      if (examined.applies === null && situation.run?.isWaiting?.()) {
        askAhead(examiner, policy, candidates.slice(at + 1));
        considered.steps = examiner.steps;
      }
      return;
    }
    if (call.unseen && compiled?.limit && (examined.applies === null || examined.uncounted)) {
      applies(considered, index);
      considered.unmetered = true;
      return;
    }
    if (follows === 'holds') {
      const { held, passedOver } = considered;
      if (held === null || demandOf(rule) > demandOf(policy.rules[held.index]))
        considered.held = { index, condition: examined.condition, passedOver };
    }
    const { not } = examined;
    if (action !== 'deny' && not !== null) {
      const passed: PassedOver = { not, rule: index, ruleName: rule.name };
      considered.passedOver = { ...considered.passedOver, [action]: passed };
    }
  }
}

/**
 * A rule that denies is the last one to be examined, also if it only waits for values that have to be looked up. The rules
 * after it ask for theirs then, so that all of them are looked up at once.
 */
function askAhead(examiner: Examiner, { compiled }: CompiledPolicy, candidates: readonly number[]): void {
  for (const index of candidates) {
    const rule = compiled.get(index);
    if (rule === undefined) return;
    examiner.examine(rule);
  }
}

const inOrder = (some: readonly number[], others: readonly number[]): number[] =>
  [...new Set([...some, ...others])].sort((a, b) => a - b);

type Follows = 'applies' | 'holds' | 'passed over';

/** What a rule means for the call if a condition of it could not be evaluated: whichever is stricter. */
const AFTER_FAILURE: Readonly<Record<Action, Follows>> = {
  allow: 'passed over',
  deny: 'applies',
  require_approval: 'holds',
};

/** What a rule means for the call; null: a condition of it could not be evaluated. */
export function whatFollows(action: Action, applies: boolean | null): Follows {
  if (applies !== null) return applies ? 'applies' : 'passed over';
  return AFTER_FAILURE[action];
}

function applies(considered: Considered, index: number): void {
  const { rules } = considered.policy;
  const { held } = considered;
  considered.index = index;
  const rule = rules[index];
  if (held !== null && rule && ASKS[rule.action] && demandOf(rule) > demandOf(rules[held.index]))
    considered.held = null;
}

/**
 * How much a rule wants of people, for comparison: proof is more than any number of approvals without it, then more
 * approvals are more; 0 if anybody may give the one that frees the call.
 */
function demandOf(rule: Rule | undefined): number {
  if (rule?.approvers === undefined) return 0;
  const { count = 1, proof } = rule.approvers;
  return proof === undefined ? count : MAX_VOTES + count;
}

export interface Examined {
  /** Null when a condition could not be evaluated, and none of the others is false. */
  applies: boolean | null;
  /** The condition that could not be evaluated. */
  condition: number | null;
  /** Why the rule does not apply; null if it does. */
  not: NotApplying | null;
  meter: Meter | null;
  /** Set when it would apply, but its limit cannot count the call. */
  uncounted?: true;
}

const APPLIES: Examined = { applies: true, condition: null, not: null, meter: null };
const OUTSIDE: Examined = notApplying({ why: 'hours' });

function notApplying(not: NotApplying): Examined {
  return { applies: false, condition: null, not, meter: null };
}

/** Examines rules for one call. All of them share the steps that one check may take. */
export class Examiner {
  readonly #policyId: string;
  readonly #situation: Situation;
  readonly #scope: Scope;
  readonly #steps = new Steps();

  constructor(policyId: string, call: ToolCall, situation: Situation) {
    this.#policyId = policyId;
    this.#situation = situation;
    this.#scope = scopeOf(call, situation);
  }

  /** The steps that were taken so far. */
  get steps(): number {
    return this.#steps.taken;
  }

  examine({ conditions, hours, limit }: CompiledRule): Examined {
    if (hours !== null && !isWithin(hours, this.#situation.now)) return OUTSIDE;
    let failed: number | null = null;
    for (let index = 0; index < conditions.length; index++) {
      const result = conditions[index]?.evaluate(this.#scope, this.#steps);
      if (result === true) continue;
      if (result === false) return notApplying({ condition: index, why: 'false' });
      failed ??= index;
    }
    if (failed !== null)
      return { applies: null, condition: failed, not: { condition: failed, why: 'failed' }, meter: null };
    return limit === null ? APPLIES : this.#count(limit);
  }

  #count(limit: CompiledLimit): Examined {
    const units = this.#units(limit);
    if (units === null) return { ...notApplying({ limit: limit.name, why: 'uncounted' }), uncounted: true };
    return { ...APPLIES, meter: { limit, subject: this.#subject(limit), units } };
  }

  #units({ limit, sum }: CompiledLimit): number | null {
    if (sum === null) return 1;
    const amount = sum.evaluate(this.#scope, this.#steps);
    const decimal = amount instanceof Failure ? null : decimalOf(amount);
    return decimal === null ? null : unitsOf(limit, decimal);
  }

  #subject({ limit: { per = 'key' } }: CompiledLimit): string | null {
    const { keyId, session, person } = this.#situation;
    switch (per) {
      case 'key':
        return keyId;
      case 'policy':
        return this.#policyId;
      case 'session':
        return session?.id ?? null;
      case 'person':
        return person?.email ?? null;
    }
  }
}
