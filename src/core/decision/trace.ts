// The trace of a decision that is only tried: each rule that matches by name, whether it applies, and what its conditions
// came to. Nothing of it is stored, so it may show the values that conditions read. It decides nothing: the rules are
// examined by the same code as for a decision (consider.ts).

import { type Condition, decimalOf, Failure, type NumberResult, type Scope } from '../condition/condition.ts';
import { type CompiledLimit, type CompiledRule, ruleReads } from '../policy/compiled-policy.ts';
import { unitsAllowed, unitsOf } from '../policy/limit.ts';
import { type Action, ASKS, marksOf, type Rule } from '../policy/policy.ts';
import { type Situation, scopeOf } from '../policy/situation.ts';
import { ANY_SERVER } from '../text/name.ts';
import { safeJson } from '../text/visible.ts';
import { isWithin, localTime } from '../time/hours.ts';
import { type Considered, type Examined, Examiner, type Meter } from './consider.ts';
import { type Asked, Noted } from './noted.ts';
import { notApplyingText } from './reason-text.ts';

export interface TraceStep {
  ruleIndex: number;
  /** Null when a condition could not be evaluated, or when the rule depends on arguments and none were given. */
  applies: boolean | null;
  conditions: (boolean | 'error')[];
  /** One sentence, with the values that were read. */
  why: string;
  /** The same without the values, which are in `details`. */
  said: string;
  details: Detail[];
}

/** What the hours, a condition or the limit of a rule came to, and what a call that it lets pass means for its run. */
export interface Detail {
  /** `hours`, `condition 0`, `limit "refunds"`, `marks` or `known`. */
  name: string;
  /** As it is written in the policy. */
  text: string;
  /** `true`, `outside`, `adds 40 to 460 of 500`. */
  outcome: string;
  /** Why it failed, or why the limit does not count the call; null if there is nothing to say. */
  why: string | null;
  /** What was read, such as `args.amount is 60`, and what `known()` was asked about. */
  values: string[];
}

type Outcome = Pick<Detail, 'outcome' | 'why'>;

/** How much of limits is used, by their names, as decimal numbers. */
export type Used = Readonly<Record<string, string>>;

const DEPENDS = 'depends on arguments';
const NO_CONDITIONS = 'it applies without conditions';

/**
 * The rules that match by name, up to the one that decides. Without arguments those below it are shown too, as long as
 * other arguments could lead to them.
 */
export function traceOf(considered: Considered, situation: Situation, used: Used): TraceStep[] {
  const { policy, call, name, index: last, inScope } = considered;
  const steps: TraceStep[] = [];
  if (!inScope) return steps;
  const tracer = new Tracer(considered, situation, used);
  for (const ruleIndex of policy.index.candidatesFor(name, call.toolName)) {
    const step = tracer.step(ruleIndex);
    steps.push(step);
    if (step.said !== DEPENDS && (step.applies === true || ruleIndex === last)) break;
  }
  return steps;
}

const AFTER_FAILURE: Record<Action, string> = {
  allow: 'so it does not apply',
  deny: 'so it denies',
  require_approval: 'so it requires approval, unless a rule below denies',
};

class Tracer {
  readonly #considered: Considered;
  readonly #situation: Situation;
  readonly #used: Used;
  readonly #scope: Scope;
  readonly #examiner: Examiner;

  constructor(considered: Considered, situation: Situation, used: Used) {
    this.#considered = considered;
    this.#situation = situation;
    this.#used = used;
    this.#scope = scopeOf(considered.call, situation);
    this.#examiner = new Examiner(considered.policy.id, considered.call, situation);
  }

