// What is known about the shipping of the audit log: a series for each target that the server file names.

import type { MetricFamily } from '../core/wire/metric.ts';
import { add, by, byOutcome, counter, gauge, outcomeOf, secondsSince } from './family.ts';

interface Progress {
  /** When the oldest entry that the target has not confirmed was made; null if it has confirmed all. */
  since: number | null;
  entries: number;
  attempts: Map<string, number>;
}

export class ShippingMetrics {
  readonly #targets = new Map<string, Progress>();

  constructor(targets: readonly string[]) {
    for (const name of targets) this.#targets.set(name, { since: null, entries: 0, attempts: byOutcome() });
  }

  lag(target: string, since: number | null): void {
    const progress = this.#targets.get(target);
    if (progress !== undefined) progress.since = since;
  }

  sent(target: string, ok: boolean, entries: number): void {
    const progress = this.#targets.get(target);
    if (progress === undefined) return;
    progress.entries += entries;
    add(progress.attempts, outcomeOf(ok));
  }

  families(): MetricFamily[] {
    const all = [...this.#targets];
    return [
      gauge(
        'toolgate_shipping_lag_seconds',
        'Age of the oldest sealed audit entry that a target has not confirmed, by target.',
        by(
          'target',
          all.map(([name, { since }]) => [name, secondsSince(since)] as const),
        ),
      ),
      counter(
        'toolgate_shipping_entries',
        'Audit entries that this replica sent and a target confirmed, by target; repeats count again.',
        by(
          'target',
          all.map(([name, { entries }]) => [name, entries] as const),
        ),
      ),
      counter(
        'toolgate_shipping_attempts',
        'Attempts to send a batch of audit entries, by target and outcome.',
        all.flatMap(([target, { attempts }]) =>
          Array.from(attempts, ([outcome, value]) => ({ labels: { target, outcome }, value })),
        ),
      ),
    ];
  }
}
