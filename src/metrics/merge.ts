// Makes one list of metrics from those of several processes that share a port.

import type { Labels, MetricFamily } from '../core/wire/metric.ts';

/** Each sample gets a label with its worker. */
export function mergedFamilies(
  parts: readonly (readonly [worker: number, families: readonly MetricFamily[]])[],
): MetricFamily[] {
  const merged = new Map<string, MetricFamily>();
  for (const [worker, families] of parts)
    for (const family of families) {
      const ofWorker = labelled(family, { worker: String(worker) });
      const before = merged.get(family.name);
      merged.set(family.name, before === undefined ? ofWorker : joined(before, ofWorker));
    }
  return [...merged.values()];
}

function labelled(family: MetricFamily, label: Labels): MetricFamily {
  const samples = family.samples.map(each => ({ ...each, labels: { ...label, ...each.labels } }));
  return { ...family, samples } as MetricFamily;
}

function joined(one: MetricFamily, other: MetricFamily): MetricFamily {
  return { ...one, samples: [...one.samples, ...other.samples] } as MetricFamily;
}
