// Turns the requests of a group into cases: each with its key, the policy version that decides it, and the rule of it that
// applies. Conditions are evaluated here, once for each call.

import type { CompiledPolicy } from '../../core/compiled-policy.ts';
import { type Considered, consider } from '../../core/consider.ts';
import type { Drift } from '../../core/decide.ts';
import { auditFailed, GuardError } from '../../core/errors.ts';
import type { Situation } from '../../core/situation.ts';
import type { Transaction } from '../../store/db.ts';
import type { KeyFacts } from '../../store/keys.ts';
import type { PersonFacts } from '../../store/people.ts';
import { unauthenticated } from '../credentials.ts';
import type { Deps } from '../deps.ts';
import type { Annotations } from './annotations.ts';
import { LATER } from './commit.ts';
import { CredentialFacts, DefinitionFacts } from './facts.ts';
import { type LimitTime, type Metered, readTime } from './limits.ts';
import type { CompiledPolicies } from './policies.ts';
import type { CheckRequest } from './request.ts';

/** A request whose credential is valid, with what was found about it. */
export interface Case {
  request: CheckRequest;
  key: KeyFacts;
  /** The person for whom the session acts; null if it acts for nobody. */
  person: PersonFacts | null;
  drift: Drift | null;
  considered: Considered;
  /** What it counts for, if the rule that applies has a limit. */
  metered: Metered | null;
}

/** What one group remembers for the next. */
export interface GroupMemory {
  policies: CompiledPolicies;
  annotations: Annotations;
}

export interface Group {
  cases: readonly (Case | GuardError | typeof LATER)[];
  definitions: DefinitionFacts;
  now: number;
  /** Null if the group decides no calls that count against a limit. */
  limitTime: LimitTime | null;
}

export async function readGroup(
  { now: clock, settings: { toolDrift } }: Deps,
  tx: Transaction,
  requests: readonly CheckRequest[],
  { policies, annotations }: GroupMemory,
  meters: boolean,
): Promise<Group> {
  const [credentials, definitions, limitTime] = await Promise.all([
    CredentialFacts.read(tx, requests),
    DefinitionFacts.read(tx, toolDrift === 'allow' ? [] : requests),
    meters ? readTime(tx, clock) : null,
  ]);
  const now = clock();
  await policies.load(tx, credentials.policyVersions());
  const read = requests.map(request => {
    const live = credentials.live(request, now);
    if (live === null) return unauthenticated();
    const { key, person } = live;
    const policy = policies.get(key.policyId, key.policyVersion);
    if (policy === null) return auditFailed(unreadable(key));
    return { request, key, person, policy };
  });
  const reading = read.filter(
    each => !(each instanceof GuardError) && each.policy.readsAnnotations,
  ) as Ready[];
  if (reading.length > 0)
    await annotations.load(
      tx,
      reading.map(each => each.request),
    );
  const cases: (Case | GuardError | typeof LATER)[] = read.map(each =>
    each instanceof GuardError ? each : LATER,
  );
  let steps = 0;
  for (const index of inTurns(requests)) {
    const each = read[index] as Ready | GuardError;
    if (each instanceof GuardError || (steps > MOST_STEPS && each.policy.compiled.size > 0)) continue;
    const drift = toolDrift !== 'allow' && definitions.changed(each.request) ? toolDrift : null;
    const found = caseOf(each, drift, annotations, now);
    cases[index] = found;
    steps += found.considered.steps;
  }
  return { cases, definitions, now, limitTime };
}

/**
 * Conditions of a group take so many steps, and at most those of one more call, before the rest of it is decided in the
 * next group. A thousand calls with arguments that take long would otherwise hold up everybody for seconds.
 */
const MOST_STEPS = 20_000;

/** The places of the requests, first those of the first one of each key, so that no key waits for all calls of another. */
function inTurns(requests: readonly CheckRequest[]): Iterable<number> {
  const turns: number[][] = [];
  const seen = new Map<string, number>();
  requests.forEach(({ principal: { keyId } }, index) => {
    const turn = seen.get(keyId) ?? 0;
    seen.set(keyId, turn + 1);
    turns[turn] ??= [];
    turns[turn].push(index);
  });
  return turns.flat();
}

interface Ready {
  request: CheckRequest;
  key: KeyFacts;
  person: PersonFacts | null;
  policy: CompiledPolicy;
}

function caseOf(
  { request, key, person, policy }: Ready,
  drift: Drift | null,
  annotations: Annotations,
  now: number,
): Case {
  const { principal, call, args, surface } = request;
  const { sessionId, sessionLabel = '' } = principal;
  const situation: Situation = {
    now,
    surface,
    args,
    keyId: key.id,
    keyName: key.name,
    session: sessionId === null ? null : { id: sessionId, label: sessionLabel },
    person,
    annotations: policy.readsAnnotations ? annotations.of(request) : null,
  };
  const considered = consider(policy, call, principal.scope, situation);
  return { request, key, person, drift, considered, metered: meteredBy(considered, key.id) };
}

function meteredBy({ meter, policy }: Considered, keyId: string): Metered | null {
  if (meter === null || meter.subject === null) return null;
  return { meter: meter as Metered['meter'], policyId: policy.id, keyId };
}

function unreadable({ policyId, policyVersion }: KeyFacts): Error {
  return new Error(`version ${policyVersion} of policy ${policyId} is missing or cannot be read`);
}
