// The report as text for a terminal.

import type { Extra } from './extras.ts';
import { featureTable } from './features.ts';
import { digitsOf, type Figure, spread } from './figure.ts';
import { shownInstructions } from './instructions.ts';
import type { Line, Report } from './report.ts';
import type { Studied } from './study.ts';
import type { Verdict } from './targets.ts';

export function printed({ conditions, lines, features, extras, studies, targets, failures }: Report): string {
  const facts = Object.entries(conditions).map(([name, value]) => `${name}: ${value}`);
  return [
    facts.join(', '),
    '',
    ...(lines.length > 0 ? table(lines) : []),
    ...(features.some(({ engines }) => engines.some(Boolean))
      ? ['', 'What each feature adds to a check:', featureTable(features)]
      : []),
    ...latencies(lines),
    ...(extras.length > 0 ? rates(extras) : []),
    ...studies.flatMap(studied),
    '',
    'Targets; × is CPU time of the server process and its children per request:',
    ...targets.map(sentence),
    ...(failures.length > 0
      ? ['', 'Not measured, because it failed:', ...failures.map(each => `  ${each}`)]
      : []),
  ].join('\n');
}

const HEAD = ['', 'CPU us/request', 'x echo', 'PostgreSQL us', 'requests/s', 'p50 ms', 'p99 ms'];

function table(lines: Line[]): string[] {
  const rows = lines.map(line => [
    line.label,
    spread(line.cpuMicros, 1),
    line.ratioToEcho ? spread(line.ratioToEcho, 2) : '-',
    line.databaseMicros ? spread(line.databaseMicros, 1) : '-',
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

function latencies(lines: Line[]): string[] {
  const told = lines.flatMap(({ label, addedMs }) =>
    addedMs === null ? [] : [`  ${spread(addedMs, 2)}  ${label}`],
  );
  return told.length === 0
    ? []
    : ['', 'Milliseconds added to a direct call, one at a time (median):', ...told];
}

function rates(extras: readonly Extra[]): string[] {
  const lines = ['', 'At fixed rates, waits counted from when a request was due (p50 / p99 / p99.9 ms):'];
  for (const { label, atRates } of extras) {
    for (const { rate, p50Ms, p99Ms, p999Ms, failures } of atRates ?? []) {
      const waits = [p50Ms, p99Ms, p999Ms].map(ms => ms.toFixed(2)).join(' / ');
      lines.push(`  ${rate}/s  ${waits}${failures > 0 ? `, ${failures} failed` : ''}  ${label}`);
    }
  }
  lines.push('', 'Memory before and after the load, and what is recorded of a call:');
  for (const { label, restMb, loadedMb, audits } of extras) {
    lines.push(`  ${restMb.toFixed(0)} MB, ${loadedMb.toFixed(0)} MB  ${label}: ${audits}`);
  }
  return lines;
}

function studied({ title, how, findings }: Studied): string[] {
  const told = findings.map(
    ({ label, unit, figure }) => `  ${spread(figure, digitsOf(figure.median))} ${unit}  ${label}`,
  );
  return ['', `${title}. ${how}`, ...told];
}

function sentence(verdict: Verdict): string {
  const { label, atMost, unit, measured, withDatabase, instructions } = verdict;
  const word = (verdict.word === 'missed' ? 'MISSED' : verdict.word).padEnd(13);
  const wanted = `at most ${Number(atMost.toFixed(3))} ${unit}`;
  if (!measured) return `  ${word} ${label}: ${wanted}`;
  const told = (figure: Figure) => `${spread(figure, digitsOf(atMost))} ${unit}`;
  const more = withDatabase ? ` (${told(withDatabase)} with the CPU time of PostgreSQL)` : '';
  const counted = instructions ? `; ${shownInstructions(instructions)} instructions` : '';
  return `  ${word} ${label}: ${told(measured)}${more}, ${wanted} wanted${counted}`;
}
