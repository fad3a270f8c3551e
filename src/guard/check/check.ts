// THE check. Both surfaces end here: a call is judged inside the transaction that records it, under locks
// that keep its facts true until the commit, and its verdict exists only once that commit has returned.
// Arguments are looked at for one digest, if a rule asks for approval, and are never written anywhere.

import {
  asksForApproval,
  type CompiledPolicy,
  type Decision,
  type Drift,
  decide,
  type Facts,
  type Outcome,
  type ToolCall,
  unfreedBy,
} from '../../core/decide.ts';
import { GuardError } from '../../core/errors.ts';
import type { Surface } from '../../core/event.ts';
import type { Json } from '../../core/json.ts';
import { type ApprovalRecord, insertApproval } from '../../store/approvals.ts';
import { type AuditEntry, AuditWriter } from '../../store/audit.ts';
import type { Transaction } from '../../store/db.ts';
import type { KeyFacts } from '../../store/keys.ts';
import { type ChannelKind, insertNotification } from '../../store/notifications.ts';
import { type Principal, unauthenticated } from '../credentials.ts';
import type { Deps } from '../deps.ts';
import { newId, timeOfId } from '../ids.ts';
import { channelsOf } from '../keys.ts';
import { keyLock, POLICIES_LOCK } from '../locks.ts';
import { emit } from '../outgoing/outbox.ts';
import { mintToken } from '../secrets.ts';
import { auditFailed, type GroupWork } from './commit.ts';
import { ApprovalFacts, CredentialFacts, DefinitionFacts, type Held } from './facts.ts';
import { CompiledPolicies } from './policies.ts';

export interface CheckRequest {
  principal: Principal;
  surface: Surface;
  call: ToolCall;
  args: Json | undefined;
  /** What a client answers to a tool that asked for more, with the tool's state. Bound like the arguments. */
  continuation?: Json;
  /** The Connected Tool that gets the call, where the service runs it itself. */
  connectedToolId?: string;
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
  drift: Drift | null;
}

