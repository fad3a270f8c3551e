// Reads, inside the audit transaction, what a group of checks depends on: whether key and session live, the
// current policy version, and, only where a rule asks for approval, the grants, the approval to spend and
// how many approvals are open. The locks taken before keep all of it true until the commit.

import type { Freedom } from '../core/decide.ts';
import {
  countOpen,
  findSpendable,
  findSpendableByDigest,
  type Spendable,
  spendApproval,
} from '../store/approvals.ts';
import type { Transaction } from '../store/db.ts';
import { listSubscribers, type Subscriber } from '../store/deliveries.ts';
import { type GrantRecord, openGrants } from '../store/grants.ts';
import { type KeyFacts, keyFacts } from '../store/keys.ts';
import { type SessionFacts, sessionFacts } from '../store/sessions.ts';
import type { CheckRequest } from './check.ts';
import { keyLives } from './credentials.ts';
import { approvalsLock, type Guard } from './guard.ts';

export class CredentialFacts {
  readonly #keys: Map<string, KeyFacts>;
  readonly #sessions: Map<string, SessionFacts>;

  private constructor(keys: KeyFacts[], sessions: SessionFacts[]) {
    this.#keys = new Map(keys.map(key => [key.id, key]));
    this.#sessions = new Map(sessions.map(session => [session.id, session]));
  }

  static async read(tx: Transaction, requests: readonly CheckRequest[]): Promise<CredentialFacts> {
    const keyIds = new Set<string>();
    const sessionIds = new Set<string>();
    for (const { principal } of requests) {
      keyIds.add(principal.keyId);
      if (principal.sessionId !== null) sessionIds.add(principal.sessionId);
    }
    const [keys, sessions] = await Promise.all([
      keyFacts(tx, [...keyIds]),
      sessionIds.size > 0 ? sessionFacts(tx, [...sessionIds]) : [],
    ]);
    return new CredentialFacts(keys, sessions);
  }

  /** The policy versions that decide for these keys. */
  policyVersions(): Iterable<Pick<KeyFacts, 'policyId' | 'policyVersion'>> {
    return this.#keys.values();
  }

  /** The key, when it and the session still live. */
  live({ principal }: CheckRequest, now: number): KeyFacts | null {
    const key = this.#keys.get(principal.keyId);
    if (key === undefined || !keyLives(key, now)) return null;
    if (principal.sessionId === null) return key;
    const session = this.#sessions.get(principal.sessionId);
    const lives = session !== undefined && session.revokedAt === null && session.expiresAt > now;
    return lives ? key : null;
  }
}

/** What the held calls of a group depend on. Kept up to date while the group is judged one by one. */
export class ApprovalFacts {
  readonly #guard: Guard;
  readonly #grants: GrantRecord[];
  readonly #spendable: Spendable[];
  readonly #open = new Map<string, number>();
  readonly subscribers: readonly Subscriber[];

  private constructor(
    guard: Guard,
    grants: GrantRecord[],
    spendable: Spendable[],
    subscribers: Subscriber[],
  ) {
    this.#guard = guard;
    this.#grants = grants;
    this.#spendable = spendable;
    this.subscribers = subscribers;
  }

  /** Waits until no other replica opens or spends approvals of the same keys. */
  static async read(
    guard: Guard,
    tx: Transaction,
    held: readonly CheckRequest[],
    now: number,
  ): Promise<ApprovalFacts> {
    const keyIds = [...new Set(held.map(each => each.principal.keyId))];
    const references = held.flatMap(each => each.referenceId ?? []);
    // The proxy is the executor: a call that is presented again is freed by its own approval, unnamed.
    const repeated = held.filter(each => each.surface === 'mcp' && each.referenceId === null);
    const digests = repeated.map(each => guard.vault.argsDigest(each.args));
    const [, grants, open, named, unnamed, subscribers] = await Promise.all([
      tx.lock({ exclusive: keyIds.map(approvalsLock) }),
      openGrants(tx, keyIds, now),
      countOpen(tx, keyIds, now),
      references.length > 0 ? findSpendable(tx, references) : [],
      digests.length > 0 ? findSpendableByDigest(tx, keyIds, digests) : [],
      listSubscribers(tx),
    ]);
    const facts = new ApprovalFacts(guard, grants, [...named, ...unnamed], subscribers);
    for (const row of open) facts.#count(row.keyId, row.sessionId, row.open);
    return facts;
  }

  /** A grant, or else the approval of this very call, spent by this very step. */
  async freedom(tx: Transaction, request: CheckRequest, now: number): Promise<Freedom | null> {
    const { principal, call } = request;
    const grant = this.#grants.find(
      each =>
        each.keyId === principal.keyId &&
        each.serverName === call.serverName &&
        each.toolName === call.toolName,
    );
    if (grant !== undefined) return { kind: 'grant', referenceId: grant.referenceId };
    const at = this.#spendable.findIndex(each => this.#frees(each, request));
    const [approval] = at < 0 ? [] : this.#spendable.splice(at, 1);
    if (approval === undefined || !(await spendApproval(tx, approval.id, now))) return null;
    return { kind: 'approval', referenceId: approval.id };
  }

  /** The sentence about the limit that forbids one more open approval, or null. */
  limit({ principal }: CheckRequest): string | null {
    const { maxOpenApprovalsPerKey, maxOpenApprovalsPerSession } = this.#guard.settings;
    if ((this.#open.get(principal.keyId) ?? 0) >= maxOpenApprovalsPerKey) {
      return `this key already has ${maxOpenApprovalsPerKey} open approvals`;
    }
    if (principal.sessionId === null) return null;
    if ((this.#open.get(principal.sessionId) ?? 0) >= maxOpenApprovalsPerSession) {
      return `this session already has ${maxOpenApprovalsPerSession} open approvals`;
    }
    return null;
  }

  opened({ principal }: CheckRequest): void {
    this.#count(principal.keyId, principal.sessionId, 1);
  }

  #count(keyId: string, sessionId: string | null, open: number): void {
    this.#open.set(keyId, (this.#open.get(keyId) ?? 0) + open);
    if (sessionId !== null) this.#open.set(sessionId, (this.#open.get(sessionId) ?? 0) + open);
  }

  #frees(approval: Spendable, { principal, call, args, surface, referenceId }: CheckRequest): boolean {
    const meant = referenceId === null ? surface === 'mcp' : approval.id === referenceId;
    return (
      meant &&
      approval.keyId === principal.keyId &&
      approval.serverName === call.serverName &&
      approval.toolName === call.toolName &&
      approval.argsDigest === this.#guard.vault.argsDigest(args)
    );
  }
}
