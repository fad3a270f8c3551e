// The check, for both surfaces (`/v1/check` and `/mcp`). Calls are decided inside the transaction that records them,
// under locks that keep the facts true until the commit, and a verdict exists only once that commit has returned.
// Arguments are read by conditions and, if a rule asks for approval, for a keyed digest and for what the rule shows of
// them. They are never written anywhere.

import { detailsOf } from '../../core/approvals/details.ts';
import { askingRule, asksForApproval, type Decided, decide, type Facts } from '../../core/decision/decide.ts';
import { GuardError } from '../../core/errors.ts';
import { isLarge } from '../../core/wire/large.ts';
import type { Span } from '../../core/wire/span.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { AuditWriter } from '../../store/log/audit.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import { ask, carriersFor } from '../approvals/ask.ts';
import type { Deps } from '../deps.ts';
import { keyLock, PEOPLE_LOCK, POLICIES_LOCK } from '../locks.ts';
import { CallerTurns } from '../rations/caller-turns.ts';
import { keyName } from '../rations/rations.ts';
import { ruleDigest } from '../rule-digest.ts';
import { Annotations } from './annotations.ts';
import { ApprovalFacts, type Asking, receiverOf } from './approval-facts.ts';
import { type Case, type Group, type GroupMemory, readGroup } from './cases.ts';
import { type GroupWork, LATER, MOVED, type Outcome } from './commit.ts';
import { auditEntry, pendingMessage, verdictOf } from './entry.ts';
import { DefinitionFacts } from './facts.ts';
import { KeyTurns } from './key-turns.ts';
import { LimitFacts, type Metered } from './limits.ts';
import { MeteredCalls } from './metered-calls.ts';
import { CompiledPolicies } from './policies.ts';
import { attributesOf, type CheckRequest, type Verdict } from './request.ts';
import { Shadows } from './shadow.ts';
import { Slice } from './slice.ts';

/**
 * How long a group works on the arguments of calls that ask for approval, in each of two steps: for their digests, and
 * for the questions. The others of these calls are decided in later groups. A thousand of them with 400 values each would
 * otherwise hold the locks for half a second.
 */
const ASKING_MS = 4;

/** What the calls of one group share. Each decision adds its entry. */
interface Round {
  tx: Transaction;
  now: number;
  limits: LimitFacts | null;
  slice: Slice;
  entries: AuditEntry[];
}

/** What the groups of one process share. */
export interface CheckMemory extends GroupMemory {
  /** The turns of large pieces of work. */
  turns: CallerTurns;
  meteredCalls: MeteredCalls;
}

export class CheckWork implements GroupWork<CheckRequest, Verdict> {
  readonly #deps: Deps;
  readonly #memory: CheckMemory;
  readonly #movesMetered: boolean;
  readonly #clock: () => number;
  readonly #log = new AuditWriter();
  readonly #conditionTurns = new KeyTurns();
  readonly #askingTurns = new KeyTurns();
  /** What is held for the pending verdicts of the last group once they are committed. */
  #toHold: (() => void)[] = [];
  /** Whether the last group has put something into the outbox. */
  #hasAsked = false;
  /** The traced calls of the last group, whose spans are told the decision once it is committed. */
  #traced: { request: CheckRequest; entry: AuditEntry }[] = [];

  /**
   * `movesMetered`: calls that count against a limit are decided in other groups, whose locks only they wait for. `clock`
   * says how long a group has worked.
   */
  constructor(
    deps: Deps,
    memory: CheckMemory = newMemory(),
    movesMetered = false,
    clock: () => number = () => performance.now(),
  ) {
    this.#deps = deps;
    this.#clock = clock;
    this.#memory = memory;
    this.#movesMetered = movesMetered;
  }

  keyOf({ principal }: CheckRequest): string {
    return principal.keyId;
  }

  callerOf({ principal }: CheckRequest): string {
    return principal.sessionId ?? '';
  }

  shares(keyIds: ReadonlySet<string>, requests: readonly CheckRequest[]): string[] {
    const people = requests.some(each => each.principal.personId !== undefined) ? [PEOPLE_LOCK] : [];
    return [...people, POLICIES_LOCK, ...Array.from(keyIds, keyLock)];
  }

  spanOf({ span }: CheckRequest): Span | undefined {
    return span;
  }

  moves(request: CheckRequest): boolean {
    return this.#movesMetered && this.#memory.meteredCalls.has(request);
  }

  /** Computes the digest of large arguments, when it is the turn of their key. */
  prepare(request: CheckRequest): Promise<void> | null {
    if (request.callDigest !== undefined || !hasLarge(request)) return null;
    const turn = this.#memory.turns.next(keyName(request.principal.keyId));
    return turn.then(() => void this.#digestOf(request));
  }

  #digestOf(request: CheckRequest): string {
    request.callDigest ??= this.#deps.vault.callDigest(request);
    return request.callDigest;
  }