export class Judge implements GroupWork<CheckRequest, Verdict> {
  readonly #deps: Deps;
  readonly #policies = new CompiledPolicies();
  readonly #log = new AuditWriter();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  keyOf({ principal }: CheckRequest): string {
    return principal.keyId;
  }

  callerOf({ principal }: CheckRequest): string {
    return principal.sessionId ?? '';
  }

  shares(keyIds: ReadonlySet<string>): string[] {
    return [POLICIES_LOCK, ...Array.from(keyIds, keyLock)];
  }

  async judge(tx: Transaction, requests: readonly CheckRequest[]): Promise<(Verdict | GuardError)[]> {
    const { toolDrift } = this.#deps.settings;
    const [credentials, definitions] = await Promise.all([
      CredentialFacts.read(tx, requests),
      DefinitionFacts.read(tx, toolDrift === 'allow' ? [] : requests),
    ]);
    const now = this.#deps.now();
    await this.#policies.load(tx, credentials.policyVersions());
    const cases = requests.map(request => this.#case(credentials, definitions, request, now));
    const asking = cases.filter(each => !(each instanceof GuardError) && asks(each)) as Case[];
    const held = asking.length > 0 ? await this.#held(tx, asking, definitions) : NOTHING_HELD;
    const approvals =
      held.size > 0 ? await ApprovalFacts.read(this.#deps, tx, [...held.values()], now) : null;
    const entries: AuditEntry[] = [];
    const results: (Verdict | GuardError)[] = [];
    for (const each of cases) {
      const waiting = each instanceof GuardError ? undefined : held.get(each);
      if (each instanceof GuardError) results.push(each);
      else if (approvals === null || waiting === undefined) results.push(settle(each, entries));
      else results.push(await this.#settleHeld(tx, each, waiting, approvals, entries, now));
    }
    await this.#log.insert(tx, entries);
    return results;
  }

  committed(results: readonly (Verdict | GuardError)[]): void {
    this.#log.committed();
    // A held call has left work in the outbox.
    if (results.some(each => 'decision' in each && each.decision === 'pending')) this.#deps.db.wake();
  }

  #case(
    credentials: CredentialFacts,
    definitions: DefinitionFacts,
    request: CheckRequest,
    now: number,
  ): Case | GuardError {
    const key = credentials.live(request, now);
    if (key === null) return unauthenticated();
    const policy = this.#policies.get(key.policyId, key.policyVersion);
    if (policy === null) return auditFailed(unreadable(key));
    const { toolDrift } = this.#deps.settings;
    const drift = toolDrift !== 'allow' && definitions.changed(request) ? toolDrift : null;
    return { request, key, policy, drift };
  }

  /** An approval is bound to the tool's definition whatever the setting says of changed ones. */
  async #held(tx: Transaction, asking: readonly Case[], known: DefinitionFacts): Promise<Map<Case, Held>> {
    const unread = this.#deps.settings.toolDrift === 'allow';
    const requests = asking.map(each => each.request);
    const definitions = unread ? await DefinitionFacts.read(tx, requests) : known;
    const held = ({ request, drift }: Case): Held => ({
      request,
      drift,
      argsDigest: this.#deps.vault.callDigest(request),
      definitionDigest: definitions.digest(request),
    });
    return new Map(asking.map(each => [each, held(each)]));
  }

  /** Decides first, and then spends what the decision rests on; decides anew when that is gone meanwhile. */
  async #settleHeld(
    tx: Transaction,
    each: Case,
    held: Held,
    approvals: ApprovalFacts,
    entries: AuditEntry[],
    now: number,
  ): Promise<Verdict | GuardError> {
    const { request, key } = each;
    const approvalLimit = approvals.limit(request);
    let unfreed: string | null = null;
    let outcome: Outcome;
    do {
      const freedom = approvals.freedom(held);
      unfreed = freedom === null ? approvals.unfreed(held) : null;
      outcome = decided(each, { freedom, unfreed, approvalLimit });
    } while (outcome.freedBy !== null && !(await approvals.spend(tx, outcome.freedBy, now)));
    const channels = outcome.decision === 'pending' ? this.#channels(key) : [];
    if (channels instanceof GuardError) return channels;
    const entry = auditEntry(request, each.policy, outcome);
    entries.push(entry);
    if (outcome.decision !== 'pending') return verdictOf(entry);
    const approval = this.#approval(held, entry, now);
    entry.referenceId = approval.id;
    this.#ask(tx, approval, channels, approvals, now);
    approvals.opened(request);
    return { ...verdictOf(entry), referenceId: approval.id, message: pendingMessage(request, unfreed) };
  }

  #approval({ argsDigest, definitionDigest }: Held, entry: AuditEntry, now: number): ApprovalRecord {
    return {
      id: newId(),
      toolCallId: entry.id,
      keyId: entry.keyId,
      sessionId: entry.sessionId,
      policyId: entry.policyId,
      surface: entry.surface,
      serverName: entry.serverName,
      toolName: entry.toolName,
      argsDigest,
      definitionDigest,
      reason: entry.reason,
      status: 'pending',
      createdAt: now,
      expiresAt: now + this.#deps.settings.approvalTimeout,
      resolvedAt: null,
      resolvedBy: null,
      grantExpiresAt: null,
      spentAt: null,
      withdrawnAt: null,
    };
  }

  /** Settings that cannot be read fail the calls of their key, and nobody else's. */
  #channels({ id, notifyEncrypted }: KeyFacts): readonly ChannelKind[] | GuardError {
    try {
      return channelsOf(this.#deps, id, notifyEncrypted);
    } catch (error) {
      return auditFailed(new Error(`the setting "notify" of key ${id} cannot be read`, { cause: error }));
    }
  }

  /** The approval, its event and its notifications: all in the transaction of the audit entry. */
  #ask(
    tx: Transaction,
    approval: ApprovalRecord,
    channels: readonly ChannelKind[],
    approvals: ApprovalFacts,
    now: number,
  ): void {
    const { token, hash } = mintToken('approval');
    insertApproval(tx, approval, hash);
    emit(tx, approvals.subscribers, 'approval.created', approval, now);
    for (const channel of channels) {
      const id = newId();
      const tokenEncrypted = this.#deps.vault.encrypt(token, `notification ${id}`);
      insertNotification(tx, {
        id,
        approvalId: approval.id,
        keyId: approval.keyId,
        channel,
        tokenEncrypted,
        createdAt: now,
      });
    }
  }
}

const NOTHING_HELD: ReadonlyMap<Case, Held> = new Map();

function asks({ policy, request, drift }: Case): boolean {
  return asksForApproval(policy, request.call, { scope: request.principal.scope, drift });
}

function unreadable({ policyId, policyVersion }: KeyFacts): Error {
  return new Error(`version ${policyVersion} of policy ${policyId} is missing or cannot be read`);
}

function decided(
  { request, policy, drift }: Case,
  about: Pick<Facts, 'freedom' | 'unfreed' | 'approvalLimit'>,
): Outcome {
  return decide(policy, request.call, { scope: request.principal.scope, drift, ...about });
}

/** A pending result on `/mcp` shows no reason, so the message says what became of the approval that was named. */
function pendingMessage({ surface }: CheckRequest, unfreed: string | null): string {
  return surface === 'mcp' && unfreed !== null ? `${PENDING_MESSAGE} ${unfreedBy(unfreed)}` : PENDING_MESSAGE;
}

/** A call that nothing about approvals concerns. */
function settle(each: Case, entries: AuditEntry[]): Verdict {
  const entry = auditEntry(each.request, each.policy, decided(each, { freedom: null, approvalLimit: null }));
  entries.push(entry);
  return verdictOf(entry);
}

function verdictOf(entry: AuditEntry): Verdict {
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
