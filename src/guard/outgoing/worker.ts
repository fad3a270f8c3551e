// The background loop of every replica: ends approvals that timed out, and sends the notifications and deliveries that
// are due. Leases in the store prevent two replicas from sending the same one. A hint wakes the loop; it also polls, in
// case a hint was lost.

import type { Transaction } from '../../store/db.ts';
import { leaseDeliveries, webhooksDue } from '../../store/deliveries.ts';
import { type ChannelKind, leaseNotifications, notificationTargetsDue } from '../../store/notifications.ts';
import { lapse } from '../approvals/approvals.ts';
import { type NotifySettings, notify } from '../approvals/notify/notify.ts';
import type { Deps } from '../deps.ts';
import type { TargetRules } from './addresses.ts';
import { ATTEMPT_MS, type Attempt, deliver } from './deliver.ts';

const POLL_MS = 1000;
/**
 * A lease lasts longer than an attempt may take, so that no second attempt starts meanwhile, but ends soon after a
 * crash.
 */
const LEASE_MS = ATTEMPT_MS + 5000;
const LAPSE_BATCH = 100;
/** How many requests one receiver may have at a time, so that a receiver that hangs delays only its own. */
const PER_TARGET = 4;
/** A stop does not wait longer for receivers. What they did not answer is sent again after the next start. */
const STOP_MS = 3000;

interface WorkerObserver {
  delivered(attempt: Attempt): void;
  notified(channel: ChannelKind, error: string | null): void;
  failed(error: unknown): void;
}

export class Worker {
  readonly #deps: Deps;
  readonly #rules: TargetRules;
  readonly #notify: NotifySettings;
  readonly #observer: WorkerObserver;
  readonly #sending = new Map<string, number>();
  readonly #underWay = new Set<Promise<void>>();
  #timer: Timer | null = null;
  #ticking: Promise<void> | null = null;
  #again = false;

  constructor(deps: Deps, rules: TargetRules, notify: NotifySettings, observer: WorkerObserver) {
    this.#deps = deps;
    this.#rules = rules;
    this.#notify = notify;
    this.#observer = observer;
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
    while ((await lapse(this.#deps, LAPSE_BATCH)) === LAPSE_BATCH);
    await this.#startNotifications();
    await this.#startDeliveries();
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
        this.#observer.failed(error);
      }
    }
    this.#ticking = null;
  }

  async #startNotifications(): Promise<void> {
    const { db, now } = this.#deps;
    for (const target of await notificationTargetsDue(db, now())) {
      const lease = (tx: Transaction, room: number) =>
        leaseNotifications(tx, target, now(), now() + LEASE_MS, room);
      await this.#start(`${target.keyId} ${target.channel}`, lease, async leased => {
        const error = await notify(this.#deps, this.#notify, leased);
        this.#observer.notified(leased.channel, error);
      });
    }
  }

  async #startDeliveries(): Promise<void> {
    const { db, now } = this.#deps;
    for (const webhookId of await webhooksDue(db, now())) {
      const lease = (tx: Transaction, room: number) =>
        leaseDeliveries(tx, webhookId, now(), now() + LEASE_MS, room);
      await this.#start(webhookId, lease, async leased => {
        this.#observer.delivered(await deliver(this.#deps, this.#rules, webhookId, leased));
      });
    }
  }

  /** Leases as many items as the target's limit allows, and starts them. */
  async #start<Leased>(
    target: string,
    lease: (tx: Transaction, room: number) => Promise<Leased[]>,
    work: (leased: Leased) => Promise<void>,
  ): Promise<void> {
    const room = PER_TARGET - (this.#sending.get(target) ?? 0);
    if (room <= 0) return;
    for (const leased of await this.#deps.db.transaction({}, tx => lease(tx, room))) {
      this.#count(target, 1);
      this.#track(
        () => work(leased),
        () => this.#count(target, -1),
      );
    }
  }

  /** Runs one attempt to its end, and then starts the next one that is due. */
  #track(work: () => Promise<void>, after: () => void): void {
    const done = work()
      .catch(error => this.#observer.failed(error))
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
