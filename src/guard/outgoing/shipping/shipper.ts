// The background loop that sends the sealed audit log to one target, in order and at least once. The cursor in the store
// moves after the target has confirmed a batch. Every replica runs one loop for each target; a lease lets one of them
// send at a time. Targets do not wait for each other, and nothing else waits for them.

import { GuardError } from '../../../core/errors.ts';
import { shownEntry } from '../../../core/log/entry.ts';
import { endLease, takeLease } from '../../../store/leases.ts';
import { listSealed } from '../../../store/log/seals.ts';
import {
  addShipping,
  findShipping,
  moveShipping,
  noteShippingError,
  type ShippingState,
  skipShipping,
} from '../../../store/log/shipping.ts';
import type { Deps } from '../../deps.ts';
import { newId } from '../../ids.ts';
import { SendError } from '../send.ts';
import { type ShippingLag, shippingLag } from './lag.ts';
import { BatchRefused, type Shipped, type Target } from './target.ts';

const POLL_MS = 1000;
/** How many places are read at a time. On SQLite this takes 2 ms, during which checks wait. */
const PAGE = 250;
/** The pause after a page is this many times what reading it took, so that a backlog leaves room for checks. */
const REST = 3;
const LONGEST_REST_MS = 500;
/** A batch is not made larger than this, whatever the target would take. */
const MOST_CHARS = 16 * 1024 * 1024;
/** Places without an entry are recorded as skipped after so many: before a target was named, there may be millions. */
const MOST_EMPTY = 10_000;
/** If a replica dies, another one takes over after this long. The lease is renewed while an answer is awaited. */
const LEASE_MS = 6000;
const RENEW_MS = 2000;
/** After n failures in a row the next attempt follows in 2^(n-1) seconds, but at least every minute. */
const LONGEST_WAIT_MS = 60_000;
/** After so many batches in a row that the target took, a batch may again be twice as large. */
const GROW_AFTER = 10;
/** A stop does not wait longer for the target. What it did not confirm is sent again after the next start. */
const STOP_MS = 2000;

export interface ShipperObserver {
  lag(lag: ShippingLag): void;
  /** After an attempt. `failures` counts those in a row, including this one, and before a success that ends them. */
  sent(attempt: { entries: number; failures: number; error: string | null }): void;
  /** Places whose entries are missing although no checkpoint has given them up. They are skipped. */
  missing(places: readonly number[]): void;
  failed(error: unknown): void;
}

export interface ShipperOptions {
  name: string;
  target: Target;
  /** The number of places whose entries retention may have removed. */
  givenUp: () => Promise<number>;
}

/** What follows the cursor: entries, the places between them that have none, and the place where the reading ended. */
interface Reading {
  entries: Shipped[];
  empty: number[];
  end: number;
  /** Whether a bound ended the reading, and not the log. */
  full: boolean;
}

export class Shipper {
  readonly #deps: Deps;
  readonly #name: string;
  readonly #target: Target;
  readonly #givenUp: () => Promise<number>;
  readonly #observer: ShipperObserver;
  readonly #holder = newId();
  #leasedUntil = 0;
  #timer: Timer | null = null;
  #ticking: Promise<void> | null = null;
  #stopping = false;
  /** True once a stop has given up waiting: the store may be closed. */
  #stopped = false;
  /** How many entries a batch may have; less than the target's own limit after it refused a batch. */
  #most: number;
  /** Batches that it took since the limit last changed. */
  #taken = 0;
  #failures = 0;
  /** No attempt is made before this moment of `performance.now()`. */
  #after = 0;
  /** The target wants to wait for more entries until this time. A clock that is set back ends the wait. */
  #waiting = { since: 0, until: 0 };

  constructor(deps: Deps, { name, target, givenUp }: ShipperOptions, observer: ShipperObserver) {
    this.#deps = deps;
    this.#name = name;
    this.#target = target;
    this.#givenUp = givenUp;
    this.#observer = observer;
    this.#most = target.most;
  }

