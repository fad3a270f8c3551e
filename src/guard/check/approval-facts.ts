// Reads, inside the audit transaction, what a call depends on whose rule asks for approval: the grants, the approvals
// that can be spent, and how many approvals are open. freeing.ts compares them with the call.

import type { Lacking } from '../../core/approvals/approval.ts';
import type { Freedom } from '../../core/decision/decide.ts';
import type { TooMany, WhyNotFreed } from '../../core/decision/reason.ts';
import { knowsRepeats } from '../../core/text/surface.ts';
import { type ApprovalRecord, countOpen, findApprovals } from '../../store/approvals.ts';
import { listSubscribers, type Subscriber } from '../../store/deliveries.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { countUses, type OpenGrant, openGrants } from '../../store/grants.ts';
import { listGroupMembers } from '../../store/operators.ts';
import {
  findRepeated,
  findSpendable,
  findSpendableByDigest,
  type RepeatedApproval,
  type Spendable,
  spendApproval,
} from '../../store/usable-approvals.ts';
import { lackingOf, type Members } from '../approvals/able.ts';
import { isWithinBounds } from '../approvals/bound-grants.ts';
import type { Deps } from '../deps.ts';
import { approvalsLock } from '../locks.ts';
import {
  type Asking,
  enoughApprovers,
  frees,
  grantCovers,
  isFor,
  isOwn,
  isSameAsker,
  isSameTool,
  sameDefinition,
} from './freeing.ts';
import type { CheckRequest } from './request.ts';
import type { Slice } from './slice.ts';
import { whyUnusable } from './unusable.ts';

/** The facts for those calls of a group that ask for approval. Each decision updates them for the calls after it. */
export class ApprovalFacts {
  readonly #deps: Deps;
  readonly #slice: Slice;
  readonly #grants: OpenGrant[];
  /**
   * Approvals that can be spent, the oldest first. They are found by digest, because a group may have a thousand calls.
   */
  readonly #spendable: ByDigest<Spendable>;
  /** The approvals that the calls name, in any state, each with the reason why it cannot be spent, if there is one. */
  readonly #named = new Map<string, ApprovalRecord & { unusable: WhyNotFreed | null }>();
  readonly #open = new Map<string, number>();
  /** Questions about the same calls that are open or were denied, by the digest of the call, the newest first. */
  readonly #repeated: ByDigest<RepeatedApproval>;
  /** How many calls of this group each grant has freed, by its reference. */
  readonly #uses = new Map<string, number>();
  readonly subscribers: readonly Subscriber[];
  /** The operators of groups, where a rule names one. */
  readonly #members: Members;

  private constructor(
    deps: Deps,
    slice: Slice,
    grants: OpenGrant[],
    spendable: Spendable[],
    repeated: RepeatedApproval[],
    subscribers: Subscriber[],
    members: Members,
  ) {
    this.#deps = deps;
    this.#slice = slice;
    this.#grants = grants;
    this.#spendable = byDigest(spendable);
    this.#repeated = byDigest(repeated);
    this.subscribers = subscribers;
    this.#members = members;
  }

