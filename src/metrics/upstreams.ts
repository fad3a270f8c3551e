// How the upstreams of this replica do, as numbers: Connected Tools are named by those who use them.

import type { MetricFamily } from '../core/wire/metric.ts';
import { by, gauge } from './family.ts';

export function upstreamFamilies(conditions: Record<string, number>): MetricFamily[] {
  return [
    gauge(
      'toolgate_upstreams',
      'Connected Tools in use on this replica, by state.',
      by('state', Object.entries(conditions)),
    ),
  ];
}
