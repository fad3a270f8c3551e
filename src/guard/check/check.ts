// Decides the groups of checks that the group commit puts together, from whichever surface the checks come. Calls are
// decided inside the transaction that records them, under locks that keep the facts true until the commit, and a
// verdict exists only once that commit has returned. Arguments are read by conditions and, if a rule asks for approval,
// for a keyed digest and for what the rule shows of them. They are not stored. round.ts decides each call.

import type { Span } from '../../core/wire/span.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { AuditWriter } from '../../store/log/audit.ts';
import type { Deps } from '../deps.ts';
import { keyLock, PEOPLE_LOCK, POLICIES_LOCK, toolServerLock } from '../locks.ts';
import { CallerTurns } from '../rations/caller-turns.ts';
import { keyName } from '../rations/rations.ts';
import { Annotations } from './annotations.ts';
import { AskingCalls, type AskingTurns, digestOf, hasLarge } from './asking.ts';
import { type Group, type GroupMemory, isCase, type Reading, readGroup } from './cases.ts';
import type { DecidedGroup, GroupWork } from './group-work.ts';
import { carriesKey, decideOnce, onceLocks } from './idempotency.ts';
import { KeyTurns } from './key-turns.ts';
import { Learner } from './learner.ts';
import { LimitFacts, type Metered } from './limits.ts';
import { MeteredCalls } from './metered-calls.ts';
import { CompiledPolicies } from './policies.ts';
import type { CheckRequest, Verdict } from './request.ts';
import { decideCalls, type Round } from './round.ts';
import { RunOpener } from './run-cases.ts';
import { Shadows } from './shadow.ts';
import { writeExecutions } from './task-calls.ts';

/** What the groups of one process share. */
export interface CheckMemory extends GroupMemory {
  /** The order in which keys have their turns for large pieces of work. */
  turns: CallerTurns;
  meteredCalls: MeteredCalls;
  /** Null: the groups make one of their own. */
  learner: Learner | null;
}

export class CheckWork implements GroupWork<CheckRequest, Verdict> {
  readonly #deps: Deps;
  readonly #memory: CheckMemory;
  readonly #movesMetered: boolean;
  readonly #log = new AuditWriter();
  readonly #reading: Reading;
  readonly #asking: AskingTurns;
  readonly #learner: Learner;

  /**
   * `movesMetered`: calls that count against a limit are decided in other groups, whose locks only they wait for. `clock`
   * says how long a group has worked.
   */
  constructor(
    deps: Deps,
    memory: CheckMemory = newMemory(),
    movesMetered = false,
    clock: () => number = () => performance.now(),
  ) {
    this.#deps = deps;
    this.#memory = memory;
    this.#learner = memory.learner ?? new Learner(deps, memory.turns);
    this.#movesMetered = movesMetered;
    this.#reading = { memory, meters: !movesMetered, turns: new KeyTurns() };
    this.#asking = { turns: new KeyTurns(), clock };
  }

  keyOf({ principal }: CheckRequest): string {
    return principal.keyId;
  }

  callerOf({ principal }: CheckRequest): string {
    return principal.sessionId ?? '';
  }

  shares(keyIds: ReadonlySet<string>, requests: readonly CheckRequest[]): string[] {
    const people = requests.some(each => each.principal.personId !== undefined) ? [PEOPLE_LOCK] : [];
    const ids = new Set(requests.flatMap(each => each.connectedTool?.toolServerId ?? []));
    const servers = Array.from(ids, toolServerLock);
    return [...people, POLICIES_LOCK, ...servers, ...Array.from(keyIds, keyLock)];
  }

  takes(requests: readonly CheckRequest[]): string[] {
    return onceLocks(requests);
  }

  spanOf({ span }: CheckRequest): Span | undefined {
    return span;
  }

  moves(request: CheckRequest): boolean {
    return this.#movesMetered && this.#memory.meteredCalls.has(request);
  }

  /** Computes the digest of large arguments, when it is the turn of their key. */
  prepare(request: CheckRequest): Promise<void> | null {
    if (request.callDigest !== undefined || !hasLarge(request)) return null;
    const turn = this.#memory.turns.next(keyName(request.principal.keyId));
    return turn.then(() => void digestOf(this.#deps, request));
  }

  decideGroup(tx: Transaction, requests: readonly CheckRequest[]): Promise<DecidedGroup<Verdict>> {
    if (!requests.some(carriesKey)) return this.#decide(tx, requests);
    return decideOnce(this.#deps, tx, requests, fresh => this.#decide(tx, fresh));
  }

  async #decide(tx: Transaction, requests: readonly CheckRequest[]): Promise<DecidedGroup<Verdict>> {
    const group = await readGroup(this.#deps, tx, requests, this.#reading);
    const round = await this.#begin(tx, group);
    const results = await decideCalls(round);
    const { limits, asking, entries } = round;
    asking?.tookTurns(group, results);
    limits?.write(tx);
    asking?.approvals.write(tx);
    await this.#log.insert(tx, entries);
    writeExecutions(round);
    group.runs?.write(tx);
    return { results, afterCommit: () => this.#committed(round), beforeAnswer: round.beforeAnswer };
  }

  /** Reads what only some calls depend on: limits, shadows, and what is known of approvals. */
  async #begin(tx: Transaction, group: Group): Promise<Round> {
    const metered = this.#metered(group);
    const { limitTime, now } = group;
    const [limits, shadows] = await Promise.all([
      metered.length > 0 && limitTime !== null ? LimitFacts.read(tx, metered, limitTime) : null,
      Shadows.read(tx, group.cases.filter(isCase), now),
    ]);
    const deps = this.#deps;
    const asking = await AskingCalls.read(deps, tx, group, limits, this.#asking);
    return {
      deps,
      tx,
      group,
      limits,
      shadows,
      asking,
      entries: [],
      executions: null,
      afterCommit: [],
      beforeAnswer: null,
      hasOpened: false,
      learner: this.#learner,
    };
  }

  #committed({ afterCommit, hasOpened, executions }: Round): void {
    this.#log.committed();
    if (executions !== null) for (const { toolCallId } of executions) this.#deps.executing.add(toolCallId);
    for (const each of afterCommit) each();
    // An approval that was opened has an event and notifications in the outbox, and the worker is to send them now.
    if (hasOpened) this.#deps.db.wake();
  }

  #metered({ cases }: Group): Metered[] {
    const metered: Metered[] = [];
    for (const each of cases) {
      if (!isCase(each)) continue;
      this.#memory.meteredCalls.note(each.request, each.metered !== null);
      if (each.metered !== null) metered.push(each.metered);
    }
    return metered;
  }
}

export function newMemory(turns = new CallerTurns(), learner: Learner | null = null): CheckMemory {
  return {
    turns,
    policies: new CompiledPolicies(),
    annotations: new Annotations(),
    runs: new RunOpener(),
    meteredCalls: new MeteredCalls(),
    learner,
  };
}