  start(): void {
    this.#timer = setInterval(() => this.#poke(), POLL_MS);
    this.#poke();
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#stopping = true;
    await Promise.race([this.#ticking, Bun.sleep(STOP_MS)]);
    this.#stopped = true;
    if (this.#leasedUntil > 0) await endLease(this.#deps.db, this.#lease, this.#holder).catch(() => {});
  }

  /** Sends one batch, if there is something to send. True: there may be more. */
  async tick(): Promise<boolean> {
    const { db, now } = this.#deps;
    const known = await findShipping(db, this.#name);
    if (known === null) await addShipping(db, this.#name);
    const lag = await shippingLag(this.#deps, known?.shipped ?? 0);
    this.#observer.lag(lag);
    if (known !== null && known.shipped > lag.size) return this.#setBack(known, lag.size);
    if (lag.entries === 0) this.#most = this.#target.most;
    if (lag.entries === 0 || performance.now() < this.#after) return false;
    const { since, until } = this.#waiting;
    if (now() >= since && now() < until && lag.entries < this.#target.most) return false;
    if (!(await this.#leased())) return false;
    // The cursor is read again: the replica that had the lease may have moved it meanwhile.
    const state = await findShipping(db, this.#name);
    return state !== null && this.#ship(state);
  }

  /**
   * The log is shorter than what was shipped of it: it comes from an older copy than the cursor. Its next entries get
   * places that count as shipped, and would never be sent.
   */
  async #setBack(state: ShippingState, size: number): Promise<boolean> {
    const moved = await skipShipping(this.#deps.db, state, size);
    const what = `${state.shipped} places of the sealed log were shipped, but it has only ${size}: it was set back.`;
    if (moved) this.#observer.failed(new Error(`${what} What follows is shipped.`));
    return moved;
  }

  get #lease(): string {
    return `ship ${this.#name}`;
  }

  #poke(): void {
    this.#ticking ??= this.#work().finally(() => {
      this.#ticking = null;
    });
  }

  async #work(): Promise<void> {
    try {
      while (!this.#stopping && (await this.tick()));
    } catch (error) {
      if (this.#stopped) return;
      this.#backOff();
      this.#observer.failed(error);
    }
  }

  async #ship(state: ShippingState): Promise<boolean> {
    const { db, now } = this.#deps;
    const { entries, empty, end, full } = await this.#read(state.shipped);
    if (entries.length === 0) {
      if (end > state.shipped && (await skipShipping(db, state, end))) await this.#report(empty);
      return end > state.shipped;
    }
    const portion = this.#target.portion?.(entries, now()) ?? { count: entries.length };
    if ('waitUntil' in portion && !full) {
      this.#waiting = { since: now(), until: portion.waitUntil };
      return false;
    }
    const batch = 'count' in portion ? entries.slice(0, portion.count) : entries;
    const error = await this.#send(batch);
    if (this.#stopped) return false;
    if (error !== null) return this.#notSent(batch, error);
    const to = batch.length === entries.length ? end : (batch.at(-1) as Shipped).seq + 1;
    const moved = await moveShipping(db, state, to, now());
    this.#observer.sent({ entries: batch.length, failures: this.#failures, error: null });
    this.#failures = 0;
    this.#grow();
    if (moved) await this.#report(empty.filter(seq => seq < to));
    return true;
  }

  /** Null if the target has confirmed the batch. */
  async #send(batch: readonly Shipped[]): Promise<Error | null> {
    const renew = () => (this.#stopped ? clearInterval(renewing) : this.#leased().catch(() => {}));
    const renewing = setInterval(renew, RENEW_MS);
    try {
      await this.#target.send(batch);
      return null;
    } catch (error) {
      if (error instanceof SendError || error instanceof GuardError) return error;
      this.#observer.failed(error);
      return new SendError('the batch could not be sent: the log of the service says why');
    } finally {
      clearInterval(renewing);
    }
  }

  async #notSent(batch: readonly Shipped[], error: Error): Promise<boolean> {
    const { db, now } = this.#deps;
    const [first] = batch as [Shipped];
    const refused = error instanceof BatchRefused;
    const halved = refused && batch.length > 1;
    const alone =
      refused && !halved ? ` to a batch with only the entry ${first.entry.id} at place ${first.seq}` : '';
    const message = `${error.message}${alone}`;
    if (halved) this.#most = Math.ceil(batch.length / 2);
    else this.#backOff();
    this.#taken = 0;
    this.#observer.sent({ entries: 0, failures: this.#failures, error: message });
    await noteShippingError(db, this.#name, message, now());
    return halved;
  }

  /** One entry that was refused in a large batch must not keep the batches small through a long backlog. */
  #grow(): void {
    if (this.#most === this.#target.most || ++this.#taken < GROW_AFTER) return;
    this.#most = Math.min(2 * this.#most, this.#target.most);
    this.#taken = 0;
  }

  #backOff(): void {
    const wait = Math.min(1000 * 2 ** this.#failures++, LONGEST_WAIT_MS);
    this.#after = performance.now() + wait;
  }

  async #read(from: number): Promise<Reading> {
    const read: Reading = { entries: [], empty: [], end: from, full: false };
    let chars = 0;
    for (;;) {
      const limit = Math.min(PAGE, this.#most - read.entries.length);
      const begun = performance.now();
      const rows = await listSealed(this.#deps.db, read.end, limit);
      for (const { seq, entry } of rows) {
        // Somebody has removed places from the table of the sealed log.
        while (read.end < seq && read.empty.length < MOST_EMPTY) read.empty.push(read.end++);
        read.end = seq + 1;
        if (entry === null) read.empty.push(seq);
        else {
          read.entries.push({ seq, entry: shownEntry(entry) });
          chars += JSON.stringify(entry).length;
        }
      }
      await Bun.sleep(Math.min(REST * (performance.now() - begun), LONGEST_REST_MS));
      read.full = read.entries.length >= this.#most || chars > MOST_CHARS;
      if (read.full || rows.length < limit || read.empty.length >= MOST_EMPTY) return read;
      if (this.#isWhole(read.entries)) return read;
    }
  }

  /** Whether the target takes only a part of the entries. More would be read in vain, and again for the next batch. */
  #isWhole(entries: readonly Shipped[]): boolean {
    const portion = this.#target.portion?.(entries, this.#deps.now());
    return portion !== undefined && 'count' in portion && portion.count < entries.length;
  }

  /** Retention removes entries that a checkpoint has given up. Others must not be missing. */
  async #report(empty: readonly number[]): Promise<void> {
    if (empty.length === 0) return;
    const givenUp = await this.#givenUp();
    const missing = empty.filter(seq => seq >= givenUp);
    if (missing.length > 0) this.#observer.missing(missing);
  }

  async #leased(): Promise<boolean> {
    const { db, now } = this.#deps;
    const left = this.#leasedUntil - now();
    if (left > LEASE_MS - RENEW_MS && left <= LEASE_MS) return true;
    const until = now() + LEASE_MS;
    const taken = await takeLease(db, this.#lease, this.#holder, now(), until);
    this.#leasedUntil = taken ? until : 0;
    return taken;
  }
}