  step(ruleIndex: number): TraceStep {
    const { policy } = this.#considered;
    const written = policy.rules[ruleIndex] as Rule;
    const { action, during = '' } = written;
    const rule = policy.compiled.get(ruleIndex);
    if (rule === undefined)
      return {
        ruleIndex,
        applies: true,
        conditions: [],
        why: NO_CONDITIONS,
        said: NO_CONDITIONS,
        details: bringing(written, ASKS[action]),
      };
    const noted = new Noted(rule);
    const examined = this.#examiner.examine(noted.rule);
    const results = rule.conditions.map(each => noted.result(each, this.#scope));
    const depends = this.#situation.args === undefined && ruleReads(rule, 'args');
    const given = depends ? 'without arguments ' : '';
    const details = [
      ...this.#hours(rule, during),
      ...rule.conditions.map((each, at) =>
        this.#detail(`condition ${at}`, each, outcomeOf(results[at], given), noted),
      ),
      ...this.#limit(rule, examined, noted),
      ...(examined.applies && !depends ? this.#bringing(written, examined) : []),
    ];
    const said = depends ? DEPENDS : this.#said(examined, action);
    const values = depends ? [] : [...new Set(details.flatMap(each => each.values))];
    return {
      ruleIndex,
      applies: depends ? null : examined.applies,
      conditions: results.map(each => (typeof each === 'boolean' ? each : 'error')),
      why: values.length === 0 ? said : `${said} (${values.join(', ')})`,
      said,
      details,
    };
  }

  #said({ applies, not, meter }: Examined, action: Action): string {
    if (not !== null) {
      const why = notApplyingText(not);
      return applies === null ? `${why}, ${AFTER_FAILURE[action]}` : why;
    }
    if (meter === null) return 'it applies';
    const { name, limit } = meter.limit;
    const its = `it applies, but its limit "${name}"`;
    if (meter.subject === null) return `${its} counts per ${limit.per}, and this call has none`;
    return hasRoom(meter, this.#used) ? 'it applies' : `${its} is used up`;
  }

  #bringing(rule: Rule, { meter }: Examined): Detail[] {
    if (meter === null) return bringing(rule, ASKS[rule.action]);
    if (meter.subject === null) return [];
    const isUsedUp = !hasRoom(meter, this.#used);
    return isUsedUp && meter.limit.limit.beyond !== 'require_approval' ? [] : bringing(rule, isUsedUp);
  }

  #hours({ hours }: CompiledRule, text: string): Detail[] {
    if (hours === null) return [];
    const { now } = this.#situation;
    const outcome = isWithin(hours, now) ? 'inside' : 'outside';
    const time = `the time is ${new Date(now).toISOString()}, ${localTime(hours, now)}`;
    return [{ name: 'hours', text, outcome, why: null, values: [time] }];
  }

  #limit({ limit }: CompiledRule, { meter }: Examined, noted: Noted): Detail[] {
    if (limit === null) return [];
    const { calls, atMost = calls } = limit.limit;
    const name = `limit "${limit.name}"`;
    const used = Object.hasOwn(this.#used, limit.name) ? this.#used[limit.name] : '0';
    const counted = meter !== null && meter.subject !== null;
    const came: Outcome = counted
      ? { outcome: `adds ${noted.amount} to ${used} of ${atMost}`, why: null }
      : { outcome: 'not counted', why: whyNotCounted(limit, noted.sum) };
    if (limit.sum === null) return [{ name, text: 'calls', ...came, values: [] }];
    return [this.#detail(name, limit.sum, came, noted)];
  }

  #detail(name: string, condition: Condition<unknown>, came: Outcome, noted: Noted): Detail {
    const values = condition.readings(this.#scope).map(({ text, value }) => `${text} ${shown(value)}`);
    const asked = answers(noted.asked(condition), this.#situation.run?.dropped ?? 0);
    return { name, text: condition.source, ...came, values: [...values, ...asked] };
  }
}

/** What a call that a rule lets pass means for its run. `asks`: only if a person approves it. */
function bringing(rule: Rule, asks: boolean): Detail[] {
  const approved = asks ? ' once it is approved' : '';
  const detail = (name: string, text: string, outcome: string): Detail => ({
    name,
    text,
    outcome: outcome + approved,
    why: null,
    values: [],
  });
  const marks = marksOf(rule);
  return [
    ...(marks.length === 0 ? [] : [detail('marks', marks.join(', '), 'given to the run')]),
    ...(rule.known === undefined ? [] : [detail('known', rule.known, 'makes known what its result names')]),
  ];
}

/** Whether a limit of which that much is used has room for a call. */
export function hasRoom({ limit: { name, limit }, units }: Meter, used: Used): boolean {
  const before = Object.hasOwn(used, name) ? (unitsOf(limit, used[name] as string) ?? 0) : 0;
  return before + units <= unitsAllowed(limit);
}

/** Why a limit does not count the call, if that is because of the amount. */
function whyNotCounted(
  { name, limit }: CompiledLimit,
  sum: NumberResult | Failure | undefined,
): string | null {
  if (sum === undefined) return null;
  if (sum instanceof Failure) return clause(sum.why);
  const amount = decimalOf(sum);
  if (amount !== null && unitsOf(limit, amount) !== null) return null;
  return `"${name}" counts multiples of ${limit.unit ?? 1} that are not negative`;
}

function outcomeOf(result: boolean | Failure | undefined, given: string): Outcome {
  if (result instanceof Failure) return { outcome: `${given}failed`, why: clause(result.why) };
  return { outcome: given + String(result), why: null };
}

/** A sentence as a part of another one. */
function clause(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '');
}

const MOST_SHOWN = 80;
const MOST_ANSWERS = 8;

function shown(value: unknown): string {
  if (value === undefined) return 'is absent';
  return value === ANY_SERVER ? 'is not known' : `is ${shortened(safeJson(value))}`;
}

const shortened = (text: string): string =>
  text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;

/** What `known()` was asked about, and how many values it could not know. */
function answers(asked: Asked, dropped: number): string[] {
  if (asked.size === 0) return [];
  const said = Array.from(asked, ([value, answer]) => {
    const words = answer instanceof Failure ? 'could not be looked up' : answer ? 'is known' : 'is not known';
    return `${shortened(value)} ${words}`;
  });
  const more = said.length - MOST_ANSWERS;
  const shown = more > 0 ? [...said.slice(0, MOST_ANSWERS), `${more} more were asked about`] : said;
  return dropped === 0 ? shown : [...shown, `${dropped} further values had no room in the run`];
}
