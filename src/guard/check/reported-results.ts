// Results of calls that others have run: code that asked for a verdict, and coding agents whose hooks say what a call
// returned. They are looked at by the policy version that decided the call, as those of /mcp are (guarded-call.ts). Of what
// conditions could see of a call that is over, its arguments are gone unless the agent tells them once more.

import { GuardError } from '../../core/errors.ts';
import { namedIn } from '../../core/flows/words.ts';
import type { CompiledPolicy } from '../../core/policy/compiled-policy.ts';
import { resultsFor } from '../../core/results/results.ts';
import type { Json, JsonObject } from '../../core/wire/json.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { takeCall } from '../../store/known-values.ts';
import { findAudit } from '../../store/log/audit.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import type { LookedAt } from '../../store/log/outcomes.ts';
import type { Principal } from '../credentials.ts';
import type { Deps } from '../deps.ts';
import { shadowOf } from './cases.ts';
import type { CredentialFacts, Live } from './facts.ts';
import type { GuardedCall } from './guarded-call.ts';
import type { Learner } from './learner.ts';
import type { OutcomeLog } from './outcomes.ts';
import type { CompiledPolicies } from './policies.ts';
import type { CheckRequest, Watched } from './request.ts';
import type { Run } from './run.ts';
import { callName, Runs } from './runs.ts';
import { situationOf } from './situation.ts';
import { unreadable, versionOf, watchedAgain } from './watched-again.ts';
import { type Speaker, whileLive } from './while-live.ts';

/** What a coding agent says of a call that is over. */
export interface ReportedCall extends Pick<CheckRequest, 'call' | 'args' | 'agent'> {
  /** By what it named the call before. */
  name: string;
  result: JsonObject;
  /** Whether what comes back takes the place of the result. If not, nothing is recorded as hidden. */
  replaces: boolean;
  /** What the result makes known, if a rule trusts it. */
  says: (result: JsonObject) => Json;
}

/** What may be passed on; `lookedAt` is null where the policy has no say about it. */
export interface Passed {
  result: JsonObject;
  lookedAt: LookedAt | null;
}

interface Parts {
  policies: CompiledPolicies;
  learner: Learner;
  outcomes: OutcomeLog;
  guarded: (watched: Watched) => GuardedCall;
}

export class ReportedResults {
  readonly #deps: Deps;
  readonly #parts: Parts;

  constructor(deps: Deps, parts: Parts) {
    this.#deps = deps;
    this.#parts = parts;
  }

  /** What may be passed on of the result of a call that was allowed. Calls of others look like unknown ones. */
  async ofCall(principal: Principal, toolCallId: string, result: JsonObject): Promise<JsonObject> {
    const { db } = this.#deps;
    const speaker: Speaker = { principal, surface: 'check', run: undefined };
    const live = await whileLive(this.#deps, speaker, async (_, found) => found);
    const entry = await findAudit(db, toolCallId);
    if (entry === null || !isOwn(entry, principal)) throw noSuchCall();
    if (entry.decision !== 'allow') throw notAllowed();
    const watched = await watchedAgain(this.#deps, this.#parts.policies, { principal, live }, entry);
    if (watched === null) return result;
    const seen = await this.#parts.guarded(watched).result(result);
    this.#record(entry, seen.outcome, result['isError'] === true);
    return seen.result;
  }

  /** The same of a coding agent's call, which it names as it did before, and what the result makes known. */
  async ofAgentsCall(speaker: Speaker, reported: ReportedCall): Promise<Passed> {
    const begun = await whileLive(this.#deps, speaker, (tx, live, credentials, now) =>
      this.#take(tx, speaker, reported, live, credentials, now),
    );
    if (begun === null) return { result: reported.result, lookedAt: null };
    const passed = await this.#look(speaker, reported, begun);
    const failed = passed.result['isError'] === true;
    if (begun.taken?.trusted && !failed) {
      const said = namedIn(reported.says(passed.result));
      await this.#parts.learner.learn(begun.run.handle, speaker.principal.keyId, said);
    }
    return passed;
  }

  /** Null if the policy of the key neither asks what is known nor has a say about results. */
  async #take(
    tx: Transaction,
    speaker: Speaker,
    { name }: ReportedCall,
    live: Live,
    credentials: CredentialFacts,
    now: number,
  ): Promise<Begun | null> {
    const { policies } = this.#parts;
    await policies.load(tx, credentials.policyVersions());
    const policy = policies.get(live.key.policyId, live.key.policyVersion);
    if (policy === null) throw unreadable();
    const usesKnown = policy.usesKnown || shadowOf(live.key, policies)?.usesKnown === true;
    if (!usesKnown && policy.compiledResults === null) return null;
    const runs = new Runs(this.#deps);
    await runs.open(tx, [{ request: speaker, sessionEndsAt: live.sessionEndsAt }], now);
    runs.write(tx);
    const run = runs.of(speaker);
    if (run === null) throw new Error('the run of a result cannot be read');
    const taken = await takeCall(tx, run.found.number, run.digest(callName(name)));
    return { live, policy, run, taken };
  }

  /** A call that was not heard of is judged by the current version: nothing tells which one decided it. */
  async #look(speaker: Speaker, reported: ReportedCall, begun: Begun): Promise<Passed> {
    const { call, args, agent, result, replaces } = reported;
    const { live, run, taken } = begun;
    const entry = taken && (await findAudit(this.#deps.db, taken.toolCallId));
    const policy = entry ? await versionOf(this.#deps, this.#parts.policies, entry) : begun.policy;
    // The proxy, to which such a call came next, has looked at its result.
    if (call.unsent) return { result, lookedAt: null };
    const said = { ...speaker, args, ...(agent !== undefined && { agent }) };
    const situation = situationOf(live, said, { now: this.#deps.now(), annotations: null, run });
    const guard = resultsFor(policy, call, situation);
    if (guard === null) return { result, lookedAt: null };
    const { serverName, toolName } = call;
    const by = { serverName, toolName, toolCallId: entry?.id ?? '' };
    const seen = await this.#parts.guarded({ guard, by, run }).result(result);
    if (entry && replaces) this.#record(entry, seen.outcome, result['isError'] === true);
    return { result: seen.result, lookedAt: seen.outcome };
  }

  #record({ id: toolCallId, at }: AuditEntry, result: LookedAt, failed: boolean): void {
    const durationMs = Math.max(0, this.#deps.now() - at);
    this.#parts.outcomes.record({ toolCallId, outcome: failed ? 'tool_error' : 'ok', durationMs, result });
  }
}

/** The run of a reported call, and the call itself, if it is known. */
interface Begun {
  live: Live;
  policy: CompiledPolicy;
  run: Run;
  taken: Awaited<ReturnType<typeof takeCall>>;
}

function isOwn({ keyId, sessionId }: AuditEntry, principal: Principal): boolean {
  return keyId === principal.keyId && (principal.sessionId === null || principal.sessionId === sessionId);
}

function noSuchCall(): GuardError {
  return new GuardError('not_found', 'There is no call with this id.');
}

function notAllowed(): GuardError {
  return new GuardError('conflict', 'This call was not allowed, so it has no result.');
}
