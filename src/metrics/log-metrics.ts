// What is known about the audit log after the commit: statistics, retention, sealing and checkpoints.

import type { MetricFamily } from '../core/wire/metric.ts';
import { add, by, byOutcome, counter, gauge, outcomeOf, secondsSince } from './family.ts';

export class LogMetrics {
  readonly #removed = new Map<string, number>();
  readonly #checkpointSends = byOutcome();
  #rolledUp: number | null = null;
  #sealed = 0;
  #behindSince: number | null = null;
  #checkpoints = 0;
  #sealErrors = 0;

  removed(counts: Record<string, number>): void {
    for (const [table, count] of Object.entries(counts)) add(this.#removed, table, count);
  }

  /** The statistics contain everything before this time. */
  rolledUp(until: number | null): void {
    this.#rolledUp = until;
  }

  /** The number of sealed entries, and when the oldest unsealed one was made. */
  sealed(size: number, behindSince: number | null): void {
    this.#sealed = size;
    this.#behindSince = behindSince;
  }

  checkpointed(): void {
    this.#checkpoints++;
  }

  checkpointSent(ok: boolean): void {
    add(this.#checkpointSends, outcomeOf(ok));
  }

  /** After a failure, sealing counts as behind until it is known to go on. */
  sealingFailed(): void {
    this.#sealErrors++;
    this.#behindSince ??= Date.now();
  }

  families(): MetricFamily[] {
    return [
      gauge(
        'toolgate_rollup_lag_seconds',
        'Age of the newest audit entries in the statistics; up to two minutes are normal.',
        this.#rolledUp === null ? [] : secondsSince(this.#rolledUp),
      ),
      counter(
        'toolgate_retention_removed',
        'Rows that this replica removed because their retention was over, by table.',
        by('table', this.#removed),
      ),
      gauge('toolgate_sealed_entries', 'Audit entries in the sealed log.', this.#sealed),
      gauge(
        'toolgate_seal_lag_seconds',
        'Age of the oldest audit entry that is not sealed; a few seconds are normal.',
        secondsSince(this.#behindSince),
      ),
      counter('toolgate_seal_errors', 'Failures of sealing; each is tried again.', this.#sealErrors),
      counter('toolgate_checkpoints', 'Checkpoints signed by this replica.', this.#checkpoints),
      counter(
        'toolgate_checkpoint_sends',
        'Attempts to send a checkpoint to the address outside, by outcome.',
        by('outcome', this.#checkpointSends),
      ),
    ];
  }
}
