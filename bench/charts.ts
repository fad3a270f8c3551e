// Chooses the figures to draw: CPU time per check and per forwarded call, compared with others and by themselves,
// latencies at fixed rates, and a lone check. chart.ts draws them.

import type { Bar, Chart } from './chart.ts';
import { comparedCalls, comparedDecisions, comparedLabel } from './field/compared.ts';
import type { Figure } from './figure.ts';
import type { Line, Report } from './report.ts';
import { TARGETS } from './targets.ts';

/** The charts by file name without the extension; a chart without figures is left out. */
export function charts(report: Report): Map<string, Chart> {
  const all: [string, Chart][] = [
    ['field', field(report)],
    ['field-calls', fieldCalls(report)],
    ['checks', checks(report)],
    ['calls', calls(report)],
    ['latency', latency(report)],
    ['lone', lone(report)],
  ];
  return new Map(all.filter(([, chart]) => chart.bars.length > 0));
}

const SPREAD = 'The thin line is the spread over the rounds.';

function field(report: Report): Chart {
  return {
    title: 'CPU time per recorded decision',
    explained: `Microseconds of the server, asked whether the same call is allowed under ten rules. ${SPREAD}`,
    unit: 'µs',
    bars: comparedDecisions(report).map(comparedBar),
  };
}

function fieldCalls(report: Report): Chart {
  return {
    title: 'CPU time per forwarded MCP tool call, compared',
    explained: `Microseconds of the gateway and its children (a stdio upstream too). ${SPREAD}`,
    unit: 'µs',
    bars: comparedCalls(report).map(comparedBar),
  };
}

function comparedBar(line: Line): Bar {
  return { ...bar(line), label: comparedLabel(line) };
}

function checks(report: Report): Chart {
  return {
    title: 'CPU time per check',
    explained: `Microseconds of the server process. Every Toolgate line is durably audited before its answer. ${SPREAD}`,
    unit: 'µs',
    bars: report.lines.filter(({ road, peer }) => !road && !peer).map(line => cpuBar(line, report)),
  };
}

function calls(report: Report): Chart {
  return {
    title: 'CPU time per forwarded MCP tool call',
    explained: `Microseconds of the forwarder and its children (a stdio upstream too). Only Toolgate decides and audits. ${SPREAD}`,
    unit: 'µs',
    bars: report.lines.filter(({ road, peer }) => road && !peer).map(line => cpuBar(line, report)),
  };
}

const cpuBar = (line: Line, { lines }: Report): Bar => ({
  ...bar(line),
  wanted: wantedCpu(line.name, lines),
});

function bar({ label, kind, cpuMicros, databaseMicros }: Line): Bar {
  const { median, min, max } = cpuMicros;
  const database = databaseMicros?.median;
  return {
    label: label.replace('tools/call, ', ''),
    kind,
    value: median,
    ...(database === undefined ? {} : { more: database }),
    from: min,
    to: max,
    told: `${toldMicros(median)}${database === undefined ? '' : ` + ${toldMicros(database)}`}`,
  };
}

const toldMicros = (value: number): string =>
  value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en');

/** The strictest target of a line, in microseconds. */
function wantedCpu(name: string, lines: Line[]): number | undefined {
  const limits = TARGETS.flatMap(target => {
    if (!('of' in target) || target.of !== name) return [];
    const against = lines.find(line => line.name === target.against);
    return against ? [target.atMost * against.cpuMicros.median] : [];
  });
  return limits.length > 0 ? Math.min(...limits) : undefined;
}

const WAITED = ['echo', 'cedar', 'sqlite', 'sqlite-10m-entries', 'postgres', 'postgres-10m-entries'];

function latency({ lines, extras }: Report): Chart {
  const kindOf = (name: string) => lines.find(line => line.name === name)?.kind ?? 'ours';
  const bars = extras
    .filter(({ name }) => WAITED.includes(name))
    .flatMap(({ name, label, atRates }) =>
      (atRates ?? []).map(({ rate, p50Ms, p99Ms, p999Ms }) => ({
        label: `${label.replace('10 rules, ', '')}, ${rate.toLocaleString('en')}/s`,
        kind: kindOf(name),
        value: p50Ms,
        from: p50Ms,
        to: p99Ms,
        told: [p50Ms, p99Ms, p999Ms].map(ms => ms.toFixed(2)).join(' / '),
      })),
    );
  return {
    title: 'Waits at fixed rates',
    explained:
      'From when a request was due to its answer. The bar is p50, the thin line goes to p99; behind it p50 / p99 / p99.9.',
    unit: 'ms',
    bars,
  };
}

const LONE_ADDED_MS = 0.15;

function lone({ studies }: Report): Chart {
  const found = new Map(
    studies.find(({ name }) => name === 'lone')?.findings.map(({ name, figure }) => [name, figure]),
  );
  const bar = (label: string, kind: Bar['kind'], figure: Figure, wanted?: number): Bar => ({
    label,
    kind,
    value: figure.median,
    from: figure.min,
    to: figure.max,
    wanted,
    told: figure.median.toFixed(3),
  });
  const [echo, fsync, check] = ['lone-echo', 'lone-fsync', 'lone-check'].map(name => found.get(name));
  return {
    title: 'A check made alone',
    explained: `Median latency on one connection. Wanted: an echo, one fsync, and 0.15 ms. ${SPREAD}`,
    unit: 'ms',
    bars:
      echo && fsync && check
        ? [
            bar('echo', 'floor', echo),
            bar('fsync of 8 KB', 'floor', fsync),
            bar('check sqlite', 'ours', check, echo.median + fsync.median + LONE_ADDED_MS),
          ]
        : [],
  };
}
