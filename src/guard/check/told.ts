// What somebody trusted has said: the person whose task it is, or a tool whose results a rule trusts. It makes values known
// in the run, before anybody is told that it was heard. Nothing of a text is kept but digests. reported-results.ts takes
// what coding agents report of their calls.

import { GuardError } from '../../core/errors.ts';
import { namedIn } from '../../core/flows/words.ts';
import type { CompiledPolicy } from '../../core/policy/compiled-policy.ts';
import type { Json } from '../../core/wire/json.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { findAudit } from '../../store/log/audit.ts';
import { findRun } from '../../store/runs.ts';
import type { SessionRecord } from '../../store/sessions.ts';
import { compiledVersion } from '../compiled-version.ts';
import type { Principal } from '../credentials.ts';
import type { Deps } from '../deps.ts';
import { shadowOf } from './cases.ts';
import type { CredentialFacts, Live } from './facts.ts';
import type { Learner } from './learner.ts';
import type { CompiledPolicies } from './policies.ts';
import type { RunHandle } from './run.ts';
import { Runs } from './runs.ts';
import { type Speaker, whileLive } from './while-live.ts';

/** The longest text that is taken, in bytes of UTF-8. */
export const MAX_TOLD_BYTES = 65_536;

export class Told {
  readonly #deps: Deps;
  readonly #policies: CompiledPolicies;
  readonly #learner: Learner;

  constructor(deps: Deps, policies: CompiledPolicies, learner: Learner) {
    this.#deps = deps;
    this.#policies = policies;
    this.#learner = learner;
  }

  /** What the person said. If no rule of the key asks whether values are known, nothing is done. */
  async byPerson(speaker: Speaker, said: Json): Promise<void> {
    const run = await this.#runOf(speaker);
    if (run !== null) await this.#learner.learn(run, speaker.principal.keyId, namedIn(said));
  }

  /** What the owner of a new session named for it, whatever its policy says by now. */
  async byOwner({ id, keyId, expiresAt }: SessionRecord, texts: readonly string[]): Promise<void> {
    if (texts.length === 0) return;
    const principal: Principal = { kind: 'session', keyId, sessionId: id, scope: null };
    const speaker: Speaker = { principal, surface: 'check', run: undefined };
    const run = await this.#deps.db.transaction({}, async tx => {
      const runs = new Runs(this.#deps);
      await runs.open(tx, [{ request: speaker, sessionEndsAt: expiresAt }], this.#deps.now());
      return runs.of(speaker)?.handle ?? null;
    });
    if (run !== null) await this.#learner.learn(run, keyId, namedIn([...texts]));
  }

  /** The result of a call. One that is not this caller's, or that no rule trusts, looks like an unknown one. */
  async byTool(principal: Principal, toolCallId: string, said: Json): Promise<void> {
    // Whoever was revoked before this makes nothing known.
    await whileLive(this.#deps, { principal, surface: 'check', run: undefined }, async () => {});
    const run = await this.#runOfCall(principal, toolCallId);
    if (run === null) throw noSuchCall();
    await this.#learner.learn(run, principal.keyId, namedIn(said));
  }

  /** The run of a speaker whose policy asks whether values are known; null for any other. */
  async #runOf(speaker: Speaker): Promise<RunHandle | null> {
    return whileLive(this.#deps, speaker, async (tx, live, credentials, now) => {
      if (!(await this.#usesKnown(tx, live, credentials))) return null;
      const runs = new Runs(this.#deps);
      await runs.open(tx, [{ request: speaker, sessionEndsAt: live.sessionEndsAt }], now);
      runs.write(tx);
      return runs.of(speaker)?.handle ?? null;
    });
  }

  async #usesKnown(tx: Transaction, { key }: Live, credentials: CredentialFacts): Promise<boolean> {
    await this.#policies.load(tx, credentials.policyVersions());
    const policy = this.#policies.get(key.policyId, key.policyVersion);
    return policy?.usesKnown === true || shadowOf(key, this.#policies)?.usesKnown === true;
  }

  async #runOfCall(principal: Principal, toolCallId: string): Promise<RunHandle | null> {
    const { db, now } = this.#deps;
    const entry = await findAudit(db, toolCallId);
    if (entry === null || entry.keyId !== principal.keyId) return null;
    if (principal.sessionId !== null && entry.sessionId !== principal.sessionId) return null;
    if (entry.decision !== 'allow' || entry.runId === null || entry.ruleIndex === null) return null;
    const policy = await this.#version(entry.policyId, entry.policyVersion);
    if (policy?.rules[entry.ruleIndex]?.known !== 'results') return null;
    const run = await findRun(db, entry.runId, now());
    return run && { number: run.number, id: run.id };
  }

  async #version(policyId: string, version: number): Promise<CompiledPolicy | null> {
    return this.#policies.get(policyId, version) ?? compiledVersion(this.#deps.db, policyId, version);
  }
}

function noSuchCall(): GuardError {
  return new GuardError(
    'not_found',
    'There is no allowed call with this id whose result makes values known.',
  );
}
