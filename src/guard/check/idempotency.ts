// Calls that carry an idempotency key. The first one is decided and recorded like any other, and its verdict is kept beside
// its audit entry for a day. The same call with the same key gets that verdict: no decision is made, so it has no entry, counts
// against no limit and asks nobody. Only the credential is judged again, as for every request. A call that waits for people is
// repeated while it waits, and judged again once it is answered.

import { GuardError } from '../../core/errors.ts';
import { DAY } from '../../core/time/duration.ts';
import { findApprovals } from '../../store/approvals.ts';
import type { Transaction } from '../../store/engine/db.ts';
import {
  findIdempotent,
  forgetIdempotent,
  type IdempotentCall,
  putIdempotent,
} from '../../store/idempotent-calls.ts';
import { type Chore, everyMinute } from '../chores.ts';
import { unauthenticated } from '../credentials.ts';
import type { Deps } from '../deps.ts';
import { idempotencyLock } from '../locks.ts';
import { digestOf, hasLarge } from './asking.ts';
import { CredentialFacts } from './facts.ts';
import { type DecidedGroup, LATER, type Outcome } from './group-work.ts';
import { type CheckRequest, type Once, REPEATED, type Verdict } from './request.ts';

/** For so long the same key is the same call. */
export const KNOWN_FOR_MS = DAY;
/** Keys are locked by stripes, because each lock takes room in PostgreSQL's memory. */
const STRIPES = 256;

/**
 * What stands for a key, which belongs to one credential and one surface. Two sessions of a person may be allowed different
 * things, so that they are two credentials. Each of a company's tokens has a session of its own, and there it is the person.
 */
export function onceOf(
  { vault }: Pick<Deps, 'vault'>,
  { principal, surface }: Pick<CheckRequest, 'principal' | 'surface'>,
  key: string,
): Once {
  const { keyId, sessionId, personId, companys } = principal;
  const isPersons = companys === true && personId !== undefined;
  const whose = isPersons ? ['person', personId] : ['session', sessionId ?? ''];
  return { digest: vault.idempotencyDigest('key', [keyId, ...whose, surface, key]) };
}

/** Gives a call its key. The digest of usual arguments is computed here, and not while locks are held. */
export function carryKey(deps: Deps, request: CheckRequest, key: string): void {
  request.once = onceOf(deps, request, key);
  if (!hasLarge(request)) digestOf(deps, request);
}

/** What stands for a call at a tool server that takes such a key: it says nothing of the client's own. */
export function sentKey({ vault }: Pick<Deps, 'vault'>, once: Once | undefined, toolCallId: string): string {
  return vault.idempotencyDigest('sent', once === undefined ? ['call', toolCallId] : ['key', once.digest]);
}

/** Two equal calls that come to two replicas at once wait for each other. */
export function onceLocks(requests: readonly CheckRequest[]): string[] {
  return requests.flatMap(({ once }) =>
    once === undefined ? [] : idempotencyLock(Bun.hash.xxHash32(once.digest) % STRIPES),
  );
}

export const carriesKey = ({ once }: CheckRequest): boolean => once !== undefined;

/** Decides a group in which calls carry keys. `decide` decides those that are not repeats. */
export async function decideOnce(
  deps: Deps,
  tx: Transaction,
  requests: readonly CheckRequest[],
  decide: (fresh: readonly CheckRequest[]) => Promise<DecidedGroup<Verdict>>,
): Promise<DecidedGroup<Verdict>> {
  const known = await KnownCalls.read(deps, tx, requests);
  const results = new Array<Outcome<Verdict>>(requests.length);
  const fresh: CheckRequest[] = [];
  const places: number[] = [];
  const seen = new Set<string>();
  requests.forEach((request, index) => {
    const outcome = known.outcomeOf(request, seen);
    if (!(outcome instanceof Fresh)) {
      results[index] = outcome;
      return;
    }
    fresh.push(outcome.request);
    if (request.once !== undefined) seen.add(request.once.digest);
    places.push(index);
  });
  if (fresh.length === 0) return { results, afterCommit: () => {} };
  const { results: decided, afterCommit, beforeAnswer } = await decide(fresh);
  decided.forEach((result, index) => {
    results[places[index] as number] = result;
    known.keep(tx, fresh[index] as CheckRequest, result);
  });
  const first = [...(beforeAnswer ?? [])].map(([index, work]) => [places[index] as number, work] as const);
  return { results, afterCommit, beforeAnswer: new Map(first) };
}

/** A call that has to be decided. */
class Fresh {
  readonly request: CheckRequest;
  constructor(request: CheckRequest) {
    this.request = request;
  }
}

