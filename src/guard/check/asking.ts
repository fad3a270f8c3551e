// Those calls of a group whose rules ask for approval: what each of them asks for, in which order they have their turns,
// and what was read about approvals of them. Digests of their arguments are computed here, as many as there is time for.

import { askingRule, asksForApproval } from '../../core/decision/decide.ts';
import type { HandedTo } from '../../core/decision/reason.ts';
import type { Rule } from '../../core/policy/policy.ts';
import { isLarge } from '../../core/wire/large.ts';
import type { Transaction } from '../../store/engine/db.ts';
import type { Deps } from '../deps.ts';
import { ruleDigest } from '../rule-digest.ts';
import { ApprovalFacts } from './approval-facts.ts';
import { type Case, type Group, isCase } from './cases.ts';
import type { DefinitionFacts } from './facts.ts';
import type { Asking } from './freeing.ts';
import { LATER, type Outcome } from './group-work.ts';
import type { KeyTurns } from './key-turns.ts';
import type { LimitFacts } from './limits.ts';
import type { CheckRequest, Verdict } from './request.ts';
import { Slice } from './slice.ts';

/**
 * How long a group works on the arguments of calls that ask for approval, in each of two steps: for their digests, and
 * for the questions. The others of these calls are decided in later groups. A thousand of them with 400 values each would
 * otherwise hold the locks for half a second.
 */
const ASKING_MS = 4;

/** How they take turns, and by which clock. */
export interface AskingTurns {
  turns: KeyTurns;
  clock: () => number;
}

/** What each call asks for, in the order of their turns; null for those whose digest a later group computes. */
type Questions = ReadonlyMap<Case, Asking | null>;

export class AskingCalls {
  readonly approvals: ApprovalFacts;
  /** The time for the questions. */
  readonly slice: Slice;
  /** The places of the group in the order in which it is decided. */
  readonly order: readonly number[];
  readonly #questions: Questions;
  readonly #turns: KeyTurns;

  private constructor(
    approvals: ApprovalFacts,
    slice: Slice,
    order: readonly number[],
    questions: Questions,
    turns: KeyTurns,
  ) {
    this.approvals = approvals;
    this.slice = slice;
    this.order = order;
    this.#questions = questions;
    this.#turns = turns;
  }

  /** Null if no call of the group asks. Otherwise it waits for the locks on approvals of the keys that do. */
  static async read(
    deps: Deps,
    tx: Transaction,
    group: Group,
    limits: LimitFacts | null,
    { turns, clock }: AskingTurns,
  ): Promise<AskingCalls | null> {
    const askers = group.cases.filter(each => isCase(each) && asks(each, limits)) as Case[];
    if (askers.length === 0) return null;
    const digests = new Slice(ASKING_MS, clock);
    const questions = questionsOf(deps, askers, group.definitions, digests, turns);
    const slice = new Slice(ASKING_MS, clock);
    const asking = [...questions.values()].filter(each => each !== null);
    const approvals = await ApprovalFacts.read(deps, tx, asking, group.now, slice);
    return new AskingCalls(approvals, slice, inTurns(group.cases, questions), questions, turns);
  }

  /** What the call asks for; undefined if it does not ask, null if there is no more time for it in this group. */
  questionOf(each: Case): Asking | null | undefined {
    const question = this.#questions.get(each);
    return question !== undefined && this.slice.isUsedUp ? null : question;
  }

  /** Remembers whose calls were decided: in the next groups the others come first. */
  tookTurns({ cases }: Group, results: readonly Outcome<Verdict>[]): void {
    const asked = this.order.filter(index => this.#questions.has(cases[index] as Case));
    const decided = asked.filter(index => results[index] !== LATER);
    const worked = decided.map(index => (cases[index] as Case).request);
    this.#turns.took(worked, decided.length < asked.length);
  }
}

function asks({ considered, drift, metered }: Case, limits: LimitFacts | null): boolean {
  const usedUp = metered !== null && limits?.mayBeUsedUp(metered) === true;
  return asksForApproval(considered, { drift, usedUp });
}

function questionsOf(
  deps: Deps,
  askers: readonly Case[],
  definitions: DefinitionFacts,
  slice: Slice,
  turns: KeyTurns,
): Questions {
  const questions = new Map<Case, Asking | null>();
  for (const index of turns.order(askers.map(each => each.request))) {
    const each = askers[index] as Case;
    const digest = digestWithin(deps, slice, each.request);
    // Who takes care of a call with a run may depend on further evaluations of its conditions.
    const hasTime = each.run === null || !slice.isUsedUp;
    const question = digest !== null && hasTime ? () => questionOf(each, digest, definitions) : null;
    questions.set(each, question && slice.spend(question));
  }
  return questions;
}

function questionOf(each: Case, argsDigest: string, definitions: DefinitionFacts): Asking {
  const { request, person, drift, considered } = each;
  const rule = askingRule(considered);
  const digests = { argsDigest, ruleDigest: ruleDigest(rule), definitionDigest: definitions.digest(request) };
  return { request, person, drift, rule, receiver: receiverOf(each, rule), ...digests };
}

/**
 * A rule that names its approvers is not put to the person at a terminal. The proxy sees the call in a run of its own,
 * which may have no marks: where marks decide, it might ask nobody.
 */
function receiverOf({ request: { handedTo }, run }: Case, rule: Rule): HandedTo | null {
  if (handedTo === undefined || (handedTo === 'terminal' && rule.approvers !== undefined)) return null;
  if (handedTo !== 'proxy' || run === null) return handedTo;
  return run.marksMatter() ? null : handedTo;
}

/**
 * Null if it is not computed yet, and would take too long while locks are held: the arguments are large, or the slice is
 * used up. Only the transaction knows which calls need it.
 */
function digestWithin(deps: Deps, slice: Slice, request: CheckRequest): string | null {
  if (request.callDigest !== undefined) return request.callDigest;
  return slice.isUsedUp || hasLarge(request) ? null : slice.spend(() => digestOf(deps, request));
}

export function digestOf({ vault }: Deps, request: CheckRequest): string {
  request.callDigest ??= vault.callDigest(request);
  return request.callDigest;
}

export function hasLarge({ args, continuation }: CheckRequest): boolean {
  return isLarge(args) || isLarge(continuation);
}

/** The calls that ask take turns among their places. */
function inTurns(cases: Group['cases'], questions: Questions): readonly number[] {
  const places = new Map(cases.map((each, index) => [each, index]));
  const turns = questions.keys();
  return cases.map((each, index) =>
    questions.has(each as Case) ? (places.get(turns.next().value as Case) as number) : index,
  );
}
