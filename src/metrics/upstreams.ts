// How the upstreams of this replica do, as numbers. A server that keys share counts once.

import type { MetricFamily } from '../core/wire/metric.ts';
import { by, gauge } from './family.ts';

export function upstreamFamilies(conditions: Record<string, number>): MetricFamily[] {
  return [
    gauge(
      'toolgate_upstreams',
      'Tool servers in use on this replica, by state.',
      by('state', Object.entries(conditions)),
    ),
  ];
}
