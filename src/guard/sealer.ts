// The background loop that seals the audit log and signs checkpoints. Every replica runs one, and one at a time
// works; the others watch how far it is. It works in small batches and rests as long as each took; whatever
// fails is told and tried again, and no check ever waits for it.

import { type CheckpointRecord, newestCheckpoint } from '../store/checkpoints.ts';
import type { Sealing } from '../store/seals.ts';
import type { Guard } from './guard.ts';
import type { Lag, SealedLog } from './sealed-log.ts';

const POLL_MS = 1000;
/** Batches between two looks at the clock: a checkpoint is not put off by a long backlog. */
const RUN = 50;

export interface SealerObserver {
  lag(lag: Lag): void;
  checkpointed(checkpoint: CheckpointRecord): void;
  failed(error: unknown): void;
}

export interface SealerOptions {
  checkpointInterval: number;
  /** Puts a signed checkpoint where it is kept besides the store. */
  keep: (note: string) => Promise<void>;
}

export class Sealer {
  readonly #guard: Guard;
  readonly #log: SealedLog;
  readonly #options: SealerOptions;
  readonly #observer: SealerObserver;
  #timer: Timer | null = null;
  #ticking: Promise<void> | null = null;

  constructor(guard: Guard, log: SealedLog, options: SealerOptions, observer: SealerObserver) {
    this.#guard = guard;
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
    await this.#ticking;
  }

  /** Seals what is due and signs it when it is time; false when another replica is at it. */
  async tick(): Promise<boolean> {
    this.#observer.lag(await this.#log.lag());
    if ((await this.#log.ours()) === null) return false;
    await this.#repeat(state => this.#log.sealNew(state));
    await this.#repeat(state => this.#log.sealLate(state));
    const state = await this.#log.ours();
    if (state === null) return false;
    await this.#log.sealLost(state);
    await this.#signWhenDue();
    return true;
  }

  #poke(): void {
    this.#ticking ??= this.tick()
      .then(
        () => {},
        error => this.#observer.failed(error),
      )
      .finally(() => {
        this.#ticking = null;
      });
  }

  async #repeat(work: (state: Sealing) => Promise<boolean>): Promise<void> {
    for (let batch = 0; batch < RUN; batch++) {
      const started = performance.now();
      const state = await this.#log.ours();
      if (state === null || !(await work(state))) return;
      this.#observer.lag(await this.#log.lag());
      await Bun.sleep(performance.now() - started);
    }
  }

  async #signWhenDue(): Promise<void> {
    const last = await newestCheckpoint(this.#guard.db);
    // A clock that was set back must not keep the log from being signed.
    const since = Math.abs(this.#guard.now() - (last?.at ?? 0));
    if (since < this.#options.checkpointInterval) return;
    const state = await this.#log.ours();
    const signed = state === null ? null : await this.#log.checkpoint(state);
    if (signed === null) return;
    this.#observer.checkpointed(signed);
    await this.#options.keep(signed.note);
  }
}