/** What is known of the keys that the calls of a group carry. */
class KnownCalls {
  readonly #deps: Deps;
  readonly #calls: ReadonlyMap<string, IdempotentCall>;
  readonly #credentials: CredentialFacts | null;
  /** The approvals that are known, and whether they can still be answered. */
  readonly #waiting: ReadonlyMap<string, boolean>;

  private constructor(
    deps: Deps,
    calls: readonly IdempotentCall[],
    credentials: CredentialFacts | null,
    waiting: ReadonlyMap<string, boolean>,
  ) {
    this.#deps = deps;
    this.#calls = new Map(calls.map(each => [each.digest, each]));
    this.#credentials = credentials;
    this.#waiting = waiting;
  }

  static async read(deps: Deps, tx: Transaction, requests: readonly CheckRequest[]): Promise<KnownCalls> {
    const now = deps.now();
    const digests = new Set(requests.flatMap(({ once }) => once?.digest ?? []));
    const calls = await findIdempotent(tx, [...digests], now);
    if (calls.length === 0) return new KnownCalls(deps, calls, null, new Map());
    const references = calls.flatMap(({ referenceId }) => referenceId ?? []);
    const [credentials, approvals] = await Promise.all([
      CredentialFacts.read(tx, requests.filter(carriesKey)),
      references.length === 0 ? [] : findApprovals(tx, references),
    ]);
    const waiting = approvals.map(
      ({ id, status, expiresAt }) => [id, status === 'pending' && expiresAt > now] as const,
    );
    return new KnownCalls(deps, calls, credentials, new Map(waiting));
  }

  /** `seen` has the keys of the calls before it in this group that are decided now; what is known of those changes. */
  outcomeOf(request: CheckRequest, seen: Set<string>): Outcome<Verdict> | Fresh {
    const { once, resumes } = request;
    if (once === undefined) return new Fresh(request);
    // The digest of large arguments takes too long while locks are held. The group commit computes it before a later group.
    if (request.callDigest === undefined && hasLarge(request)) return LATER;
    // What becomes of the first one is known in the next group.
    if (seen.has(once.digest)) return LATER;
    const call = this.#calls.get(once.digest);
    if (call === undefined || resumes !== undefined) return new Fresh(request);
    const live = this.#credentials?.live(request, this.#deps.now());
    if (live == null) return unauthenticated();
    if (call.callDigest !== this.#callDigest(request)) return otherCall();
    const verdict: Verdict = JSON.parse(call.verdict);
    if (verdict.decision !== 'pending') return { ...verdict, [REPEATED]: true };
    const { referenceId } = call;
    const isWaiting = referenceId === null ? undefined : this.#waiting.get(referenceId);
    if (isWaiting) {
      // The key may have lost its tasks meanwhile.
      const { task, ...plain } = verdict;
      return { ...plain, ...(task && live.key.tasks === 1 && { task }), [REPEATED]: true };
    }
    return new Fresh(
      isWaiting === undefined ? request : { ...request, referenceId: request.referenceId ?? referenceId },
    );
  }

  /** Keeps the verdict of a call that was decided, unless it says that the call can be made again. */
  keep(tx: Transaction, request: CheckRequest, result: Outcome<Verdict>): void {
    const { once, principal, call } = request;
    if (once === undefined || typeof result === 'symbol' || result instanceof GuardError) return;
    if (result.unplaced === true || (call.unsent === true && result.decision === 'allow')) return;
    putIdempotent(tx, {
      digest: once.digest,
      keyId: principal.keyId,
      callDigest: this.#callDigest(request),
      toolCallId: result.toolCallId,
      referenceId: result.referenceId ?? null,
      // What is kept in memory of an allowed call has symbols for names, which JSON leaves out.
      verdict: JSON.stringify(result),
      knownUntil: this.#deps.now() + KNOWN_FOR_MS,
    });
  }

  #callDigest(request: CheckRequest): string {
    const { serverName, toolName } = request.call;
    const of = [serverName, toolName, digestOf(this.#deps, request)];
    return this.#deps.vault.idempotencyDigest('call', of);
  }
}

/** A batch takes a few milliseconds on SQLite. */
const BATCH = 500;
/** They are kept this long after their end, because replicas whose clocks are slow still read them. */
const KEPT_MS = DAY;

/** Removes what ended a day ago, once a minute. */
export function forgetKeys(): Chore {
  return everyMinute(async ({ db, now }) => {
    const removed = await db.transaction({}, tx => forgetIdempotent(tx, now() - KEPT_MS, BATCH));
    return removed === BATCH;
  });
}

function otherCall(): GuardError {
  const message =
    'This idempotency key was used for another call in the last 24 hours: with other arguments, or of another tool. Use a new key.';
  return new GuardError('idempotency_conflict', message);
}
