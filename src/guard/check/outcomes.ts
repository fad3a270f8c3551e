// Records the outcomes of forwarded calls in batches, about 100 ms later. The audit entry is durable before a call is
// forwarded; its outcome is additional information and may be written later. A stop writes the remaining outcomes.

import { insertOutcomes, type OutcomeRecord } from '../../store/log/outcomes.ts';
import type { Deps } from '../deps.ts';

const FLUSH_MS = 100;

export class OutcomeLog {
  readonly #deps: Deps;
  readonly #failed: (error: unknown) => void;
  #waiting: OutcomeRecord[] = [];
  #timer: Timer | null = null;

  constructor(deps: Deps, failed: (error: unknown) => void) {
    this.#deps = deps;
    this.#failed = failed;
  }

  record(outcome: Omit<OutcomeRecord, 'at'>): void {
    this.#waiting.push({ ...outcome, at: this.#deps.now() });
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const outcomes = this.#waiting;
    this.#waiting = [];
    if (outcomes.length === 0) return;
    try {
      await this.#deps.db.transaction({}, async tx => insertOutcomes(tx, outcomes));
    } catch (error) {
      this.#failed(error);
    }
  }
}
