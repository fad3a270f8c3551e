// The background loop of every replica: does the jobs that are due, such as sending deliveries and notifications. Leases
// in the store keep two replicas from doing a thing twice. Signals (`db.wake`) wake the loop at once; they may be lost,
// so it also polls.

import type { Transaction } from '../../store/engine/db.ts';
import type { Deps } from '../deps.ts';
import { ATTEMPT_MS } from './send.ts';

const POLL_MS = 1000;
/**
 * A lease lasts longer than an attempt may take, so that no second attempt starts meanwhile, but ends soon after a
 * crash.
 */
const LEASE_MS = ATTEMPT_MS + 5000;
/** How many requests one receiver may have at a time, so that a receiver that hangs delays only its own. */
const PER_TARGET = 4;
/** A stop does not wait longer for receivers. What they did not answer is sent again after the next start. */
const STOP_MS = 3000;

/** Leases as much of a target's work as the target has room for, until the given time, and starts it. */
export type StartLeased = <Leased>(
  target: string,
  lease: (tx: Transaction, room: number, until: number) => Promise<Leased[]>,
  work: (leased: Leased) => Promise<void>,
) => Promise<void>;

/** Finds what is due and starts it. */
export type Job = (start: StartLeased) => Promise<void>;

export class Worker {
  readonly #deps: Deps;
  readonly #jobs: readonly Job[];
  readonly #onFailure: (error: unknown) => void;
  readonly #sending = new Map<string, number>();
  readonly #underWay = new Set<Promise<void>>();
  #timer: Timer | null = null;
  #ticking: Promise<void> | null = null;
  #again = false;

  constructor(deps: Deps, jobs: readonly Job[], onFailure: (error: unknown) => void) {
    this.#deps = deps;
    this.#jobs = jobs;
    this.#onFailure = onFailure;
  }

  start(): void {
    this.#deps.db.onWake(() => this.#poke());
    this.#timer = setInterval(() => this.#poke(), POLL_MS);
    this.#poke();
  }

  /** Starts nothing new, and waits a little for the attempts in progress. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#ticking;
    await Promise.race([Promise.all(this.#underWay), Bun.sleep(STOP_MS)]);
  }

  /** Starts everything that is due, within the limit for each receiver. */
  async tick(): Promise<void> {
    for (const job of this.#jobs) await job(this.#start);
  }

  /** Waits until all attempts that were started have ended. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #poke(): void {
    if (this.#timer === null) return;
    this.#again = true;
    this.#ticking ??= this.#loop();
  }

  async #loop(): Promise<void> {
    while (this.#again && this.#timer !== null) {
      this.#again = false;
      try {
        await this.tick();
      } catch (error) {
        this.#onFailure(error);
      }
    }
    this.#ticking = null;
  }

  readonly #start: StartLeased = async (target, lease, work) => {
    const room = PER_TARGET - (this.#sending.get(target) ?? 0);
    if (room <= 0) return;
    const { db, now } = this.#deps;
    for (const leased of await db.transaction({}, tx => lease(tx, room, now() + LEASE_MS))) {
      this.#count(target, 1);
      this.#track(
        () => work(leased),
        () => this.#count(target, -1),
      );
    }
  };

  /** Runs one attempt to its end, and then starts the next one that is due. */
  #track(work: () => Promise<void>, after: () => void): void {
    const done = work()
      .catch(error => this.#onFailure(error))
      .finally(() => {
        after();
        this.#underWay.delete(done);
        this.#poke();
      });
    this.#underWay.add(done);
  }

  #count(target: string, change: number): void {
    const now = (this.#sending.get(target) ?? 0) + change;
    if (now === 0) this.#sending.delete(target);
    else this.#sending.set(target, now);
  }
}