  /**
   * Waits for the lock: until no other transaction opens or spends approvals of the same keys. Comparing calls with grants
   * counts for the slice.
   */
  static async read(
    deps: Deps,
    tx: Transaction,
    asking: readonly Asking[],
    now: number,
    slice: Slice,
  ): Promise<ApprovalFacts> {
    const requests = asking.map(each => each.request);
    const keyIds = [...new Set(requests.map(each => each.principal.keyId))];
    const references = requests.flatMap(each => each.referenceId ?? []);
    const repeatable = asking.filter(({ request }) => knowsRepeats(request.surface));
    const digests = repeatable.map(each => each.argsDigest);
    const nameless = repeatable.filter(({ request }) => request.referenceId === null);
    const after = now - deps.settings.approvedFor;
    const [, grants, open, known, named, unnamed, repeated, subscribers, members] = await Promise.all([
      tx.lock({ exclusive: keyIds.map(approvalsLock) }),
      openGrants(tx, keyIds, now),
      countOpen(tx, keyIds, now),
      references.length > 0 ? findApprovals(tx, references) : [],
      references.length > 0 ? findSpendable(tx, references, after) : [],
      nameless.length > 0
        ? findSpendableByDigest(
            tx,
            keyIds,
            nameless.map(each => each.argsDigest),
            after,
          )
        : [],
      digests.length > 0 ? findRepeated(tx, keyIds, digests, now) : [],
      listSubscribers(tx),
      asking.some(({ rule }) => rule.approvers?.group !== undefined) ? listGroupMembers(tx) : [],
    ]);
    const facts = new ApprovalFacts(
      deps,
      slice,
      grants,
      [...named, ...unnamed],
      repeated,
      subscribers,
      members,
    );
    for (const each of known) facts.#named.set(each.id, { ...each, unusable: whyUnusable(each, now, after) });
    for (const row of open) facts.#count(row.keyId, row.sessionId, row.open);
    return facts;
  }

  /** What would free the call: a grant, or else the approval of this one call. */
  freedom(asking: Asking): Freedom | null {
    const grant = this.#slice.spend(() => this.#grantFor(asking));
    if (grant !== undefined) return { kind: 'grant', referenceId: grant.referenceId };
    const approval = this.#spendable.get(asking.argsDigest)?.find(each => frees(each, asking));
    return approval === undefined ? null : { kind: 'approval', referenceId: approval.id };
  }

