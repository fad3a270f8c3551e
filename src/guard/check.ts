// THE check. Both surfaces end here: a call is judged inside the transaction that records it, under locks
// that keep its facts true until the commit, and its verdict exists only once that commit has returned.
// Arguments are looked at for one digest, if a rule asks for approval, and are never written anywhere.

import {
  asksForApproval,
  type CompiledPolicy,
  type Decision,
  decide,
  type Facts,
  type Outcome,
  type ToolCall,
} from '../core/decide.ts';
import type { GuardError } from '../core/errors.ts';
import type { Surface } from '../core/event.ts';
import type { Json } from '../core/json.ts';
import { type ApprovalRecord, insertApproval } from '../store/approvals.ts';
import { type AuditEntry, AuditWriter } from '../store/audit.ts';
import type { Transaction } from '../store/db.ts';
import type { KeyFacts } from '../store/keys.ts';
import { insertNotification } from '../store/notifications.ts';
import type { GroupWork } from './commit.ts';
import { type Principal, unauthenticated } from './credentials.ts';
import { ApprovalFacts, CredentialFacts } from './facts.ts';
import { type Guard, keyLock, newId, POLICIES_LOCK, timeOfId } from './guard.ts';
import { channelsOf } from './keys.ts';
import { emit } from './outbox.ts';
import { CompiledPolicies } from './policies.ts';
import { mintToken } from './secrets.ts';

export interface CheckRequest {
  principal: Principal;
  surface: Surface;
  call: ToolCall;
  args: Json | undefined;
  /** An approved, unspent approval of this very call, when the caller names one. */
  referenceId: string | null;
  /** `performance.now()` at arrival. */
  startedAt: number;
}

export interface Verdict {
  decision: Decision;
  reason: string;
  policyId: string;
  toolCallId: string;
  referenceId?: string;
  message?: string;
  latencyMs: number;
}

const PENDING_MESSAGE =
  'This is not the final outcome: nothing was run, a human has to approve the call, and the outcome arrives ' +
  'by the approval.resolved webhook with this referenceId.';

/** A request whose credential lives, with the policy version that decides it. */
interface Case {
  request: CheckRequest;
  key: KeyFacts;
  policy: CompiledPolicy;
}

export class Judge implements GroupWork<CheckRequest, Verdict> {
  readonly #guard: Guard;
  readonly #policies = new CompiledPolicies();
  readonly #log = new AuditWriter();

  constructor(guard: Guard) {
    this.#guard = guard;
  }

  keyOf({ principal }: CheckRequest): string {
    return principal.keyId;
  }

  shares(keyIds: ReadonlySet<string>): string[] {
    return [POLICIES_LOCK, ...Array.from(keyIds, keyLock)];
  }

