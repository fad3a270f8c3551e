// The check, for both surfaces (`/v1/check` and `/mcp`). Calls are decided inside the transaction that records them,
// under locks that keep the facts true until the commit, and a verdict exists only once that commit has returned.
// Arguments are read by conditions and, if a rule asks for approval, for a keyed digest and for what the rule shows of
// them. They are never written anywhere.

import {
  askingRule,
  asksForApproval,
  type Decided,
  decide,
  type Facts,
  unfreedBy,
} from '../../core/decide.ts';
import { detailsOf } from '../../core/details.ts';
import { GuardError } from '../../core/errors.ts';
import type { Span } from '../../core/span.ts';
import { AuditWriter } from '../../store/audit.ts';
import type { AuditEntry } from '../../store/audit-entry.ts';
import type { Transaction } from '../../store/db.ts';
import { ask, carriersFor } from '../approvals/ask.ts';
import type { Deps } from '../deps.ts';
import { newId, timeOfId } from '../ids.ts';
import { keyLock, PEOPLE_LOCK, POLICIES_LOCK } from '../locks.ts';
import { Annotations } from './annotations.ts';
import { ApprovalFacts, type Asking, receiverOf } from './approval-facts.ts';
import { type Case, type Group, type GroupMemory, readGroup } from './cases.ts';
import { type GroupWork, LATER, MOVED, type Outcome } from './commit.ts';
import { DefinitionFacts } from './facts.ts';
import { LimitFacts, type Metered } from './limits.ts';
import { MeteredCalls } from './metered-calls.ts';
import { CompiledPolicies } from './policies.ts';
import { attributesOf, type CheckRequest, type Verdict } from './request.ts';
import { ruleDigest } from './rule-digest.ts';
import { Shadows } from './shadow.ts';

const PENDING_MESSAGE =
  'This is not the final outcome: nothing was run, a human has to approve the call, and the outcome arrives ' +
  'by the approval.resolved webhook with this referenceId.';

/** What the groups of one process share. */
export interface CheckMemory extends GroupMemory {
  meteredCalls: MeteredCalls;
}

export class CheckWork implements GroupWork<CheckRequest, Verdict> {
  readonly #deps: Deps;
  readonly #memory: CheckMemory;
  readonly #movesMetered: boolean;
  readonly #log = new AuditWriter();
  /** What is held for the pending verdicts of the last group once they are committed. */
  #toHold: (() => void)[] = [];
  /** Whether the last group has put something into the outbox. */
  #hasAsked = false;
  /** The traced calls of the last group, whose spans are told the decision once it is committed. */
  #traced: { request: CheckRequest; entry: AuditEntry }[] = [];

