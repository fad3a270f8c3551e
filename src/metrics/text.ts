// Writes metrics as text: in the format of Prometheus, or as OpenMetrics 1.0, which also has exemplars and units.

import type { Distribution, Exemplar, Labels, MetricFamily } from '../core/wire/metric.ts';

export type MetricsFormat = 'prometheus' | 'openmetrics';

export const METRICS_TYPES: Record<MetricsFormat, string> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

export function metricsText(families: readonly MetricFamily[], format: MetricsFormat): string {
  const lines = families.flatMap(family => familyLines(family, format));
  if (format === 'openmetrics') lines.push('# EOF');
  return `${lines.join('\n')}\n`;
}

function familyLines(family: MetricFamily, format: MetricsFormat): string[] {
  const { help, type, unit } = family;
  const total = type === 'counter' ? `${family.name}_total` : family.name;
  const name = format === 'openmetrics' ? family.name : total;
  const head = [`# HELP ${name} ${escaped(help, format)}`, `# TYPE ${name} ${type}`];
  if (format === 'openmetrics' && unit !== '') head.push(`# UNIT ${name} ${unit}`);
  if (family.type === 'histogram')
    return [...head, ...family.samples.flatMap(each => distributionLines(name, each, format))];
  return [...head, ...family.samples.map(({ labels, value }) => `${total}${labelText(labels)} ${value}`)];
}

function distributionLines(name: string, sample: Distribution, format: MetricsFormat): string[] {
  const { labels, bounds, counts, sum, exemplars } = sample;
  let seen = 0;
  const buckets = counts.map((count, index) => {
    seen += count;
    const line = `${name}_bucket${labelText({ ...labels, le: boundText(bounds[index]) })} ${seen}`;
    const exemplar = exemplars[index] ?? null;
    return exemplar === null || format !== 'openmetrics' ? line : `${line} # ${exemplarText(exemplar)}`;
  });
  return [...buckets, `${name}_sum${labelText(labels)} ${sum}`, `${name}_count${labelText(labels)} ${seen}`];
}

/** OpenMetrics wants a fraction even of a whole number. Both formats have it, so that they name the same series. */
function boundText(bound: number | undefined): string {
  if (bound === undefined) return '+Inf';
  return Number.isInteger(bound) ? bound.toFixed(1) : String(bound);
}

function exemplarText({ traceId, value, at }: Exemplar): string {
  return `${labelText({ trace_id: traceId })} ${value} ${at / 1000}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value, 'openmetrics')}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** In a help text, the older format escapes no quotes. */
function escaped(text: string, format: MetricsFormat): string {
  const common = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return format === 'openmetrics' ? common.replaceAll('"', '\\"') : common;
}

/** The format that a request prefers; without a word of it, the older one, which every reader understands. */
export function preferredFormat(accept: string | null): MetricsFormat {
  let best: { format: MetricsFormat; quality: number } = { format: 'prometheus', quality: 0 };
  for (const range of (accept ?? '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map(part => part.trim());
    const format = formatOf(type, parameters);
    const quality = Number(parameters.find(each => each.startsWith('q='))?.slice(2) ?? 1);
    if (format !== null && quality > best.quality) best = { format, quality };
  }
  return best.format;
}

function formatOf(type: string, parameters: readonly string[]): MetricsFormat | null {
  if (type !== 'application/openmetrics-text')
    return /^(text|\*)\/(plain|\*)$/.test(type) ? 'prometheus' : null;
  const version = parameters.find(each => each.startsWith('version='))?.slice('version='.length);
  return version === undefined || version === '1.0.0' ? 'openmetrics' : null;
}
