// What is sent is OTLP: the protocol's own definitions read it, and find in protocol buffers what stands in JSON.

import { heapStats } from 'bun:jsc';
import { describe, expect, test } from 'bun:test';
import { LOGS, logsRequest } from '../../src/core/otlp/logs.ts';
import type { Resource } from '../../src/core/otlp/otlp.ts';
import { encode } from '../../src/core/otlp/protobuf.ts';
import type { MetricFamily } from '../../src/core/wire/metric.ts';
import type { EndedSpan } from '../../src/core/wire/span.ts';
import { recordOf } from '../../src/telemetry/log-line.ts';
import { METRICS, metricsRequest } from '../../src/telemetry/otlp-metrics.ts';
import { TRACES, tracesRequest } from '../../src/telemetry/otlp-traces.ts';
import { canDecode, decoder } from '../support/collector.ts';

const RESOURCE: Resource = { attributes: { 'service.name': 'toolgate', 'process.pid': 7 }, version: '1.2.3' };

const SPAN: EndedSpan = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  parentId: '00f067aa0ba902b7',
  state: 'rojo=00f067aa0ba902b7',
  name: 'POST /v1/check',
  kind: 'server',
  startedAt: 1_794_878_387_123.456,
  endedAt: 1_794_878_387_125,
  attributes: {
    text: 'päper ✓ 🎉',
    whole: -3,
    large: 2 ** 53,
    fraction: 0.25,
    yes: true,
    no: false,
    empty: '',
  },
  failure: 'timeout',
};

/** Longer than the first buffer, with lengths that take one, two and three bytes. */
const MANY = Array.from({ length: 300 }, (_, index) => ({
  ...SPAN,
  name: 'n'.repeat(index * 3),
  attributes: { long: 'ä'.repeat(index * 20), index },
}));

const FAMILIES: MetricFamily[] = [
  {
    name: 'toolgate_verdicts',
    type: 'counter',
    help: 'Verdicts given.',
    unit: '',
    samples: [{ labels: { decision: 'allow' }, value: 3 }],
  },
  {
    name: 'toolgate_seal_lag_seconds',
    type: 'gauge',
    help: 'Lag.',
    unit: 'seconds',
    samples: [{ labels: {}, value: 1.5 }],
  },
  {
    name: 'toolgate_check_seconds',
    type: 'histogram',
    help: 'Time.',
    unit: 'seconds',
    samples: [
      {
        labels: { surface: 'check' },
        bounds: [0.1, 1],
        counts: [4, 0, 2],
        sum: 6.25,
        exemplars: [{ traceId: SPAN.traceId, value: 0.05, at: 1_794_878_387_000 }, null, null],
      },
    ],
  },
  { name: 'toolgate_nothing', type: 'counter', help: 'No sample.', unit: '', samples: [] },
];

const LINE = JSON.stringify({
  level: 'warn',
  time: '2026-11-17T01:19:47.123Z',
  traceId: SPAN.traceId,
  spanId: SPAN.spanId,
  attempts: 3,
  list: ['a', 1],
  err: { name: 'TypeError', message: 'wrong', stack: 'at x', cause: { message: 'deeper' } },
  msg: 'something happened',
});

const reading = { families: FAMILIES, from: 1_794_878_000_000, to: 1_794_878_387_000 };

describe.skipIf(!canDecode)('protocol buffers', () => {
  test.each([
    ['/v1/traces', TRACES, tracesRequest(RESOURCE, [SPAN])],
    ['/v1/traces', TRACES, tracesRequest(RESOURCE, MANY)],
    ['/v1/metrics', METRICS, metricsRequest(RESOURCE, [reading])],
    ['/v1/logs', LOGS, logsRequest(RESOURCE, [recordOf(LINE) as never])],
  ])(
    '%s is read by the protocol’s own definitions, and is what JSON says',
    async (path, message, request) => {
      const decode = await decoder();
      expect(withoutDefaults(decode(path, encode(message, request)))).toEqual(withoutDefaults(request));
    },
  );
});

