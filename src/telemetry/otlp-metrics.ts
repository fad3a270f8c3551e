// Metrics as OTLP has them. They keep the names that /metrics gives them, less the ending of counters: a Prometheus that
// gets them from a collector puts it on again, so that the same dashboards and alerts fit.

import {
  KEY_VALUE,
  keyValues,
  nanoseconds,
  type Resource,
  request,
  requestMessage,
} from '../core/otlp/otlp.ts';
import type { Message } from '../core/otlp/protobuf.ts';
import type { Distribution, Exemplar, MetricFamily, Sample } from '../core/wire/metric.ts';

const EXEMPLAR: Message = { timeUnixNano: [2, 'fixed64'], asDouble: [3, 'double'], traceId: [5, 'hex'] };

const NUMBER_POINT: Message = {
  startTimeUnixNano: [2, 'fixed64'],
  timeUnixNano: [3, 'fixed64'],
  asDouble: [4, 'double'],
  attributes: [7, KEY_VALUE],
};

const HISTOGRAM_POINT: Message = {
  startTimeUnixNano: [2, 'fixed64'],
  timeUnixNano: [3, 'fixed64'],
  count: [4, 'fixed64'],
  sum: [5, 'double'],
  bucketCounts: [6, 'packedFixed64'],
  explicitBounds: [7, 'packedDouble'],
  exemplars: [8, EXEMPLAR],
  attributes: [9, KEY_VALUE],
};

const METRIC: Message = {
  name: [1, 'string'],
  description: [2, 'string'],
  unit: [3, 'string'],
  gauge: [5, { dataPoints: [1, NUMBER_POINT] }],
  sum: [
    7,
    { dataPoints: [1, NUMBER_POINT], aggregationTemporality: [2, 'uint32'], isMonotonic: [3, 'bool'] },
  ],
  histogram: [9, { dataPoints: [1, HISTOGRAM_POINT], aggregationTemporality: [2, 'uint32'] }],
};

export const METRICS: Message = requestMessage('Metrics', 'metrics', METRIC);

/** Each value counts from the start of the process, not from the last time that it was sent. */
const CUMULATIVE = 2;

/** As OpenTelemetry writes them. Without one, a Prometheus that gets the metric does not change its name. */
const UNITS: Record<MetricFamily['unit'], string> = { '': '', seconds: 's', bytes: 'By' };

/** When the process began to count, and when the values were read; milliseconds since 1970. */
export interface Stretch {
  from: number;
  to: number;
}

export interface MetricsReading extends Stretch {
  families: readonly MetricFamily[];
}

export function metricsRequest(resource: Resource, readings: readonly MetricsReading[]): object {
  const metrics = readings.flatMap(({ families, ...stretch }) =>
    families.filter(({ samples }) => samples.length > 0).map(family => otlpMetric(family, stretch)),
  );
  return request('Metrics', 'metrics', resource, metrics);
}

function otlpMetric(family: MetricFamily, stretch: Stretch): object {
  const { name, help: description } = family;
  return { name, description, unit: UNITS[family.unit], ...dataOf(family, stretch) };
}

function dataOf(family: MetricFamily, stretch: Stretch): object {
  const aggregationTemporality = CUMULATIVE;
  switch (family.type) {
    case 'gauge':
      return { gauge: { dataPoints: family.samples.map(sample => numberPoint(sample, stretch)) } };
    case 'counter': {
      const dataPoints = family.samples.map(sample => numberPoint(sample, stretch));
      return { sum: { dataPoints, aggregationTemporality, isMonotonic: true } };
    }
    case 'histogram': {
      const dataPoints = family.samples.map(sample => histogramPoint(sample, stretch));
      return { histogram: { dataPoints, aggregationTemporality } };
    }
  }
}

function numberPoint({ labels, value }: Sample, stretch: Stretch): object {
  return { ...times(stretch), asDouble: value, attributes: keyValues(labels) };
}

function histogramPoint({ labels, bounds, counts, sum, exemplars }: Distribution, stretch: Stretch): object {
  return {
    ...times(stretch),
    count: String(counts.reduce((all, count) => all + count, 0)),
    sum,
    bucketCounts: counts.map(String),
    explicitBounds: bounds,
    exemplars: exemplars.filter(each => each !== null).map(otlpExemplar),
    attributes: keyValues(labels),
  };
}

function otlpExemplar({ traceId, value, at }: Exemplar): object {
  return { timeUnixNano: nanoseconds(at), asDouble: value, traceId };
}

function times({ from, to }: Stretch): object {
  return { startTimeUnixNano: nanoseconds(from), timeUnixNano: nanoseconds(to) };
}
