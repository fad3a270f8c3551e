// Turns the requests of a group into cases. A case has its key, the policy version that decides it and the rule of that
// version that applies, and the same for the shadow of the key. Conditions are evaluated here, once for each call and
// policy.

import { type Considered, consider } from '../../core/decision/consider.ts';
import type { Facts } from '../../core/decision/decide.ts';
import type { HeldFor } from '../../core/decision/reason.ts';
import { auditFailed, GuardError } from '../../core/errors.ts';
import type { CompiledPolicy } from '../../core/policy/compiled-policy.ts';
import type { Situation } from '../../core/policy/situation.ts';
import { resultsFor } from '../../core/results/results.ts';
import type { Transaction } from '../../store/engine/db.ts';
import type { KeyFacts } from '../../store/keys.ts';
import type { PersonFacts } from '../../store/people.ts';
import { unauthenticated } from '../credentials.ts';
import type { Deps } from '../deps.ts';
import type { Annotations } from './annotations.ts';
import { CredentialFacts, DefinitionFacts, type Live, ServerChanged } from './facts.ts';
import { LATER } from './group-work.ts';
import type { KeyTurns } from './key-turns.ts';
import { type LimitTime, type Metered, meteredBy, readTime } from './limits.ts';
import type { CompiledPolicies } from './policies.ts';
import type { CheckRequest, Watched } from './request.ts';
import type { Run } from './run.ts';
import { marksMatter, type RunCase, type RunOpener, remembers, settle } from './run-cases.ts';
import type { Runs } from './runs.ts';
import { considerShadow } from './shadow.ts';
import { situationOf } from './situation.ts';

/** A request whose credential is valid, with what was found about it. */
export interface Case {
  request: CheckRequest;
  key: KeyFacts;
  /** The person for whom the session acts; null if it acts for nobody. */
  person: PersonFacts | null;
  /** What of the tool's definition is in the way. */
  drift: Facts['drift'];
  heldFor: HeldFor | null;
  considered: Considered;
  /** What it counts for, if the rule that applies has a limit. */
  metered: Metered | null;
  /** What was found about the call by the shadow of the key; null if none judges it. */
  shadow: Considered | null;
  /** Null if neither the policy of the key nor its shadow uses marks or known values. */
  run: RunCase | null;
  /** What its result is looked at by, should it be allowed; null if it is passed on as it is. */
  watch: Omit<Watched, 'by'> | null;
}

/** Whether the call is decided in this group. */
export function isCase(each: Group['cases'][number]): each is Case {
  return each !== LATER && !(each instanceof GuardError);
}

/** What one group remembers for the next. */
export interface GroupMemory {
  policies: CompiledPolicies;
  annotations: Annotations;
  runs: RunOpener;
}

export interface Group {
  cases: readonly (Case | GuardError | typeof LATER)[];
  definitions: DefinitionFacts;
  /** Null if no call of the group has a run. */
  runs: Runs | null;
  now: number;
  /** Null if the group decides no calls that count against a limit. */
  limitTime: LimitTime | null;
}

export interface Reading {
  memory: GroupMemory;
  /** Whether the group decides calls that count against a limit. */
  meters: boolean;
  /** The turns of keys whose conditions are evaluated. */
  turns: KeyTurns;
}

/** Reads what the requests of a group depend on, finds the policies that decide them, and evaluates those. */
export async function readGroup(
  deps: Deps,
  tx: Transaction,
  requests: readonly CheckRequest[],
  { memory, meters, turns }: Reading,
): Promise<Group> {
  const facts = await readFacts(deps, tx, requests, meters, memory.runs);
  const found = await withPolicies(tx, requests, facts, memory);
  const remember = facts.runs !== null || usesRuns(facts, memory);
  const runs = remember ? await memory.runs.open(deps, tx, found, facts.now, facts.runs) : null;
  const cases = evaluated(found, requests, facts, memory.annotations, turns);
  if (runs !== null) await settle(tx, runs, cases.filter(isCase));
  const { definitions, now, limitTime } = facts;
  return { cases, definitions, runs, now, limitTime };
}

