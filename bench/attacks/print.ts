// What a run prints: a line for each policy over all suites that were played, and for each suite.

import { KINDS, type Kind } from './policies.ts';
import { type SuiteReport, sums } from './report.ts';
import { told } from './wilson.ts';

export function printed(reports: readonly SuiteReport[]): string {
  return [
    ...reports.map(
      ({ suite, bare }) =>
        `${suite}: ${bare.tasks.length} tasks, ${bare.pairs} attacks, ${bare.read} read, ${bare.attacks.length} reach their goal bare`,
    ),
    '',
    ...KINDS.flatMap(kind => [
      line(kind, 'all', reports),
      ...reports.map(report => line(kind, report.suite, [report])),
      ...variantLines(kind, reports),
    ]),
  ].join('\n');
}

function line(kind: Kind, name: string, reports: readonly SuiteReport[]): string {
  const { reached, unasked, asked, questions } = sums(reports, kind);
  const cells = [
    `reached ${told(reached)}`,
    `done unasked ${unasked.count}`,
    `asked ${told(asked)}`,
    `questions ${questions}`,
  ];
  return `${kind.padEnd(6)} ${name.padEnd(10)} ${cells.join(', ')}`;
}

function variantLines(kind: Kind, reports: readonly SuiteReport[]): string[] {
  if (kind !== 'marks' && kind !== 'known') return [];
  return reports.flatMap(({ suite, variants }) =>
    variants[kind].map(
      ({ name, played, misses }) =>
        `${kind.padEnd(6)} ${suite.padEnd(10)} ${name}: ${misses.length} of ${played}`,
    ),
  );
}
