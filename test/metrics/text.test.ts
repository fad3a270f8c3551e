// Metrics as text: both formats, which of them a reader gets, and the metrics of several workers in one text.

import { describe, expect, test } from 'bun:test';
import type { MetricFamily } from '../../src/core/wire/metric.ts';
import { counter, gauge, histogram } from '../../src/metrics/family.ts';
import { Histogram } from '../../src/metrics/histogram.ts';
import { mergedFamilies } from '../../src/metrics/merge.ts';
import { metricsText, preferredFormat } from '../../src/metrics/text.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

function someFamilies(): MetricFamily[] {
  const seconds = new Histogram([0.5, 2]);
  seconds.observe(0.25);
  seconds.observe(0.5, TRACE);
  seconds.observe(9);
  return [
    counter('calls', 'Calls "made".', [{ labels: { by: 'a"b\\c\nd' }, value: 3 }]),
    gauge('held_bytes', 'A \\ and\na new line.', 12),
    histogram('took_seconds', 'Time.', [seconds.sample({ surface: 'mcp' })]),
  ];
}

describe('the text', () => {
  test('in the format of Prometheus', () => {
    expect(metricsText(someFamilies(), 'prometheus')).toBe(
      [
        '# HELP calls_total Calls "made".',
        '# TYPE calls_total counter',
        'calls_total{by="a\\"b\\\\c\\nd"} 3',
        '# HELP held_bytes A \\\\ and\\na new line.',
        '# TYPE held_bytes gauge',
        'held_bytes 12',
        '# HELP took_seconds Time.',
        '# TYPE took_seconds histogram',
        'took_seconds_bucket{surface="mcp",le="0.5"} 2',
        'took_seconds_bucket{surface="mcp",le="2.0"} 2',
        'took_seconds_bucket{surface="mcp",le="+Inf"} 3',
        'took_seconds_sum{surface="mcp"} 9.75',
        'took_seconds_count{surface="mcp"} 3',
        '',
      ].join('\n'),
    );
  });

  test('as OpenMetrics: counters are named without their ending, and there are units, exemplars and an end', () => {
    const text = metricsText(someFamilies(), 'openmetrics');
    expect(text).toStartWith(
      '# HELP calls Calls \\"made\\".\n# TYPE calls counter\ncalls_total{by="a\\"b\\\\c\\nd"} 3\n',
    );
    expect(text).toContain('# TYPE held_bytes gauge\n# UNIT held_bytes bytes\nheld_bytes 12\n');
    expect(text).toMatch(
      new RegExp(
        `^took_seconds_bucket\\{surface="mcp",le="0.5"\\} 2 # \\{trace_id="${TRACE}"\\} 0.5 \\d{10}(\\.\\d+)?$`,
        'm',
      ),
    );
    expect(text.match(/trace_id/g)).toHaveLength(1);
    expect(text).toEndWith('took_seconds_count{surface="mcp"} 3\n# EOF\n');
  });
});

test.each([
  [null, 'prometheus'],
  ['', 'prometheus'],
  ['*/*', 'prometheus'],
  ['text/html, */*;q=0.8', 'prometheus'],
  ['application/openmetrics-text; version=1.0.0', 'openmetrics'],
  ['Application/OpenMetrics-Text;Version=1.0.0;charset=utf-8', 'openmetrics'],
  ['application/openmetrics-text', 'openmetrics'],
  ['application/openmetrics-text; version=0.0.1', 'prometheus'],
  ['application/openmetrics-text; version=2.0.0, text/plain;q=0.1', 'prometheus'],
  ['application/openmetrics-text;q=0', 'prometheus'],
  ['text/plain, application/openmetrics-text;q=0.5', 'prometheus'],
  ['text/plain;version=0.0.4;q=0.5, application/openmetrics-text;version=1.0.0;q=0.75', 'openmetrics'],
  // What Prometheus 2.42 and 3 send.
  [
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
    'openmetrics',
  ],
  [
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1',
    'openmetrics',
  ],
] as const)('a reader that accepts %p gets %s', (accept, format) => {
  expect(preferredFormat(accept)).toBe(format);
});

test('the metrics of workers are one text, in which each family is described once', () => {
  const one = [counter('calls', 'Calls.', 1), gauge('held', 'Held.', [{ labels: { a: 'x' }, value: 2 }])];
  const two = [counter('calls', 'Calls.', 10), gauge('late', 'Only here.', 5)];
  const merged = mergedFamilies([
    [1, one],
    [2, two],
  ]);
  expect(metricsText(merged, 'prometheus').split('\n')).toEqual([
    '# HELP calls_total Calls.',
    '# TYPE calls_total counter',
    'calls_total{worker="1"} 1',
    'calls_total{worker="2"} 10',
    '# HELP held Held.',
    '# TYPE held gauge',
    'held{worker="1",a="x"} 2',
    '# HELP late Only here.',
    '# TYPE late gauge',
    'late{worker="2"} 5',
    '',
  ]);
});
