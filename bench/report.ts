// Turns samples into figures, and figures into a table for people or JSON for machines. Each figure is
// the median over the rounds with the smallest and the largest; a ratio is taken round by round, so that
// a slow minute of the machine weighs on both sides of it.

import * as os from 'node:os';
import { CONNECTIONS, GENERATOR } from './load.ts';

export interface Sample {
  cpuMicros: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** With one connection; only for tool calls. */
  aloneP50Ms: number | null;
}

/** The samples of one subject, one for each round. */
export interface Series {
  name: string;
  label: string;
  samples: Sample[];
}

/** A wish: the CPU time per request of one subject is at most so many times that of another. */
export interface Target {
  label: string;
  of: string;
  against: string;
  atMost: number;
}

interface Figure {
  median: number;
  min: number;
  max: number;
}

type Line = {
  name: string;
  label: string;
  ratioToEcho: Figure | null;
  /** Latency of a call made alone, above that of the direct call. */
  addedMs: Figure | null;
} & Record<Exclude<keyof Sample, 'aloneP50Ms'>, Figure>;
type Verdict = Target & { ratio: Figure | null; reached: boolean | null };

export interface Report {
  conditions: Record<string, string | number>;
  lines: Line[];
  targets: Verdict[];
}

export function makeReport(
  all: Series[],
  targets: Target[],
  run: { seconds: number; rounds: number },
): Report {
  const ratio = (of: string, against: string) => ratioOf(byName(all, of), byName(all, against));
  return {
    conditions: {
      generator: GENERATOR,
      connections: CONNECTIONS,
      ...run,
      processor: os.cpus()[0]?.model ?? 'unknown',
      cores: os.availableParallelism(),
      bun: Bun.version,
    },
    lines: all.map(series => ({
      name: series.name,
      label: series.label,
      ratioToEcho: ratio(series.name, 'echo'),
      addedMs: addedOver(byName(all, DIRECT), series),
      cpuMicros: figure(series, sample => sample.cpuMicros),
      perSecond: figure(series, sample => sample.perSecond),
      p50Ms: figure(series, sample => sample.p50Ms),
      p99Ms: figure(series, sample => sample.p99Ms),
    })),
    targets: targets.map(target => {
      const measured = ratio(target.of, target.against);
      return { ...target, ratio: measured, reached: measured && measured.median <= target.atMost };
    }),
  };
}

const byName = (all: Series[], name: string): Series | undefined => all.find(series => series.name === name);

function ratioOf(of: Series | undefined, against: Series | undefined): Figure | null {
  if (!of || !against) return null;
  return summarise(of.samples.map((sample, round) => sample.cpuMicros / against.samples[round]!.cpuMicros));
}

const DIRECT = 'mcp-direct';

function addedOver(direct: Series | undefined, series: Series): Figure | null {
  if (!direct || series.name === DIRECT || series.samples.some(sample => sample.aloneP50Ms === null))
    return null;
  return summarise(
    series.samples.map((sample, round) => sample.aloneP50Ms! - direct.samples[round]!.aloneP50Ms!),
  );
}

function figure(series: Series, pick: (sample: Sample) => number): Figure {
  return summarise(series.samples.map(pick));
}

function summarise(numbers: number[]): Figure {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

export function renderReport({ conditions, lines, targets }: Report): string {
  const facts = Object.entries(conditions).map(([name, value]) => `${name}: ${value}`);
  return [
    facts.join(', '),
    '',
    ...table(lines),
    '',
    ...latencies(lines),
    'Targets, in CPU time per request:',
    ...targets.map(sentence),
  ].join('\n');
}

const HEAD = ['', 'CPU us/request', 'x echo', 'requests/s', 'p50 ms', 'p99 ms'];

function table(lines: Line[]): string[] {
  const rows = lines.map(line => [
    line.label,
    spread(line.cpuMicros, 1),
    line.ratioToEcho ? spread(line.ratioToEcho, 2) : '-',
    spread(line.perSecond, 0),
    spread(line.p50Ms, 2),
    spread(line.p99Ms, 2),
  ]);
  const widths = HEAD.map((_, column) => Math.max(...[HEAD, ...rows].map(row => row[column]!.length)));
  const draw = (row: string[]) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join('  ');
  return [HEAD, ...rows].map(draw);
}

function spread({ median, min, max }: Figure, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)}-${max.toFixed(digits)})`;
}

function latencies(lines: Line[]): string[] {
  const told = lines.flatMap(({ label, addedMs }) =>
    addedMs === null ? [] : [`  ${spread(addedMs, 2)}  ${label}`],
  );
  return told.length === 0
    ? []
    : ['Milliseconds added to a direct call, one at a time (median):', ...told, ''];
}

function sentence({ label, atMost, ratio, reached }: Verdict): string {
  const wanted = `at most ${Number(atMost.toFixed(2))} x`;
  if (!ratio) return `  not measured  ${label}: ${wanted}`;
  return `  ${reached ? 'reached     ' : 'MISSED      '}  ${label}: ${spread(ratio, 2)} x, ${wanted} wanted`;
}
