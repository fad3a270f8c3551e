// Runs background work that nobody waits for, such as counting statistics. One replica at a time does it, in small
// steps, with pauses that leave the process and the store free for checks.

import { MINUTE } from '../core/time/duration.ts';
import { endLease, takeLease } from '../store/leases.ts';
import type { Deps } from './deps.ts';
import { newId } from './ids.ts';

const EVERY_MS = 5000;
const LEASE = 'chores';
/** If a replica dies, another one takes over after this long. */
const LEASE_MS = 30_000;
/** The pause after a step is this many times the step's duration, within the bounds below. */
const REST = 3;
const SHORTEST_REST_MS = 5;
const LONGEST_REST_MS = 500;

/** Does one small step, and returns true if there is more to do. */
export type Chore = (deps: Deps) => Promise<boolean>;

/**
 * Does a chore once a minute. The minute is counted from the beginning of its last step, so that what became old during
 * the step is found a minute later at the latest. After a clock that was ahead was corrected, nothing waits for it.
 */
export function everyMinute(chore: Chore): Chore {
  let next = 0;
  return async deps => {
    const now = deps.now();
    if (now < next && now > next - MINUTE) return false;
    if (await chore(deps)) return true;
    next = now + MINUTE;
    return false;
  };
}

interface ChoresObserver {
  /** Called after every round, also on a replica that left the work to another one. */
  round(deps: Deps): Promise<void>;
  failed(error: unknown): void;
}

export class Chores {
  readonly #deps: Deps;
  readonly #chores: readonly Chore[];
  readonly #observer: ChoresObserver;
  readonly #holder = newId();
  #leasedUntil = 0;
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;

  constructor(deps: Deps, chores: readonly Chore[], observer: ChoresObserver) {
    this.#deps = deps;
    this.#chores = chores;
    this.#observer = observer;
  }

  start(): void {
    this.#timer = setInterval(() => this.#poke(), EVERY_MS);
    this.#poke();
  }

  /** Waits for the current step, and gives up the lease so that another replica can continue. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#running;
    await endLease(this.#deps.db, LEASE, this.#holder).catch(() => {});
  }

  #poke(): void {
    this.#running ??= this.#round().finally(() => {
      this.#running = null;
    });
  }

  /** Runs every chore until it has nothing more to do. A chore that fails does not stop the others. */
  async #round(): Promise<void> {
    const steps = this.#chores.map(chore => async () => {
      while (await this.#step(chore));
    });
    for (const work of [...steps, () => this.#observer.round(this.#deps)]) {
      await work().catch(error => this.#observer.failed(error));
    }
  }

  async #step(chore: Chore): Promise<boolean> {
    if (this.#timer === null || !(await this.#leased())) return false;
    const begun = performance.now();
    const more = await chore(this.#deps);
    const rest = REST * (performance.now() - begun);
    if (more) await Bun.sleep(Math.min(Math.max(rest, SHORTEST_REST_MS), LONGEST_REST_MS));
    return more;
  }

  async #leased(): Promise<boolean> {
    const { db, now } = this.#deps;
    const ours = this.#leasedUntil - now();
    // The lease is renewed after half its time: an idle service writes it four times a minute and not at every step.
    if (ours > LEASE_MS / 2 && ours <= LEASE_MS) return true;
    const until = now() + LEASE_MS;
    const taken = await takeLease(db, LEASE, this.#holder, now(), until);
    if (taken) this.#leasedUntil = until;
    return taken;
  }
}
