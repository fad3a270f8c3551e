// Counts about the details of held calls, without their contents.

import type { MetricFamily } from '../core/wire/metric.ts';
import type { HeldFigures } from '../guard/exchange/holding.ts';
import { by, counter, gauge } from './family.ts';

export function detailsFamilies({ held, bytes, evicted, answered, found }: HeldFigures): MetricFamily[] {
  return [
    gauge('toolgate_details_held', 'Held calls whose details are in memory.', held),
    gauge('toolgate_details_bytes', 'Memory that these details take.', bytes),
    counter(
      'toolgate_details_evicted',
      'Details that were let go before their approval ended, because there was no room.',
      evicted,
    ),
    counter(
      'toolgate_details_lookups',
      'Times that details were needed, by where they were found.',
      by('found', Object.entries(found)),
    ),
    counter(
      'toolgate_details_answers',
      'Questions of other replicas for details that this one answered.',
      answered,
    ),
  ];
}
