// Counts about the calls of tasks that wait in memory, without their contents.

import type { MetricFamily } from '../core/wire/metric.ts';
import type { HeldCallsFigures } from '../guard/tasks/held-calls.ts';
import { counter, gauge } from './family.ts';

export function heldCallsFamilies({ held, bytes, evicted }: HeldCallsFigures): MetricFamily[] {
  return [
    gauge('toolgate_task_calls_held', 'Calls of tasks that wait for approval in memory.', held),
    gauge('toolgate_task_calls_bytes', 'Memory that these calls take.', bytes),
    counter(
      'toolgate_task_calls_evicted',
      'Calls of tasks that were let go before they were answered, because there was no room.',
      evicted,
    ),
  ];
}