test('a span has the codes of OTLP, and its failure as status and attribute', () => {
  const [span] = spansOf(tracesRequest(RESOURCE, [SPAN]));
  expect(span).toMatchObject({
    kind: 2,
    parentSpanId: SPAN.parentId,
    traceState: SPAN.state,
    startTimeUnixNano: '1794878387123456000',
    endTimeUnixNano: '1794878387125000000',
    status: { code: 2 },
  });
  expect(span.attributes).toContainEqual({ key: 'error.type', value: { stringValue: 'timeout' } });
  expect(span.attributes).toContainEqual({ key: 'whole', value: { intValue: '-3' } });
  expect(span.attributes).toContainEqual({ key: 'fraction', value: { doubleValue: 0.25 } });
});

test('a text that is too long is cut, so that what waits is bounded', () => {
  const attributes = { long: 'x'.repeat(100_000) };
  const [span] = spansOf(tracesRequest(RESOURCE, [{ ...SPAN, attributes, failure: null }]));
  expect(span.attributes[0].value.stringValue.length).toBe(4096);
  expect(span.status).toBeUndefined();
});

test('metrics are cumulative, and a family without a sample is left out', () => {
  const request = metricsRequest(RESOURCE, [reading]) as Json;
  const [counter, gauge, histogram, ...others] = request.resourceMetrics[0].scopeMetrics[0].metrics;
  expect(others).toEqual([]);
  expect(counter.sum).toMatchObject({ aggregationTemporality: 2, isMonotonic: true });
  expect(counter.sum.dataPoints[0]).toMatchObject({ asDouble: 3, startTimeUnixNano: '1794878000000000000' });
  expect(gauge).toMatchObject({ unit: 's', gauge: { dataPoints: [{ asDouble: 1.5 }] } });
  expect(histogram.histogram.dataPoints[0]).toMatchObject({
    count: '6',
    bucketCounts: ['4', '0', '2'],
    exemplars: [{ traceId: SPAN.traceId, asDouble: 0.05 }],
  });
});

test('a line of the log becomes a record with the names of OpenTelemetry', () => {
  expect(recordOf(LINE)).toEqual({
    at: Date.parse('2026-11-17T01:19:47.123Z'),
    severity: 'warn',
    body: 'something happened',
    attributes: {
      attempts: 3,
      list: '["a",1]',
      'exception.type': 'TypeError',
      'exception.message': 'wrong',
      'exception.stacktrace': 'at x',
      'err.cause.message': 'deeper',
    },
    traceId: SPAN.traceId,
    spanId: SPAN.spanId,
  });
  expect(recordOf('{"level":"info","msg":"x","traceId":"not one"}')?.traceId).toBeNull();
  expect(recordOf('not a line')).toBeNull();
});

test('of a line that is too long only the message becomes one', () => {
  const line = JSON.stringify({ level: 'info', long: 'x'.repeat(20_000), msg: 'm'.repeat(20_000) });
  const record = recordOf(line);
  expect(record?.attributes).toEqual({});
  expect(record?.body.length).toBe(4096);
});

test('records of long lines that wait in a queue do not keep the lines in memory', () => {
  const line = (index: number) => ({ msg: `${index} `.repeat(500_000) });
  Bun.gc(true);
  const before = heapStats().extraMemorySize;
  const records = Array.from({ length: 40 }, (_, index) => recordOf(JSON.stringify(line(index))));
  Bun.gc(true);
  expect(heapStats().extraMemorySize - before).toBeLessThan(10_000_000);
  for (const record of records) expect(JSON.stringify(record).length).toBeLessThan(5000);
});

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever was made
type Json = any;

const spansOf = (request: object): Json[] => (request as Json).resourceSpans[0].scopeSpans[0].spans;

/** Protocol buffers do not send what has the default value, and readers name enumerations. */
function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDefaults);
  if (typeof value === 'string') return ENUMERATIONS[value] ?? value;
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(
    ([, each]) => each !== '' && !(Array.isArray(each) && each.length === 0),
  );
  return Object.fromEntries(kept.map(([name, each]) => [name, withoutDefaults(each)]));
}

const ENUMERATIONS: Record<string, number> = {
  SPAN_KIND_SERVER: 2,
  STATUS_CODE_ERROR: 2,
  AGGREGATION_TEMPORALITY_CUMULATIVE: 2,
  SEVERITY_NUMBER_WARN: 13,
};
