// What is known of the rations of callers: how much memory they hold together.

import type { MetricFamily } from '../core/wire/metric.ts';
import { by, gauge } from './family.ts';

export function rationFamilies(held: { requests: number; answers: number }): MetricFamily[] {
  return [
    gauge(
      'toolgate_held_bytes',
      'Memory that large requests and answers of all callers hold, by what it is held for.',
      by('by', Object.entries(held)),
    ),
  ];
}