  /**
   * Whether a task waits for this approval, or for the answer that opened this grant, and its call is this one. It has to be
   * asked before the approval is spent.
   */
  hasTask({ kind, referenceId }: Freedom, { argsDigest, request: { principal, surface } }: Asking): boolean {
    if (kind === 'grant')
      return this.#grants.some(
        ({ referenceId: id, taskDigest, taskSessionId: sessionId, taskPersonId: personId }) =>
          id === referenceId &&
          surface === 'mcp' &&
          taskDigest === argsDigest &&
          isSameAsker({ sessionId, personId }, principal),
      );
    return this.#spendable.get(argsDigest)?.some(each => each.id === referenceId && each.tasks > 0) === true;
  }

  #grantFor(asking: Asking): OpenGrant | undefined {
    const { principal, args, agent } = asking.request;
    return this.#grants.find(
      each =>
        isSameTool(each, asking.request) &&
        !isOwn(each, asking) &&
        grantCovers(each, asking) &&
        isWithinBounds(this.#deps.vault, each, principal.sessionId, args, agent?.folder),
    );
  }

  /** Why the approval that the caller names does not free the call; null when none is named. */
  whyNotFreed(asking: Asking): WhyNotFreed | null {
    const { principal, surface, referenceId } = asking.request;
    if (referenceId === null) return null;
    const named = this.#named.get(referenceId);
    // An approval of another key or person must look like one that does not exist.
    if (named === undefined || !isFor(named, principal)) return 'unknown';
    if (!isSameTool(named, asking.request)) return 'other_tool';
    if (named.unusable !== null) return named.unusable;
    if (named.surface !== surface) return { asked: named.surface, here: surface };
    if (named.argsDigest !== asking.argsDigest) return 'other_arguments';
    if (!sameDefinition(named, asking)) return 'other_definition';
    if (!enoughApprovers(named, asking)) return 'other_approvers';
    const isUnspent = this.#spendable.get(named.argsDigest)?.some(each => each.id === referenceId);
    return isUnspent ? 'too_few_votes' : 'used';
  }

  /**
   * The question that was asked about the same call, if it is still open or was denied. An open one must have
   * been asked by the same rule: another rule may want other people to answer.
   */
  repeated(asking: Asking): RepeatedApproval | null {
    const { request, ruleDigest } = asking;
    const same = this.#repeated
      .get(asking.argsDigest)
      ?.find(
        each =>
          each.surface === request.surface &&
          isSameAsker(each, request.principal) &&
          each.definitionDigest === asking.definitionDigest &&
          isSameTool(each, request) &&
          (each.status === 'denied' || each.ruleDigest === ruleDigest),
      );
    return same ?? null;
  }

  /** What the person wrote who denied the approval that the caller names. */
  noteOf({ request: { principal, referenceId } }: Asking): string | null {
    const named = referenceId === null ? undefined : this.#named.get(referenceId);
    return named?.status === 'denied' && isFor(named, principal) ? named.note : null;
  }

  /**
   * Spends the approval that freed a call; a grant is not spent, but its uses are counted. False: the approval cannot be
   * used any more.
   */
  async spend(tx: Transaction, { kind, referenceId }: Freedom, now: number): Promise<boolean> {
    if (kind === 'grant') {
      this.#uses.set(referenceId, (this.#uses.get(referenceId) ?? 0) + 1);
      return true;
    }
    for (const same of this.#spendable.values()) {
      const at = same.findIndex(each => each.id === referenceId);
      if (at >= 0) same.splice(at, 1);
    }
    return spendApproval(tx, referenceId, now);
  }

  /** Writes how often grants were used. */
  write(tx: Transaction): void {
    for (const { id, referenceId } of this.#grants) {
      const uses = this.#uses.get(referenceId);
      if (uses !== undefined) countUses(tx, id, uses);
    }
  }

  /** Where too few people could approve the call. */
  lacking({ rule, person }: Asking): Lacking | null {
    const { group: approverGroup = null, count: votesNeeded = 1 } = rule.approvers ?? {};
    return lackingOf(this.#members, { approverGroup, votesNeeded, personEmail: person?.email ?? null });
  }

  /** The limit on open approvals that is reached, or null. */
  limit({ principal }: CheckRequest): TooMany | null {
    const { maxOpenApprovalsPerKey, maxOpenApprovalsPerSession } = this.#deps.settings;
    if ((this.#open.get(principal.keyId) ?? 0) >= maxOpenApprovalsPerKey) {
      return { of: 'key', open: maxOpenApprovalsPerKey };
    }
    if (principal.sessionId === null) return null;
    if ((this.#open.get(principal.sessionId) ?? 0) >= maxOpenApprovalsPerSession) {
      return { of: 'session', open: maxOpenApprovalsPerSession };
    }
    return null;
  }

  opened(
    { id, createdAt, expiresAt }: ApprovalRecord,
    { request, argsDigest, definitionDigest, ruleDigest }: Asking,
  ): void {
    const { principal, surface, call } = request;
    this.#count(principal.keyId, principal.sessionId, 1);
    const { keyId, sessionId, personId = null } = principal;
    const { serverName, toolName } = call;
    const about = { keyId, sessionId, personId, surface, serverName, toolName };
    const digests = { argsDigest, definitionDigest, ruleDigest };
    if (!knowsRepeats(surface)) return;
    const times = { createdAt, expiresAt };
    const asked: RepeatedApproval = { id, ...times, ...about, ...digests, status: 'pending', note: null };
    this.#repeated.set(argsDigest, [asked, ...(this.#repeated.get(argsDigest) ?? [])]);
  }

  #count(keyId: string, sessionId: string | null, open: number): void {
    this.#open.set(keyId, (this.#open.get(keyId) ?? 0) + open);
    if (sessionId !== null) this.#open.set(sessionId, (this.#open.get(sessionId) ?? 0) + open);
  }
}

type ByDigest<T> = Map<string, T[]>;

function byDigest<T extends { argsDigest: string }>(approvals: readonly T[]): ByDigest<T> {
  const found: ByDigest<T> = new Map();
  for (const each of approvals) {
    const same = found.get(each.argsDigest);
    if (same === undefined) found.set(each.argsDigest, [each]);
    else same.push(each);
  }
  return found;
}
