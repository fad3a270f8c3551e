// The metrics of this process. What is counted on the way is counted here or in the files beside; what others know
// already is asked for when somebody reads the metrics.

import type { MetricFamily } from '../core/wire/metric.ts';
import type { ChannelKind } from '../store/notifications.ts';
import { CheckMetrics } from './check-metrics.ts';
import { add, by, byOutcome, counter, outcomeOf } from './family.ts';
import { LogMetrics } from './log-metrics.ts';

/** Gives some families whenever the metrics are read. It must answer soon, and must not throw. */
export type MetricSource = () => MetricFamily[] | Promise<MetricFamily[]>;

export class Metrics {
  readonly checks: CheckMetrics;
  readonly log = new LogMetrics();
  readonly #sources: MetricSource[] = [];
  readonly #answers = new Map<number, number>();
  readonly #deliveries = byOutcome();
  readonly #notifications = new Map<string, { channel: ChannelKind; outcome: string; value: number }>();
  #stderrBytes = 0;

  constructor(queueDepth: () => number) {
    this.checks = new CheckMetrics(queueDepth);
  }

  /** Adds families that another part of the program knows. */
  include(source: MetricSource): void {
    this.#sources.push(source);
  }

  answered(status: number): void {
    add(this.#answers, status);
  }

  delivered(ok: boolean): void {
    add(this.#deliveries, outcomeOf(ok));
  }

  notified(channel: ChannelKind, ok: boolean): void {
    const outcome = outcomeOf(ok);
    const counted = this.#notifications.get(channel + outcome) ?? { channel, outcome, value: 0 };
    counted.value++;
    this.#notifications.set(channel + outcome, counted);
  }

  stderrDropped(bytes: number): void {
    this.#stderrBytes += bytes;
  }

  async families(): Promise<MetricFamily[]> {
    const included = await Promise.all(this.#sources.map(source => source()));
    return [...this.checks.families(), ...this.#ownFamilies(), ...this.log.families(), ...included.flat()];
  }

  #ownFamilies(): MetricFamily[] {
    const notifications = Array.from(this.#notifications.values(), ({ channel, outcome, value }) => ({
      labels: { channel, outcome },
      value,
    }));
    return [
      counter(
        'toolgate_http_requests',
        'HTTP requests answered, by status; 499: the client went away before its body was complete.',
        by('status', this.#answers),
      ),
      counter(
        'toolgate_delivery_attempts',
        'Attempts to deliver an event to a webhook, by outcome.',
        by('outcome', this.#deliveries),
      ),
      counter(
        'toolgate_notification_attempts',
        'Attempts to send an approval link, by channel and outcome.',
        notifications,
      ),
      counter(
        'toolgate_stdio_stderr_bytes',
        'Bytes that stdio servers wrote to standard error, and that were dropped.',
        this.#stderrBytes,
      ),
    ];
  }
}