  /** `movesMetered`: calls that count against a limit are decided in other groups, whose locks only they wait for. */
  constructor(deps: Deps, memory: CheckMemory = newMemory(), movesMetered = false) {
    this.#deps = deps;
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

  async decideGroup(tx: Transaction, requests: readonly CheckRequest[]): Promise<Outcome<Verdict>[]> {
    const group = await readGroup(this.#deps, tx, requests, this.#memory, !this.#movesMetered);
    const metered = this.#metered(group);
    const { limitTime } = group;
    const cases = group.cases.filter(isCase);
    const [limits, shadows] = await Promise.all([
      metered.length > 0 && limitTime !== null ? LimitFacts.read(tx, metered, limitTime) : null,
      Shadows.read(tx, cases, group.now),
    ]);
    const askers = cases.filter(each => asks(each, limits));
    const asking = askers.length > 0 ? await this.#asking(tx, askers, group.definitions) : NONE_ASKING;
    const approvals =
      asking.size > 0 ? await ApprovalFacts.read(this.#deps, tx, [...asking.values()], group.now) : null;
    this.#traced = [];
    this.#toHold = [];
    this.#hasAsked = false;
    const entries: AuditEntry[] = [];
    const results: Outcome<Verdict>[] = [];
    for (const each of group.cases) {
      if (!isCase(each)) results.push(each);
      else if (each.metered !== null && limits === null) results.push(MOVED);
      else {
        const question = asking.get(each);
        const usedUp = each.metered !== null && limits?.isUsedUp(each.metered) === true;
        const shadow = shadows.judge(each, question, approvals);
        const written = entries.length;
        const result =
          approvals === null || question === undefined
            ? decideByRule(each, usedUp, entries)
            : await this.#decideAsking(tx, each, question, approvals, usedUp, entries, group.now);
        const entry = entries[written];
        if (entry !== undefined) {
          entry.shadow = shadow;
          if (each.request.span?.sampled) this.#traced.push({ request: each.request, entry });
        }
        if (each.metered !== null && !unsent(each) && 'decision' in result && result.decision === 'allow')
          limits?.count(each.metered, Math.max(entries.at(-1)?.at ?? 0, this.#deps.now()));
        results.push(result);
      }
    }
    limits?.write(tx);
    approvals?.write(tx);
    await this.#log.insert(tx, entries);
    return results;
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

  /** An approval is bound to the tool's definition even if the setting allows changed definitions. */
  async #asking(
    tx: Transaction,
    askers: readonly Case[],
    known: DefinitionFacts,
  ): Promise<Map<Case, Asking>> {
    const unread = this.#deps.settings.toolDrift === 'allow';
    const requests = askers.map(each => each.request);
    const definitions = unread ? await DefinitionFacts.read(tx, requests) : known;
    const asking = ({ request, person, drift, considered }: Case): Asking => ({
      request,
      person,
      drift,
      rule: askingRule(considered),
      ruleDigest: ruleDigest(askingRule(considered)),
      argsDigest: this.#deps.vault.callDigest(request),
      definitionDigest: definitions.digest(request),
    });
    return new Map(askers.map(each => [each, asking(each)]));
  }

  /** Decides first and then spends the approval that freed the call. If it can no longer be spent, it decides again. */
  async #decideAsking(
    tx: Transaction,
    each: Case,
    asking: Asking,
    approvals: ApprovalFacts,
    usedUp: boolean,
    entries: AuditEntry[],
    now: number,
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
      const { args } = request;
      const approval = ask(this.#deps, tx, entry, asking, { args, person, carriers, subscribers, now });
      this.#hasAsked = true;
      entry.referenceId = approval.id;
      expiresAt = approval.expiresAt;
      approvals.opened(approval, asking);
    }
    const referenceId = entry.referenceId as string;
    const message = pendingMessage(request, unfreed, approvals.noteOf(asking));
    const until = request.surface === 'check' ? {} : { expiresAt };
    const verdict = { ...verdictOf(entry), referenceId, message, ...until };
    const details = detailsOf(asking.rule, request.args);
    if (details !== null) this.#toHold.push(() => this.#deps.details.hold(referenceId, details, expiresAt));
    return verdict;
  }
}

export function newMemory(): CheckMemory {
  return {
    policies: new CompiledPolicies(),
    annotations: new Annotations(),
    meteredCalls: new MeteredCalls(),
  };
}

const NONE_ASKING: ReadonlyMap<Case, Asking> = new Map();

function isCase(each: Group['cases'][number]): each is Case {
  return each !== LATER && !(each instanceof GuardError);
}

function unsent({ request }: Case): boolean {
  return request.call.unsent === true;
}

function asks({ considered, drift, metered }: Case, limits: LimitFacts | null): boolean {
  const usedUp = metered !== null && limits?.mayBeUsedUp(metered) === true;
  return asksForApproval(considered, { drift, usedUp });
}

/**
 * A pending result on `/mcp` shows no reason, so the message says why the named approval frees nothing. `note` is what
 * the person wrote who denied it.
 */
function pendingMessage({ surface }: CheckRequest, unfreed: string | null, note: string | null): string {
  const why = surface === 'mcp' && unfreed !== null ? ` ${unfreedBy(unfreed)}` : '';
  return `${PENDING_MESSAGE}${why}${note === null ? '' : ` It was denied with this note: ${note}`}`;
}

/** Decides a call whose rule does not ask for approval. */
function decideByRule(each: Case, usedUp: boolean, entries: AuditEntry[]): Verdict {
  const { considered, drift } = each;
  const decided = decide(considered, { drift, freedom: null, approvalLimit: null, usedUp });
  const entry = auditEntry(each, decided);
  entries.push(entry);
  return verdictOf(entry);
}

function verdictOf(entry: AuditEntry): Verdict {
  const { decision, reason, policyId, id: toolCallId, latencyMs } = entry;
  return { decision, reason, policyId, toolCallId, latencyMs };
}

function auditEntry({ request, person, considered: { policy } }: Case, decided: Decided): AuditEntry {
  const { principal, call, surface, startedAt, span } = request;
  const id = newId();
  return {
    id,
    at: timeOfId(id),
    keyId: principal.keyId,
    sessionId: principal.sessionId,
    personId: person?.id ?? null,
    surface,
    serverName: call.serverName,
    toolName: call.toolName,
    decision: decided.decision,
    reason: decided.reason,
    policyId: policy.id,
    policyVersion: policy.version,
    ruleIndex: decided.ruleIndex,
    referenceId: (decided.freedBy ?? decided.repeats)?.referenceId ?? null,
    latencyMs: Math.round(performance.now() - startedAt),
    shadow: null,
    traceId: span?.traceId ?? null,
  };
}
