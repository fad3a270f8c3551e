// Which processes live, so that what a dead one has left behind is found within 10 seconds: the calls that it forwarded, whose
// outcome nobody will learn, and the calls that it held for tasks. Each process has a lease that it renews. All leases are
// read by the clock of the database, which the replicas share. One process alone, as on SQLite, needs no lease: what is
// there at its start belonged to another.
//
// A process that could not renew its lease does not count as alive for itself either, and forwards nothing whose outcome others
// may have given up.

import type { Lane, Transaction } from '../../store/engine/db.ts';
import { findExecution, listForwardedBy, processesAtWork } from '../../store/executions.ts';
import { endLease, listHolders, removeExpired, renewLease, takeLease } from '../../store/leases.ts';
import { loseTasks } from '../../store/tasks.ts';
import type { Deps } from '../deps.ts';
import { giveUpCalls } from './end-call.ts';

const EVERY_MS = 1500;
const LEASE_MS = 7500;
/** Calls, and as many tasks, that one transaction gives up. */
const BATCH = 100;
const LEASES = 'process ';

const leaseOf = (processId: string): string => `${LEASES}${processId}`;

interface LivenessOptions {
  /** Whether several processes share the store. */
  shared: boolean;
  /** Told of the first of several failures in a row. */
  failed: (error: unknown) => void;
  /** Told of how much a dead process has left behind, or this one when it stops. */
  gaveUp: (left: Left, isOwn: boolean) => void;
  /** The time on the clock that all processes share. */
  clock?: (tx: Transaction) => Promise<number>;
}

export interface Left {
  calls: number;
  tasks: number;
}

export class Liveness {
  readonly #deps: Deps;
  readonly #lane: Lane;
  readonly #options: LivenessOptions;
  readonly #clock: (tx: Transaction) => Promise<number>;
  /** Since when this process has its lease without a gap, by the shared clock. */
  #since: number | null = null;
  /** When the lease was last renewed, by both clocks of this machine: one of them may stand still while it sleeps. */
  #renewed: { ticks: number; at: number } | null = null;
  #hasFailed = false;
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;

  constructor(deps: Deps, options: LivenessOptions) {
    this.#deps = deps;
    this.#lane = deps.db.lane();
    this.#options = options;
    this.#clock = options.clock ?? (async tx => (await tx.lockedAt()) ?? deps.now());
  }

  /** Whether no other process can take this one for dead. */
  get isAlive(): boolean {
    if (!this.#options.shared) return true;
    if (this.#renewed === null) return false;
    const { ticks, at } = this.#renewed;
    return performance.now() - ticks < LEASE_MS && this.#deps.now() - at < LEASE_MS;
  }

  /**
   * Whether this process may still forward a call of which it is recorded that it does. If it was held up for long, it renews
   * its lease and looks whether others have given up the call meanwhile.
   */
  async mayForward(toolCallId: string): Promise<boolean> {
    if (this.isAlive) return true;
    await this.#renew();
    const found = await findExecution(this.#lane, toolCallId);
    return found?.processId === this.#deps.processId;
  }

  /** Resolves when this process counts as alive; it must forward nothing before. */
  async start(): Promise<void> {
    if (this.#options.shared) {
      await this.#renew();
      this.#timer = setInterval(() => this.#poke(), EVERY_MS);
      return;
    }
    for (const processId of await this.#others()) await this.#giveUp(processId);
  }

  /** What this process still holds or forwards is given up: nobody waits for it any more. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#running;
    const { processId } = this.#deps;
    try {
      if (this.#options.shared) await endLease(this.#lane, leaseOf(processId), processId);
      this.#renewed = null;
      await this.#giveUp(processId);
    } catch (error) {
      this.#options.failed(error);
    }
  }

  /** Renews the lease, and gives up what dead processes have left behind. */
  async round(): Promise<void> {
    const now = await this.#renew();
    // While the store was away, nobody could renew a lease: everybody gets the time to do so.
    if (this.#since === null || now - this.#since < LEASE_MS) return;
    const living = new Set(await listHolders(this.#lane, LEASES, now));
    for (const processId of await this.#others()) if (!living.has(processId)) await this.#giveUp(processId);
  }

  #poke(): void {
    this.#running ??= this.round()
      .then(
        () => {
          this.#hasFailed = false;
        },
        error => {
          if (!this.#hasFailed) this.#options.failed(error);
          this.#hasFailed = true;
        },
      )
      .finally(() => {
        this.#running = null;
      });
  }

  /** Returns the time on the shared clock. */
  async #renew(): Promise<number> {
    const { processId, now: clock } = this.#deps;
    // The lease is at least as long as this process believes: what it believes is counted from before the renewal.
    const renewed = { ticks: performance.now(), at: clock() };
    const { now, isUnbroken } = await this.#lane.transaction({}, async tx => {
      const now = await this.#clock(tx);
      const lease = [tx, leaseOf(processId), processId, now, now + LEASE_MS] as const;
      const isUnbroken = await renewLease(...lease);
      if (!isUnbroken) await takeLease(...lease);
      return { now, isUnbroken };
    });
    this.#renewed = renewed;
    if (!isUnbroken || this.#since === null) this.#since = now;
    return now;
  }

  async #others(): Promise<string[]> {
    const atWork = await processesAtWork(this.#lane);
    return atWork.filter(id => id !== this.#deps.processId);
  }

  async #giveUp(processId: string): Promise<void> {
    const left: Left = { calls: 0, tasks: 0 };
    for (let more = true; more; ) more = await this.#giveUpSome(processId, left);
    if (left.calls === 0 && left.tasks === 0) return;
    this.#options.gaveUp(left, processId === this.#deps.processId);
    this.#deps.db.wake();
  }

  /** Returns whether there may be more. A process that has renewed its lease meanwhile keeps what is left. */
  #giveUpSome(processId: string, left: Left): Promise<boolean> {
    return this.#lane.transaction({}, async tx => {
      const now = await this.#clock(tx);
      if (!(await removeExpired(tx, leaseOf(processId), now))) return false;
      const found = await listForwardedBy(tx, processId, Number.MAX_SAFE_INTEGER, BATCH);
      const calls = found.length === 0 ? 0 : await giveUpCalls(this.#deps, tx, processId, found);
      const tasks = await loseTasks(tx, processId, this.#deps.now(), BATCH);
      left.calls += calls;
      left.tasks += tasks;
      return calls === BATCH || tasks === BATCH;
    });
  }
}
