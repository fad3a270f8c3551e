// Counts what was meant for an OpenTelemetry collector and was dropped, because the collector is away or too slow.

import type { MetricFamily } from '../core/metric.ts';
import { add, by, counter } from './family.ts';

export class TelemetryDrops {
  readonly #dropped = new Map<string, number>();

  dropped(signal: 'traces' | 'metrics' | 'logs', count: number): void {
    add(this.#dropped, signal, count);
  }

  families(): MetricFamily[] {
    return [
      counter(
        'toolgate_telemetry_dropped',
        'Spans, metrics and log records that the OpenTelemetry collector did not get, by signal.',
        by('signal', this.#dropped),
      ),
    ];
  }
}
