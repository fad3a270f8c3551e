// Short ways to write down a family of metrics.

import type { Distribution, Labels, MetricFamily, Sample } from '../core/wire/metric.ts';

/** A name ends with its base unit, if it has one. */
function unitOf(name: string): MetricFamily['unit'] {
  if (name.endsWith('_seconds')) return 'seconds';
  return name.endsWith('_bytes') ? 'bytes' : '';
}

function samplesOf(values: number | readonly Sample[]): readonly Sample[] {
  return typeof values === 'number' ? [{ labels: {}, value: values }] : values;
}

/** `name` lacks the ending `_total`, which only the text has. */
export function counter(name: string, help: string, values: number | readonly Sample[]): MetricFamily {
  return { name, type: 'counter', help, unit: unitOf(name), samples: samplesOf(values) };
}

export function gauge(name: string, help: string, values: number | readonly Sample[]): MetricFamily {
  return { name, type: 'gauge', help, unit: unitOf(name), samples: samplesOf(values) };
}

export function histogram(name: string, help: string, samples: readonly Distribution[]): MetricFamily {
  return { name, type: 'histogram', help, unit: unitOf(name), samples };
}

/** A count for each value of one label. */
export function by(
  label: string,
  counts: Iterable<readonly [value: string | number, count: number]>,
): Sample[] {
  return Array.from(counts, ([value, count]) => ({
    labels: { [label]: String(value) } as Labels,
    value: count,
  }));
}

export function add<Series>(counts: Map<Series, number>, series: Series, count = 1): void {
  counts.set(series, (counts.get(series) ?? 0) + count);
}

/** Both outcomes are there from the start, so that the first failure shows as an increase. */
export const byOutcome = (): Map<string, number> =>
  new Map([
    ['ok', 0],
    ['failed', 0],
  ]);

export const outcomeOf = (ok: boolean): 'ok' | 'failed' => (ok ? 'ok' : 'failed');

/** Zero if there is no such time. */
export function secondsSince(time: number | null, now = Date.now()): number {
  return time === null ? 0 : Math.max(0, (now - time) / 1000);
}
