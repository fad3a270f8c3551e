// Counts about tasks, and about calls whose clients are promised to learn whether they ran, without anything of the calls.

import type { MetricFamily } from '../core/wire/metric.ts';
import type { RoomFigures } from '../guard/exchange/holding.ts';
import { counter, gauge } from './family.ts';

/** `executing`: how many calls this process forwards now of which that is recorded. */
export function taskFamilies(calls: RoomFigures, results: RoomFigures, executing: number): MetricFamily[] {
  return [
    gauge('toolgate_task_calls_held', 'Calls of tasks that wait for approval in memory.', calls.held),
    gauge('toolgate_task_calls_bytes', 'Memory that these calls take.', calls.bytes),
    counter(
      'toolgate_task_calls_evicted',
      'Calls of tasks that were let go before they were answered, because there was no room.',
      calls.evicted,
    ),
    gauge('toolgate_task_results_held', 'Results of tasks that wait to be fetched in memory.', results.held),
    gauge('toolgate_task_results_bytes', 'Memory that these results take.', results.bytes),
    counter(
      'toolgate_task_results_evicted',
      'Results of tasks that were let go before their time was over, because there was no room.',
      results.evicted,
    ),
    gauge(
      'toolgate_calls_executing',
      'Calls under way whose clients are promised to learn whether they ran.',
      executing,
    ),
  ];
}