  async decideGroup(tx: Transaction, requests: readonly CheckRequest[]): Promise<Outcome<Verdict>[]> {
    const meters = !this.#movesMetered;
    const group = await readGroup(this.#deps, tx, requests, this.#memory, meters, this.#conditionTurns);
    const metered = this.#metered(group);
    const { limitTime } = group;
    const cases = group.cases.filter(isCase);
    const [limits, shadows] = await Promise.all([
      metered.length > 0 && limitTime !== null ? LimitFacts.read(tx, metered, limitTime) : null,
      Shadows.read(tx, cases, group.now),
    ]);
    const askers = cases.filter(each => asks(each, limits));
    const asking = askers.length > 0 ? await this.#asking(tx, askers, group.definitions) : NONE_ASKING;
    const slice = new Slice(ASKING_MS, this.#clock);
    const approvals =
      asking.size > 0 ? await ApprovalFacts.read(this.#deps, tx, askingOnes(asking), group.now, slice) : null;
    this.#traced = [];
    this.#toHold = [];
    this.#hasAsked = false;
    const entries: AuditEntry[] = [];
    const round: Round = { tx, now: group.now, limits, slice, entries };
    const results: Outcome<Verdict>[] = new Array(requests.length);
    const order = approvals === null ? null : inAskingOrder(group.cases, asking);
    for (let turn = 0; turn < requests.length; turn++) {
      const index = order === null ? turn : (order[turn] as number);
      const each = group.cases[index] as Group['cases'][number];
      const question = isCase(each) ? asking.get(each) : undefined;
      if (!isCase(each)) results[index] = each;
      else if (each.metered !== null && limits === null) results[index] = MOVED;
      else if (question === null || (question !== undefined && slice.isUsedUp)) results[index] = LATER;
      else {
        const usedUp = each.metered !== null && limits?.isUsedUp(each.metered) === true;
        const shadow = shadows.judge(each, question, approvals);
        const written = entries.length;
        const result =
          approvals === null || question === undefined
            ? decideByRule(each, usedUp, entries)
            : await this.#decideAsking(round, each, question, approvals, usedUp);
        this.#note(round, each, result, entries[written], shadow);
        results[index] = result;
      }
    }
    if (order !== null) {
      const asked = order.filter(index => asking.has(group.cases[index] as Case));
      const decided = asked.filter(index => results[index] !== LATER);
      const worked = decided.map(index => requests[index] as CheckRequest);
      this.#askingTurns.took(worked, decided.length < asked.length);
    }
    limits?.write(tx);
    approvals?.write(tx);
    await this.#log.insert(tx, entries);
    return results;
  }

  /** Adds to the entry of a decided call what its shadow says, and counts the call against its limit. */
  #note(
    { limits, entries }: Round,
    each: Case,
    result: Verdict | GuardError,
    entry: AuditEntry | undefined,
    shadow: AuditEntry['shadow'],
  ): void {
    const { request, metered } = each;
    if (entry !== undefined) {
      entry.shadow = shadow;
      if (request.span?.sampled) this.#traced.push({ request, entry });
    }
    if (metered !== null && !unsent(each) && 'decision' in result && result.decision === 'allow')
      limits?.count(metered, Math.max(entries.at(-1)?.at ?? 0, this.#deps.now()));
  }

  committed(): void {
    this.#log.committed();
    for (const { request, entry } of this.#traced) request.span?.set(attributesOf(request, entry));
    for (const hold of this.#toHold) hold();
    // An approval that was opened has an event and notifications in the outbox, and the worker is to send them now.
    if (this.#hasAsked) this.#deps.db.wake();
  }

  #metered({ cases }: Group): Metered[] {
    const metered: Metered[] = [];
    for (const each of cases) {
      if (!isCase(each)) continue;
      this.#memory.meteredCalls.note(each.request, each.metered !== null);
      if (each.metered !== null) metered.push(each.metered);
    }
    return metered;
  }

  /**
   * What each of these calls asks for, in the order of their turns; null for those whose digest a later group computes.
   * An approval is bound to the tool's definition even if the setting allows changed definitions.
   */
  async #asking(
    tx: Transaction,
    askers: readonly Case[],
    known: DefinitionFacts,
  ): Promise<Map<Case, Asking | null>> {
    const unread = this.#deps.settings.toolDrift === 'allow';
    const requests = askers.map(each => each.request);
    const definitions = unread ? await DefinitionFacts.read(tx, requests) : known;
    const asking = ({ request, person, drift, considered }: Case, argsDigest: string): Asking => ({
      request,
      person,
      drift,
      rule: askingRule(considered),
      ruleDigest: ruleDigest(askingRule(considered)),
      argsDigest,
      definitionDigest: definitions.digest(request),
    });
    const slice = new Slice(ASKING_MS, this.#clock);
    const found = new Map<Case, Asking | null>();
    for (const index of this.#askingTurns.order(requests)) {
      const each = askers[index] as Case;
      const digest = this.#digestWithin(slice, each.request);
      found.set(each, digest === null ? null : asking(each, digest));
    }
    return found;
  }

  /**
   * Null if it is not computed yet, and would take too long while locks are held: the arguments are large, or the slice is
   * used up. Only the transaction knows which calls need it.
   */
  #digestWithin(slice: Slice, request: CheckRequest): string | null {
    if (request.callDigest !== undefined) return request.callDigest;
    return slice.isUsedUp || hasLarge(request) ? null : slice.spend(() => this.#digestOf(request));
  }

  /** Decides first and then spends the approval that freed the call. If it can no longer be spent, it decides again. */
  async #decideAsking(
    { tx, now, slice, entries }: Round,
    each: Case,
    asking: Asking,
    approvals: ApprovalFacts,
    usedUp: boolean,
  ): Promise<Verdict | GuardError> {
    const { request, key, considered, drift } = each;
    const handedTo = receiverOf(asking);
    const approvalLimit = handedTo === null ? approvals.limit(request) : null;
    const before = approvals.repeated(asking);
    const repeats = before && { referenceId: before.id, denied: before.status === 'denied' };
    let unfreed: string | null = null;
    let decided: Decided;
    do {
      const freedom = approvals.freedom(asking);
      unfreed = freedom === null ? approvals.unfreed(asking) : null;
      const facts: Facts = { drift, freedom, unfreed, repeats, approvalLimit, usedUp, handedTo };
      decided = decide(considered, facts);
    } while (decided.freedBy !== null && !unsent(each) && !(await approvals.spend(tx, decided.freedBy, now)));
    const opens = decided.decision === 'pending' && decided.repeats === null && handedTo === null;
    const carriers = opens ? carriersFor(this.#deps, key, asking.rule) : [];
    if (carriers instanceof GuardError) return carriers;
    const entry = auditEntry(each, decided);
    entries.push(entry);
    if (decided.decision === 'deny' && decided.repeats !== null)
      return { ...verdictOf(entry), ...(before?.note && { note: before.note }) };
    if (decided.decision !== 'pending' || handedTo !== null) return verdictOf(entry);
    let expiresAt = before?.expiresAt ?? now;
    if (opens) {
      const { subscribers } = approvals;
      const { person } = each;
      const { args, agent } = request;
      const approval = slice.spend(() =>
        ask(this.#deps, tx, entry, asking, {
          args,
          folder: agent?.folder,
          person,
          carriers,
          subscribers,
          now,
        }),
      );
      this.#hasAsked = true;
      entry.referenceId = approval.id;
      expiresAt = approval.expiresAt;
      approvals.opened(approval, asking);
    }
    const referenceId = entry.referenceId as string;
    const lacking = approvals.lacking(asking);
    const message = pendingMessage(request, unfreed, approvals.noteOf(asking), lacking);
    const until = request.surface === 'check' ? {} : { expiresAt, ...(lacking && { lacking }) };
    const verdict = { ...verdictOf(entry), referenceId, message, ...until };
    this.#holdDetails(slice, asking, referenceId, expiresAt);
    return verdict;
  }

  /** Those of large arguments take up to about 100 ms, and are made once the locks are released. */
  #holdDetails(slice: Slice, { rule, request }: Asking, referenceId: string, expiresAt: number): void {
    if (rule.show === undefined && rule.ask === undefined) return;
    const make = () => detailsOf(rule, request.args, request.agent?.folder);
    const made = hasLarge(request) ? undefined : slice.spend(make);
    if (made === null) return;
    this.#toHold.push(() => {
      const details = made ?? make();
      if (details !== null) this.#deps.details.hold(referenceId, details, expiresAt);
    });
  }
}

export function newMemory(turns = new CallerTurns()): CheckMemory {
  return {
    turns,
    policies: new CompiledPolicies(),
    annotations: new Annotations(),
    meteredCalls: new MeteredCalls(),
  };
}

const NONE_ASKING: ReadonlyMap<Case, Asking | null> = new Map();

/** The places of a group in the order in which it is decided: the calls that ask take turns among their places. */
function inAskingOrder(cases: Group['cases'], asking: ReadonlyMap<Case, Asking | null>): readonly number[] {
  const places = new Map(cases.map((each, index) => [each, index]));
  const turns = asking.keys();
  return cases.map((each, index) =>
    asking.has(each as Case) ? (places.get(turns.next().value as Case) as number) : index,
  );
}

function askingOnes(asking: ReadonlyMap<Case, Asking | null>): Asking[] {
  return [...asking.values()].filter(each => each !== null);
}

function isCase(each: Group['cases'][number]): each is Case {
  return each !== LATER && !(each instanceof GuardError);
}

function hasLarge({ args, continuation }: CheckRequest): boolean {
  return isLarge(args) || isLarge(continuation);
}

function unsent({ request }: Case): boolean {
  return request.call.unsent === true;
}

function asks({ considered, drift, metered }: Case, limits: LimitFacts | null): boolean {
  const usedUp = metered !== null && limits?.mayBeUsedUp(metered) === true;
  return asksForApproval(considered, { drift, usedUp });
}

/** Decides a call whose rule does not ask for approval. */
function decideByRule(each: Case, usedUp: boolean, entries: AuditEntry[]): Verdict {
  const { considered, drift } = each;
  const decided = decide(considered, { drift, freedom: null, approvalLimit: null, usedUp });
  const entry = auditEntry(each, decided);
  entries.push(entry);
  return verdictOf(entry);
}