/** It asks the policies of the group, which are few, and not its calls. */
function usesRuns({ credentials }: GroupFacts, { policies }: GroupMemory): boolean {
  for (const { policyId, policyVersion } of credentials.policyVersions()) {
    const policy = policies.get(policyId, policyVersion);
    if (policy !== null && (remembers(policy) || policy.compiledResults !== null)) return true;
  }
  return false;
}

interface GroupFacts {
  credentials: CredentialFacts;
  definitions: DefinitionFacts;
  limitTime: LimitTime | null;
  toolDrift: Deps['settings']['toolDrift'];
  /** The runs of those calls that probably have one. */
  runs: Runs | null;
  now: number;
}

async function readFacts(
  deps: Deps,
  tx: Transaction,
  requests: readonly CheckRequest[],
  meters: boolean,
  opener: RunOpener,
): Promise<GroupFacts> {
  const { now, settings } = deps;
  const { toolDrift } = settings;
  const [credentials, definitions, limitTime, runs] = await Promise.all([
    CredentialFacts.read(tx, requests),
    DefinitionFacts.read(tx, requests, settings.toolsLock),
    meters ? readTime(tx, now) : null,
    opener.expect(deps, tx, requests),
  ]);
  return { credentials, definitions, limitTime, toolDrift, runs, now: now() };
}

/** A request whose credential is valid, with the policies that judge it. */
interface Ready extends Live {
  request: CheckRequest;
  policy: CompiledPolicy;
  shadow: CompiledPolicy | null;
  run: Run | null;
}

/** Also loads the annotations of those tools whose policies read them. */
async function withPolicies(
  tx: Transaction,
  requests: readonly CheckRequest[],
  { credentials, definitions, toolDrift, now }: GroupFacts,
  { policies, annotations }: GroupMemory,
): Promise<(Ready | GuardError)[]> {
  await policies.load(tx, credentials.policyVersions());
  const found = requests.map((request): Ready | GuardError => {
    const live = credentials.live(request, now);
    if (live === null) return unauthenticated();
    if (!definitions.isCurrent(request, toolDrift)) return new ServerChanged();
    const { key, person, sessionEndsAt } = live;
    const policy = policies.get(key.policyId, key.policyVersion);
    if (policy === null) return auditFailed(unreadable(key));
    return { request, key, person, sessionEndsAt, policy, shadow: shadowOf(key, policies), run: null };
  });
  const reading = found.filter(readsAnnotations);
  if (reading.length > 0)
    await annotations.load(
      tx,
      reading.map(each => each.request),
      definitions,
    );
  return found;
}

function readsAnnotations(each: Ready | GuardError): each is Ready {
  if (each instanceof GuardError) return false;
  return each.policy.readsAnnotations || each.shadow?.readsAnnotations === true;
}

/** Finds the rule that applies to each call. What it has no more steps for is left for a later group. */
function evaluated(
  found: readonly (Ready | GuardError)[],
  requests: readonly CheckRequest[],
  { definitions, toolDrift, now }: GroupFacts,
  annotations: Annotations,
  turns: KeyTurns,
): Group['cases'] {
  const cases: (Case | GuardError | typeof LATER)[] = found.map(each =>
    each instanceof GuardError ? each : LATER,
  );
  let steps = 0;
  let shadowSteps = 0;
  const takesTurns = found.some(hasConditions);
  const worked: CheckRequest[] = [];
  for (const index of takesTurns ? turns.order(requests) : requests.keys()) {
    const each = found[index] as Ready | GuardError;
    if (each instanceof GuardError || (steps > MOST_STEPS && each.policy.compiled.size > 0)) continue;
    const obstacle = definitions.inTheWay(each.request, toolDrift);
    const made = caseOf(each, obstacle, annotations, now, steps + shadowSteps <= MOST_STEPS);
    cases[index] = made;
    steps += made.considered.steps;
    shadowSteps += made.shadow?.steps ?? 0;
    if (takesTurns && each.policy.compiled.size > 0) worked.push(each.request);
  }
  if (takesTurns) turns.took(worked, steps > MOST_STEPS);
  return cases;
}

