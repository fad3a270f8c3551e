// The health of one Connected Tool: whether it is connected, what is wrong with it, and how long the pause before the
// next attempt to open it lasts. upstream.ts says what happens to it.

import { inSeconds } from './time-limit.ts';

const BACKOFF_MS = [0, 1000, 2000, 5000, 10_000, 30_000, 60_000];
/** A command that ends sooner after its start counts as a failure. */
const LASTED_MS = 10_000;

export interface UpstreamHealth {
  state: 'idle' | 'ready' | 'down';
  error: string | null;
  since: number;
}

export const UPSTREAM_CONDITIONS = ['connected', 'idle', 'failing', 'sign_in_needed'] as const;
export type UpstreamCondition = (typeof UPSTREAM_CONDITIONS)[number];

export class Health {
  readonly #isCommand: boolean;
  readonly #now: () => number;
  #health: UpstreamHealth;
  #failures = 0;
  #retryAt = 0;
  #awaitsSignIn = false;

  constructor(isCommand: boolean, now: () => number) {
    this.#isCommand = isCommand;
    this.#now = now;
    this.#health = { state: 'idle', error: null, since: now() };
  }

  /** What is wrong with a command also says how long the pause before its next start lasts. */
  get shown(): UpstreamHealth {
    const { state, error, since } = this.#health;
    const pauseMs = this.#retryAt - this.#now();
    if (error === null || pauseMs <= 0 || !this.#isCommand) return this.#health;
    return {
      state,
      error: `${error}; restarts again in ${inSeconds(Math.ceil(pauseMs / 1000) * 1000)}`,
      since,
    };
  }

  /** The condition, for the metrics of this replica. */
  get condition(): UpstreamCondition {
    if (this.#health.state === 'ready') return 'connected';
    if (this.#health.state === 'idle') return 'idle';
    return this.#awaitsSignIn ? 'sign_in_needed' : 'failing';
  }

  /** Whether the pause after the last failure goes on. */
  get isPausing(): boolean {
    return this.#now() < this.#retryAt;
  }

  /** Skips that pause. */
  retryNow(): void {
    this.#retryAt = 0;
  }

  opened(): void {
    // A command that ends soon after its start has failed, so its failures count until it has lasted.
    if (!this.#isCommand) this.#failures = 0;
    this.#mark('ready', null);
  }

  /** Somebody has to sign in first. That is no failure, so there is no pause: somebody may have signed in meanwhile. */
  needsSignIn(message: string): void {
    this.#awaitsSignIn = true;
    this.#mark('down', message);
  }

  /** There is nothing to try, so nothing has failed, and no pause begins. */
  cannotBegin(message: string): void {
    this.#awaitsSignIn = false;
    this.#mark('down', message);
  }

  failed(message: string): void {
    this.#awaitsSignIn = false;
    this.#pause(++this.#failures);
    this.#mark('down', message);
  }

  /** Its connection broke. */
  broke(reason: string): void {
    this.#awaitsSignIn = false;
    if (this.#isCommand) this.#pauseIfEndedSoon();
    this.#mark('down', reason);
  }

  /** We closed it; `wasOpen` if it was connected. */
  closed(wasOpen: boolean): void {
    if (wasOpen) this.#failures = 0;
    this.#mark('idle', null);
  }

  /** The first restart needs no pause: any command may end once. */
  #pauseIfEndedSoon(): void {
    if (this.#now() - this.#health.since >= LASTED_MS) this.#failures = 0;
    else this.#pause(this.#failures++);
  }

  #pause(failures: number): void {
    this.#retryAt = this.#now() + (BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)] as number);
  }

  #mark(state: UpstreamHealth['state'], error: string | null): void {
    this.#health = { state, error, since: this.#now() };
  }
}
