// What somebody trusted has said: the person whose task it is, or a tool whose results a rule trusts. It makes values known
// in the run, before anybody is told that it was heard. Nothing of a text is kept but digests.

import { GuardError } from '../../core/errors.ts';
import { namedIn } from '../../core/flows/words.ts';
import type { CompiledPolicy } from '../../core/policy/compiled-policy.ts';
import type { Surface } from '../../core/text/surface.ts';
import type { Json } from '../../core/wire/json.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { takeCall } from '../../store/known-values.ts';
import { findAudit } from '../../store/log/audit.ts';
import { findRun } from '../../store/runs.ts';
import type { SessionRecord } from '../../store/sessions.ts';
import { compiledVersion } from '../compiled-version.ts';
import { type Principal, unauthenticated } from '../credentials.ts';
import type { Deps } from '../deps.ts';
import { keyLock, PEOPLE_LOCK, POLICIES_LOCK } from '../locks.ts';
import { shadowOf } from './cases.ts';
import { CredentialFacts, type Live } from './facts.ts';
import type { Learner } from './learner.ts';
import type { CompiledPolicies } from './policies.ts';
import type { RunHandle } from './run.ts';
import { callName, Runs } from './runs.ts';

/** The longest text that is taken, in bytes of UTF-8. */
export const MAX_TOLD_BYTES = 65_536;

/** Who says it, on which surface, and in which run. */
export interface Speaker {
  principal: Principal;
  surface: Surface;
  run: string | undefined;
}

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
    const run = await this.#runOf(speaker, async (_, handle) => handle);
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
    await this.#whileLive({ principal, surface: 'check', run: undefined }, async () => {});
    const run = await this.#runOfCall(principal, toolCallId);
    if (run === null) throw noSuchCall();
    await this.#learner.learn(run, principal.keyId, namedIn(said));
  }

  /** The result of a coding agent's call, which it names as it did before. A call that no rule trusts says nothing. */
  async byAgentsTool(speaker: Speaker, resultName: string, said: Json): Promise<void> {
    const run = await this.#runOf(speaker, async (tx, handle, digest) =>
      (await takeCall(tx, handle.number, digest(callName(resultName)))) ? handle : null,
    );
    if (run !== null) await this.#learner.learn(run, speaker.principal.keyId, namedIn(said));
  }

  /** The run of a speaker whose policy asks whether values are known, as `use` gives it back; null for any other. */
  async #runOf(
    speaker: Speaker,
    use: (tx: Transaction, run: RunHandle, digest: (text: string) => string) => Promise<RunHandle | null>,
  ): Promise<RunHandle | null> {
    return this.#whileLive(speaker, async (tx, live, credentials, now) => {
      if (!(await this.#usesKnown(tx, live, credentials))) return null;
      const runs = new Runs(this.#deps);
      await runs.open(tx, [{ request: speaker, sessionEndsAt: live.sessionEndsAt }], now);
      runs.write(tx);
      const run = runs.of(speaker);
      return run && use(tx, run.handle, text => run.digest(text));
    });
  }

  /** Gives back what `use` does, in a transaction in which the credential of the speaker stays valid. */
  #whileLive<T>(
    speaker: Speaker,
    use: (tx: Transaction, live: Live, credentials: CredentialFacts, now: number) => Promise<T>,
  ): Promise<T> {
    const { keyId, personId } = speaker.principal;
    const people = personId === undefined ? [] : [PEOPLE_LOCK];
    return this.#deps.db.transaction({ shared: [...people, POLICIES_LOCK, keyLock(keyId)] }, async tx => {
      const now = this.#deps.now();
      const credentials = await CredentialFacts.read(tx, [speaker]);
      const live = credentials.live(speaker, now);
      if (live === null) throw unauthenticated();
      return use(tx, live, credentials, now);
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
