// The background loop that seals the audit log and signs checkpoints. Every replica runs one, and one at a time
// works; the others watch how far it is. It works in small batches and rests much longer than each took; whatever
// fails is told and tried again, and no check ever waits for it.

import {
  type CheckpointRecord,
  markSent,
  newestCheckpoint,
  unsentCheckpoint,
} from '../../store/checkpoints.ts';
import type { Sealing } from '../../store/seals.ts';
import type { Deps } from '../deps.ts';
import type { Lag, SealedLog } from './sealed-log.ts';

const POLL_MS = 1000;
/** Batches between two looks at the clock: a checkpoint is not put off by a long backlog. */
const RUN = 50;
/** Rests per work: a tenth of a core at the most is taken from checks, enough for 8,000 entries a second. */
const REST = 9;
/** Whoever was held up for an hour between two looks at the clock does not rest for nine; and a stop waits for it. */
const LONGEST_REST_MS = 1000;
/** After n failures in a row a checkpoint is sent again in 2^n seconds, and at last every five minutes. */
const LONGEST_WAIT_MS = 300_000;
/** A stop does not wait longer for the target; what it did not answer is sent again. */
const STOP_MS = 3000;

export interface SealerObserver {
  lag(lag: Lag): void;
  checkpointed(checkpoint: CheckpointRecord): void;
  /** With what went wrong, if something did. */
  sent(checkpoint: CheckpointRecord, error: unknown): void;
  failed(error: unknown): void;
}

export interface SealerOptions {
  checkpointInterval: number;
  /** Puts a signed checkpoint where it is kept besides the store. */
  keep: (note: string) => Promise<void>;
  /** Sends one out of the operator's reach; null: nobody wants it. */
  send: ((checkpoint: CheckpointRecord) => Promise<void>) | null;
}

export class Sealer {
  readonly #deps: Deps;
  readonly #log: SealedLog;
  readonly #options: SealerOptions;
  readonly #observer: SealerObserver;
  #timer: Timer | null = null;
  #ticking: Promise<void> | null = null;
  #stopping = false;
  /** The last tick ended before its work did. */
  #more = false;
  #sending: Promise<void> | null = null;
  #sendFailures = 0;
  #sendAfter = 0;

  constructor(deps: Deps, log: SealedLog, options: SealerOptions, observer: SealerObserver) {
    this.#deps = deps;
    this.#log = log;
    this.#options = options;
    this.#observer = observer;
  }

  start(): void {
    this.#timer = setInterval(() => this.#poke(), POLL_MS);
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#stopping = true;
    await this.#ticking;
    await Promise.race([this.#sending, Bun.sleep(STOP_MS)]);
  }

  /** Seals what is due and signs it when it is time; false when another replica is at it. */
  async tick(): Promise<boolean> {
    this.#more = false;
    this.#observer.lag(await this.#log.lag());
    const found = await this.#log.ours();
    if (found === null) return false;
    await this.#log.setBack(found);
    await this.#repeat(state => this.#log.sealNew(state));
    await this.#repeat(state => this.#log.sealLate(state));
    const state = await this.#log.ours();
    if (state === null) return false;
    await this.#log.sealLost(state);
    await this.#signWhenDue();
    this.#sendWhenDue();
    return true;
  }

  /** Waits until nothing is being sent. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  #poke(): void {
    this.#ticking ??= this.#work().finally(() => {
      this.#ticking = null;
    });
  }

  async #work(): Promise<void> {
    try {
      do await this.tick();
      while (this.#more && !this.#stopping);
    } catch (error) {
      this.#observer.failed(error);
    }
  }

  async #repeat(work: (state: Sealing) => Promise<boolean>): Promise<void> {
    for (let batch = 0; batch < RUN; batch++) {
      const started = performance.now();
      const state = await this.#log.ours();
      if (this.#stopping || state === null || !(await work(state))) return;
      this.#observer.lag(await this.#log.lag());
      await Bun.sleep(Math.min(REST * (performance.now() - started), LONGEST_REST_MS));
    }
    this.#more = true;
  }

  async #signWhenDue(): Promise<void> {
    const last = await newestCheckpoint(this.#deps.db);
    // A clock that was set back must not keep the log from being signed.
    const since = Math.abs(this.#deps.now() - (last?.at ?? 0));
    if (since < this.#options.checkpointInterval) return;
    const state = await this.#log.ours();
    const signed = state === null ? null : await this.#log.checkpoint(state);
    if (signed === null) return;
    this.#observer.checkpointed(signed);
    await this.#options.keep(signed.note);
  }

  /** One at a time and beside the sealing, which a target that hangs must not hold up. */
  #sendWhenDue(): void {
    const { send } = this.#options;
    if (send === null || this.#sending !== null || performance.now() < this.#sendAfter) return;
    this.#sending = this.#sendNewest(send)
      .catch(error => this.#observer.failed(error))
      .finally(() => {
        this.#sending = null;
      });
  }

  async #sendNewest(send: (checkpoint: CheckpointRecord) => Promise<void>): Promise<void> {
    const { db, now } = this.#deps;
    const checkpoint = await unsentCheckpoint(db);
    if (checkpoint === null) return;
    try {
      await send(checkpoint);
    } catch (error) {
      const wait = Math.min(1000 * 2 ** ++this.#sendFailures, LONGEST_WAIT_MS);
      this.#sendAfter = performance.now() + wait;
      this.#observer.sent(checkpoint, error);
      return;
    }
    this.#sendFailures = 0;
    // Recorded after the answer: a crash in between sends it again.
    await markSent(db, checkpoint.number, now());
    this.#observer.sent(checkpoint, null);
  }
}