/**
 * Conditions of a group take so many steps, and at most those of one more call, before the rest of it is decided in the
 * next group. A thousand calls with arguments that take long would otherwise hold up everybody for seconds. No call is put
 * off for the steps of a shadow: once they are taken, shadows with conditions judge nothing more in this group.
 */
const MOST_STEPS = 20_000;

function hasConditions(each: Ready | GuardError): boolean {
  if (each instanceof GuardError) return false;
  return each.policy.compiled.size > 0 || (each.shadow !== null && each.shadow.compiled.size > 0);
}

export function shadowOf(key: KeyFacts, policies: CompiledPolicies): CompiledPolicy | null {
  const { shadowPolicyId, shadowPolicyVersion } = key;
  if (shadowPolicyId === null || shadowPolicyVersion === null) return null;
  return policies.get(shadowPolicyId, shadowPolicyVersion);
}

/** `room`: whether a shadow may still evaluate conditions. */
function caseOf(
  ready: Ready,
  { drift, heldFor = null }: Pick<Facts, 'drift' | 'heldFor'>,
  annotations: Annotations,
  now: number,
  room: boolean,
): Case {
  const { request, key, person, policy, run } = ready;
  const judging = ready.shadow !== null && (room || ready.shadow.compiled.size === 0) ? ready.shadow : null;
  const asked = run?.asked;
  const situation = knownTo(ready, policy, annotations, now, null);
  const considered = consider(policy, request.call, request.principal.scope, situation);
  const judge = judging && shadowIn(judging, request, knownTo(ready, judging, annotations, now, judging.id));
  const shadow = judge?.() ?? null;
  const made: Case = {
    request,
    key,
    person,
    drift,
    heldFor,
    considered,
    metered: meteredBy(considered, key.id),
    shadow,
    run: null,
    watch: policy.compiledResults === null ? null : watchOf(ready, situation),
  };
  if (run !== null) made.run = runCase(ready, run, situation, judge, run.asked !== asked);
  return made;
}

function watchOf({ policy, request, run }: Ready, situation: Situation): Case['watch'] {
  const guard = resultsFor(policy, request.call, situation);
  return guard && { guard, run };
}

/** It is a function of its own, because what closures use costs every call of the function around them. */
function runCase(
  { policy, request }: Ready,
  run: Run,
  situation: Situation,
  judge: (() => Considered | null) | null,
  unsettled: boolean,
): RunCase {
  const { call, principal } = request;
  return {
    run,
    marks: run.marks,
    unsettled,
    again: () => consider(policy, call, principal.scope, situation),
    marksMatter: () => [true, false].some(isKnown => marksMatter(policy, request, situation, isKnown)),
    shadowAgain: () => judge?.() ?? null,
  };
}

function shadowIn(
  policy: CompiledPolicy,
  request: CheckRequest,
  situation: Situation,
): () => Considered | null {
  return () => considerShadow(policy, request, situation);
}

/** What one of its policies may know; `shadow` is its id if it is the shadow of the key. */
function knownTo(
  ready: Ready,
  { readsAnnotations }: CompiledPolicy,
  annotations: Annotations,
  now: number,
  shadow: string | null,
): Situation {
  const { request, run } = ready;
  return situationOf(ready, request, {
    now,
    annotations: readsAnnotations ? annotations.of(request) : null,
    run: run?.facts(shadow),
  });
}

function unreadable({ policyId, policyVersion }: KeyFacts): Error {
  return new Error(`version ${policyVersion} of policy ${policyId} is missing or cannot be read`);
}