  async judge(tx: Transaction, requests: readonly CheckRequest[]): Promise<(Verdict | GuardError)[]> {
    const credentials = await CredentialFacts.read(tx, requests);
    const now = this.#guard.now();
    await this.#policies.load(tx, credentials.policyVersions());
    const cases = requests.map(request => this.#case(credentials, request, now));
    const held = new Set(cases.filter(each => each !== null && asks(each)) as Case[]);
    const approvals = held.size > 0 ? await ApprovalFacts.read(this.#guard, tx, requestsOf(held), now) : null;
    const entries: AuditEntry[] = [];
    const results: (Verdict | GuardError)[] = [];
    for (const each of cases) {
      if (each === null) results.push(unauthenticated());
      else if (approvals === null || !held.has(each)) results.push(settle(each, NOTHING_FREED, entries));
      else results.push(await this.#settleHeld(tx, each, approvals, entries, now));
    }
    await this.#log.insert(tx, entries);
    return results;
  }

  committed(results: readonly (Verdict | GuardError)[]): void {
    this.#log.committed();
    // A held call has left work in the outbox.
    if (results.some(each => 'decision' in each && each.decision === 'pending')) this.#guard.db.wake();
  }

  #case(credentials: CredentialFacts, request: CheckRequest, now: number): Case | null {
    const key = credentials.live(request, now);
    if (key === null) return null;
    return { request, key, policy: this.#policies.get(key.policyId, key.policyVersion) };
  }

  async #settleHeld(
    tx: Transaction,
    each: Case,
    approvals: ApprovalFacts,
    entries: AuditEntry[],
    now: number,
  ): Promise<Verdict> {
    const { request, key } = each;
    const freedom = await approvals.freedom(tx, request, now);
    const verdict = settle(each, { freedom, approvalLimit: approvals.limit(request) }, entries);
    if (verdict.decision !== 'pending') return verdict;
    const entry = entries.at(-1) as AuditEntry;
    const approval = this.#approval(request, entry, now);
    entry.referenceId = approval.id;
    this.#ask(tx, key, approval, approvals, now);
    approvals.opened(request);
    return { ...verdict, referenceId: approval.id, message: PENDING_MESSAGE };
  }

  #approval({ args }: CheckRequest, entry: AuditEntry, now: number): ApprovalRecord {
    return {
      id: newId(),
      toolCallId: entry.id,
      keyId: entry.keyId,
      sessionId: entry.sessionId,
      policyId: entry.policyId,
      surface: entry.surface,
      serverName: entry.serverName,
      toolName: entry.toolName,
      argsDigest: this.#guard.vault.argsDigest(args),
      reason: entry.reason,
      status: 'pending',
      createdAt: now,
      expiresAt: now + this.#guard.settings.approvalTimeout,
      resolvedAt: null,
      resolvedBy: null,
      grantExpiresAt: null,
      spentAt: null,
    };
  }

  /** The approval, its event and its notifications: all in the transaction of the audit entry. */
  #ask(
    tx: Transaction,
    key: KeyFacts,
    approval: ApprovalRecord,
    approvals: ApprovalFacts,
    now: number,
  ): void {
    const { token, hash } = mintToken('approval');
    insertApproval(tx, approval, hash);
    emit(tx, approvals.subscribers, 'approval.created', approval, now);
    for (const channel of channelsOf(this.#guard, key.id, key.notifySealed)) {
      const id = newId();
      const tokenSealed = this.#guard.vault.seal(token, `notification ${id}`);
      insertNotification(tx, {
        id,
        approvalId: approval.id,
        keyId: key.id,
        channel,
        tokenSealed,
        createdAt: now,
      });
    }
  }
}

const NOTHING_FREED = { freedom: null, approvalLimit: null };

function asks({ policy, request }: Case): boolean {
  return asksForApproval(policy, request.call, request.principal.scope);
}

function requestsOf(cases: Iterable<Case>): CheckRequest[] {
  return Array.from(cases, each => each.request);
}

/** The decision, its entry, its verdict. */
function settle(
  { request, policy }: Case,
  about: Pick<Facts, 'freedom' | 'approvalLimit'>,
  entries: AuditEntry[],
): Verdict {
  const { scope } = request.principal;
  const { freedom, approvalLimit } = about;
  const entry = auditEntry(request, policy, decide(policy, request.call, { scope, freedom, approvalLimit }));
  entries.push(entry);
  const { decision, reason, policyId, id: toolCallId, latencyMs } = entry;
  return { decision, reason, policyId, toolCallId, latencyMs };
}

function auditEntry(request: CheckRequest, policy: CompiledPolicy, outcome: Outcome): AuditEntry {
  const { principal, call, surface, startedAt } = request;
  const id = newId();
  return {
    id,
    at: timeOfId(id),
    keyId: principal.keyId,
    sessionId: principal.sessionId,
    surface,
    serverName: call.serverName,
    toolName: call.toolName,
    decision: outcome.decision,
    reason: outcome.reason,
    policyId: policy.id,
    policyVersion: policy.version,
    ruleIndex: outcome.ruleIndex,
    referenceId: outcome.freedBy?.referenceId ?? null,
    latencyMs: Math.round(performance.now() - startedAt),
  };
}
