// What telemetry could not send.

import type { MetricFamily } from '../core/wire/metric.ts';
import { by, counter } from './family.ts';

export function telemetryFamilies(dropped: ReadonlyMap<string, number>): MetricFamily[] {
  return [
    counter(
      'toolgate_telemetry_dropped',
      'Spans, log records and readings of metrics that were not sent to the OpenTelemetry collector, by signal.',
      by('signal', dropped),
    ),
  ];
}
