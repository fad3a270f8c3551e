// The background loop that seals the audit log and signs checkpoints. Every replica runs one, but only one of them
// works at a time; the others watch its progress. It works in small batches and rests much longer than each batch took.
// Failures are reported and tried again, and no check waits for the loop.

import {
  type CheckpointRecord,
  markSent,
  newestCheckpoint,
  unsentCheckpoint,
} from '../../store/log/checkpoints.ts';
import type { Sealing } from '../../store/log/seals.ts';
import type { Deps } from '../deps.ts';
import type { Lag, SealedLog } from './sealed-log.ts';

const POLL_MS = 1000;
/** After this many batches the loop looks whether a checkpoint is due, so that a long backlog does not delay it. */
const RUN = 50;
/**
 * The loop rests this many times as long as each piece of a batch took, so that it takes at most a tenth of a core from
 * checks, and about half a millisecond at once. This is enough to seal 8,000 entries per second.
 */
const REST = 9;
/**
 * A machine that was suspended for an hour during a batch must not rest for nine hours, and a stop waits for the rest.
 */
const LONGEST_REST_MS = 1000;
/** After n failures in a row a checkpoint is sent again in 2^n seconds, but at least every five minutes. */
const LONGEST_WAIT_MS = 300_000;
/**
 * A stop does not wait longer for the target. A checkpoint that it did not answer is sent again after the next start.
 */
const STOP_MS = 3000;

export interface SealerObserver {
  lag(lag: Lag): void;
  checkpointed(checkpoint: CheckpointRecord): void;
  /** `error` is null if the target accepted the checkpoint. */
  sent(checkpoint: CheckpointRecord, error: unknown): void;
  failed(error: unknown): void;
}

export interface SealerOptions {
  checkpointInterval: number;
  /** Stores a signed checkpoint in a second place, outside the store. */
  keep: (note: string) => Promise<void>;
  /** Sends a checkpoint to a place outside the operator's control; null if none is configured. */
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
  /** Whether the last tick ended with work left. */
  #more = false;
  #restedAt = 0;
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

  /** Seals the entries that are due, and signs a checkpoint if it is time. False: another replica has the lease. */
  async tick(): Promise<boolean> {
    this.#more = false;
    this.#observer.lag(await this.#log.lag());
    const found = await this.#log.ours();
    if (found === null) return false;
    await this.#log.setBack(found);
    await this.#repeat(state => this.#log.sealNew(state, this.#rest));
    await this.#repeat(state => this.#log.sealLate(state, this.#rest));
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
    this.#restedAt = performance.now();
    for (let batch = 0; batch < RUN; batch++) {
      const state = await this.#log.ours();
      if (this.#stopping || state === null || !(await work(state))) return;
      this.#observer.lag(await this.#log.lag());
      await this.#rest();
    }
    this.#more = true;
  }

  readonly #rest = async (): Promise<void> => {
    await Bun.sleep(Math.min(REST * (performance.now() - this.#restedAt), LONGEST_REST_MS));
    this.#restedAt = performance.now();
  };

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

  /**
   * Sends one checkpoint at a time. The loop does not wait for it, because a target that hangs must not delay sealing.
   */
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
    // The sending is recorded after the answer: if the process crashes in between, the checkpoint is sent again.
    await markSent(db, checkpoint.number, now());
    this.#observer.sent(checkpoint, null);
  }
}
