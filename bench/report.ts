// Turns samples into figures, and says which targets they meet. A ratio is computed round by round, so that a slow
// minute of the machine affects both sides of it. print.ts and page.ts show the results.

import * as os from 'node:os';
import { commit } from '../scripts/conditions.ts';
import type { Extra } from './extras.ts';
import { type FeatureRow, featureRows } from './features.ts';
import { type Figure, summarise } from './figure.ts';
import { CONNECTIONS, GENERATOR } from './load.ts';
import type { Studied } from './study.ts';
import type { Subject } from './subjects.ts';
import { TARGETS, type Verdict, verdictOn } from './targets.ts';

export interface Sample {
  /** CPU time of the server process and its children. */
  cpuMicros: number;
  /** CPU time of PostgreSQL; null for lines without it, and when we cannot see the server's processes. */
  databaseMicros: number | null;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** The median with one connection; only for tool calls. */
  aloneP50Ms: number | null;
}

/** The samples of one subject, one for each round. */
export interface Series extends Pick<Subject, 'name' | 'label' | 'kind' | 'audits' | 'road' | 'peer'> {
  samples: Sample[];
}

export interface Line extends Omit<Series, 'samples'> {
  cpuMicros: Figure;
  databaseMicros: Figure | null;
  ratioToEcho: Figure | null;
  /** The latency of a call made alone, minus that of the direct call. */
  addedMs: Figure | null;
  perSecond: Figure;
  p50Ms: Figure;
  p99Ms: Figure;
}

export interface Report {
  conditions: Record<string, string | number>;
  lines: Line[];
  features: FeatureRow[];
  extras: Extra[];
  studies: Studied[];
  targets: Verdict[];
  /** What could not be measured, and why. */
  failures: string[];
}

export interface Measured {
  series: Series[];
  extras: Extra[];
  studies: Studied[];
  failures: string[];
}

export function makeReport(measured: Measured, run: Record<string, string | number>): Report {
  const { series: all, extras, studies, failures } = measured;
  const ratio = (of: string, against: string) => ratioOf(byName(all, of), byName(all, against), ownMicros);
  const ratioWithDatabase = (of: string, against: string) => {
    const series = byName(all, of);
    return series?.samples.some(usesDatabase) ? ratioOf(series, byName(all, against), allMicros) : null;
  };
  const lines = all.map(series => ({ ...lineOf(series, all), ratioToEcho: ratio(series.name, 'echo') }));
  // What PostgreSQL itself spends on a line is a finding with the name of the line.
  const database = (name: string) => lines.find(line => line.name === name)?.databaseMicros ?? null;
  const finding = (name: string) =>
    studies.flatMap(study => study.findings).find(each => each.name === name)?.figure ?? database(name);
  const micros = (name: string) => lines.find(line => line.name === name)?.cpuMicros ?? null;
  return {
    conditions: { ...conditions(), ...run },
    lines,
    features: featureRows(micros, ratio),
    extras,
    studies,
    targets: TARGETS.map(target => verdictOn(target, ratio, ratioWithDatabase, finding)),
    failures,
  };
}

function conditions(): Record<string, string | number> {
  const [processor] = os.cpus();
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    processor: processor?.model ?? 'unknown',
    cores: os.availableParallelism(),
    memory: `${Math.round(os.totalmem() / 2 ** 30)} GB`,
    system: `${os.type()} ${os.release()}`,
    bun: Bun.version,
    generator: GENERATOR,
    connections: CONNECTIONS,
  };
}

const byName = (all: Series[], name: string): Series | undefined => all.find(series => series.name === name);

function lineOf(series: Series, all: Series[]): Omit<Line, 'ratioToEcho'> {
  const { samples, ...what } = series;
  const figure = (pick: (sample: Sample) => number) => summarise(samples.map(pick));
  return {
    ...what,
    cpuMicros: figure(sample => sample.cpuMicros),
    databaseMicros: samples.some(sample => sample.databaseMicros === null)
      ? null
      : figure(sample => sample.databaseMicros as number),
    addedMs: addedOver(byName(all, DIRECT), series),
    perSecond: figure(sample => sample.perSecond),
    p50Ms: figure(sample => sample.p50Ms),
    p99Ms: figure(sample => sample.p99Ms),
  };
}

const ownMicros = ({ cpuMicros }: Sample): number => cpuMicros;
const allMicros = ({ cpuMicros, databaseMicros }: Sample): number => cpuMicros + (databaseMicros ?? 0);
const usesDatabase = ({ databaseMicros }: Sample): boolean => databaseMicros !== null;

function ratioOf(
  of: Series | undefined,
  against: Series | undefined,
  micros: (sample: Sample) => number,
): Figure | null {
  if (!of || !against) return null;
  return summarise(of.samples.map((sample, round) => micros(sample) / micros(against.samples[round]!)));
}

const DIRECT = 'mcp-direct';

function addedOver(direct: Series | undefined, series: Series): Figure | null {
  if (!direct || series.name === DIRECT || series.samples.some(sample => sample.aloneP50Ms === null))
    return null;
  return summarise(
    series.samples.map((sample, round) => sample.aloneP50Ms! - direct.samples[round]!.aloneP50Ms!),
  );
}
