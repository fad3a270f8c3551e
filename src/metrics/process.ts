// What is known about this process itself, under the names that Prometheus uses for every program, and about its files.

import type { MetricFamily } from '../core/wire/metric.ts';
import { counter, gauge } from './family.ts';

const STARTED_AT = Date.now() - process.uptime() * 1000;

export function processFamilies(version: string, moveErrors: number): MetricFamily[] {
  const { user, system } = process.cpuUsage();
  return [
    gauge('toolgate_build_info', 'Always 1; the label is the version of the program.', [
      { labels: { version }, value: 1 },
    ]),
    counter(
      'process_cpu_seconds',
      'CPU time that the process has used, its threads included.',
      (user + system) / 1e6,
    ),
    gauge(
      'process_resident_memory_bytes',
      'Memory of the process that is in RAM.',
      process.memoryUsage.rss(),
    ),
    gauge(
      'process_start_time_seconds',
      'When the process was started, in seconds since 1970.',
      STARTED_AT / 1000,
    ),
    counter(
      'toolgate_store_move_errors',
      'Times that the write-ahead log of the embedded store could not be moved into its file; it is tried again.',
      moveErrors,
    ),
  ];
}
