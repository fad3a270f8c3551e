// The check, for both surfaces (`/v1/check` and `/mcp`). Calls are decided inside the transaction that records them,
// under locks that keep the facts true until the commit, and a verdict exists only once that commit has returned.
// Arguments are read only for a keyed digest, and only if a rule asks for approval. They are never written anywhere.

import {
  asksForApproval,
  type CompiledPolicy,
  type Decided,
  type Drift,
  decide,
  type Facts,
  unfreedBy,
} from '../../core/decide.ts';
import { auditFailed, GuardError } from '../../core/errors.ts';
import { AuditWriter } from '../../store/audit.ts';
import type { AuditEntry } from '../../store/audit-entry.ts';
import type { Transaction } from '../../store/db.ts';
import type { KeyFacts } from '../../store/keys.ts';
import { ask, channelsFor } from '../approvals/ask.ts';
import { unauthenticated } from '../credentials.ts';
import type { Deps } from '../deps.ts';
import { newId, timeOfId } from '../ids.ts';
import { keyLock, POLICIES_LOCK } from '../locks.ts';
import { ApprovalFacts, type Asking } from './approval-facts.ts';
import type { GroupWork } from './commit.ts';
import { CredentialFacts, DefinitionFacts } from './facts.ts';
import { CompiledPolicies } from './policies.ts';
import type { CheckRequest, Verdict } from './request.ts';

const PENDING_MESSAGE =
  'This is not the final outcome: nothing was run, a human has to approve the call, and the outcome arrives ' +
  'by the approval.resolved webhook with this referenceId.';

/** A request whose credential is valid, with the policy version that decides it. */
interface Case {
  request: CheckRequest;
  key: KeyFacts;
  policy: CompiledPolicy;
  drift: Drift | null;
}

export class CheckWork implements GroupWork<CheckRequest, Verdict> {
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

  async decideGroup(tx: Transaction, requests: readonly CheckRequest[]): Promise<(Verdict | GuardError)[]> {
    const { toolDrift } = this.#deps.settings;
    const [credentials, definitions] = await Promise.all([
      CredentialFacts.read(tx, requests),
      DefinitionFacts.read(tx, toolDrift === 'allow' ? [] : requests),
    ]);
    const now = this.#deps.now();
    await this.#policies.load(tx, credentials.policyVersions());
    const cases = requests.map(request => this.#case(credentials, definitions, request, now));
    const askers = cases.filter(each => !(each instanceof GuardError) && asks(each)) as Case[];
    const asking = askers.length > 0 ? await this.#asking(tx, askers, definitions) : NONE_ASKING;
    const approvals =
      asking.size > 0 ? await ApprovalFacts.read(this.#deps, tx, [...asking.values()], now) : null;
    const entries: AuditEntry[] = [];
    const results: (Verdict | GuardError)[] = [];
    for (const each of cases) {
      const question = each instanceof GuardError ? undefined : asking.get(each);
      if (each instanceof GuardError) results.push(each);
      else if (approvals === null || question === undefined) results.push(decideByRule(each, entries));
      else results.push(await this.#decideAsking(tx, each, question, approvals, entries, now));
    }
    await this.#log.insert(tx, entries);
    return results;
  }

  committed(results: readonly (Verdict | GuardError)[]): void {
    this.#log.committed();
    // A pending call has put an event and notifications into the outbox, and the worker is to send them now.
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

  /** An approval is bound to the tool's definition even if the setting allows changed definitions. */
  async #asking(
    tx: Transaction,
    askers: readonly Case[],
    known: DefinitionFacts,
  ): Promise<Map<Case, Asking>> {
    const unread = this.#deps.settings.toolDrift === 'allow';
    const requests = askers.map(each => each.request);
    const definitions = unread ? await DefinitionFacts.read(tx, requests) : known;
    const asking = ({ request, drift }: Case): Asking => ({
      request,
      drift,
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
    entries: AuditEntry[],
    now: number,
  ): Promise<Verdict | GuardError> {
    const { request, key } = each;
    const approvalLimit = approvals.limit(request);
    let unfreed: string | null = null;
    let decided: Decided;
    do {
      const freedom = approvals.freedom(asking);
      unfreed = freedom === null ? approvals.unfreed(asking) : null;
      decided = decideCase(each, { freedom, unfreed, approvalLimit });
    } while (decided.freedBy !== null && !(await approvals.spend(tx, decided.freedBy, now)));
    const channels = decided.decision === 'pending' ? channelsFor(this.#deps, key) : [];
    if (channels instanceof GuardError) return channels;
    const entry = auditEntry(request, each.policy, decided);
    entries.push(entry);
    if (decided.decision !== 'pending') return verdictOf(entry);
    const { subscribers } = approvals;
    const referenceId = ask(this.#deps, tx, entry, asking, { channels, subscribers, now });
    entry.referenceId = referenceId;
    approvals.opened(request);
    return { ...verdictOf(entry), referenceId, message: pendingMessage(request, unfreed) };
  }
}

const NONE_ASKING: ReadonlyMap<Case, Asking> = new Map();

function asks({ policy, request, drift }: Case): boolean {
  return asksForApproval(policy, request.call, { scope: request.principal.scope, drift });
}

function unreadable({ policyId, policyVersion }: KeyFacts): Error {
  return new Error(`version ${policyVersion} of policy ${policyId} is missing or cannot be read`);
}

function decideCase(
  { request, policy, drift }: Case,
  about: Pick<Facts, 'freedom' | 'unfreed' | 'approvalLimit'>,
): Decided {
  return decide(policy, request.call, { scope: request.principal.scope, drift, ...about });
}

/** A pending result on `/mcp` shows no reason, so the message says why the named approval frees nothing. */
function pendingMessage({ surface }: CheckRequest, unfreed: string | null): string {
  return surface === 'mcp' && unfreed !== null ? `${PENDING_MESSAGE} ${unfreedBy(unfreed)}` : PENDING_MESSAGE;
}

/** Decides a call whose rule does not ask for approval. */
function decideByRule(each: Case, entries: AuditEntry[]): Verdict {
  const entry = auditEntry(
    each.request,
    each.policy,
    decideCase(each, { freedom: null, approvalLimit: null }),
  );
  entries.push(entry);
  return verdictOf(entry);
}

function verdictOf(entry: AuditEntry): Verdict {
  const { decision, reason, policyId, id: toolCallId, latencyMs } = entry;
  return { decision, reason, policyId, toolCallId, latencyMs };
}

function auditEntry(request: CheckRequest, policy: CompiledPolicy, decided: Decided): AuditEntry {
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
    decision: decided.decision,
    reason: decided.reason,
    policyId: policy.id,
    policyVersion: policy.version,
    ruleIndex: decided.ruleIndex,
    referenceId: decided.freedBy?.referenceId ?? null,
    latencyMs: Math.round(performance.now() - startedAt),
  };
}
