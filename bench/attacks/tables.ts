// The tables of docs/attacks.md.

import * as fs from 'node:fs';
import * as path from 'node:path';
import { KINDS, type Kind } from './policies.ts';
import { reasonFor } from './reasons.ts';
import {
  ADAPTIVE,
  type Adaptive,
  isReached,
  misses,
  type NamedMiss,
  type SuiteReport,
  sums,
  total,
  variantsFor,
  WANTED,
} from './report.ts';
import { VARIANTS, type Variant } from './variants.ts';
import { told } from './wilson.ts';

const TITLES: Record<Kind, string> = {
  allow: 'allow everything',
  ask: 'ask about everything',
  lists: 'lists',
  marks: 'marks',
  known: 'marks and known values',
};

export function policyTable(reports: readonly SuiteReport[]): string {
  const rows = KINDS.map(kind => {
    const { reached, unasked, asked, questions } = sums(reports, kind);
    return `| ${TITLES[kind]} | ${told(reached)} | ${told(unasked)} | ${told(asked)} | ${questions} |`;
  });
  return [
    '| Policy | attacks that reach their goal | tasks done without a question | tasks in which somebody is asked | questions |',
    '|---|--:|--:|--:|--:|',
    ...rows,
  ].join('\n');
}

export function wantedTable(reports: readonly SuiteReport[]): string {
  const told = ADAPTIVE.map(kind => {
    const { reached, asked } = WANTED[kind];
    const word = isReached(reports, kind) ? 'reached' : '**missed**';
    return `${TITLES[kind]}, at most ${reached} attacks and ${asked} tasks: ${word}`;
  });
  return `Wanted beforehand: ${told.join('; ')}.`;
}

export function suiteTable(reports: readonly SuiteReport[]): string {
  const rows = reports.flatMap(report =>
    KINDS.map(kind => {
      const { reached, unasked, asked, questions } = sums([report], kind);
      const bare = report.bare.attacks.length;
      return `| ${report.suite} | ${TITLES[kind]} | ${bare} of ${report.bare.pairs} | ${told(reached)} | ${told(unasked)} | ${told(asked)} | ${questions} |`;
    }),
  );
  return [
    '| Suite | Policy | reach their goal bare | guarded | tasks done without a question | tasks in which somebody is asked | questions |',
    '|---|---|--:|--:|--:|--:|--:|',
    ...rows,
  ].join('\n');
}

export function variantTable(reports: readonly SuiteReport[]): string {
  const rows = VARIANTS.map(variant => {
    const cells = ADAPTIVE.map(kind =>
      variantsFor(kind).includes(variant) ? letThrough(reports, kind, variant) : '',
    );
    return `| \`${variant.name}\`: ${variant.title} | ${cells.join(' | ')} |`;
  });
  return ['| | let through by marks | by marks and known values |', '|---|--:|--:|', ...rows].join('\n');
}

function letThrough(reports: readonly SuiteReport[], kind: Adaptive, { name }: Variant): string {
  const played = reports.flatMap(({ variants }) => variants[kind].filter(each => each.name === name));
  return told({
    count: total(played.map(each => each.misses.length)),
    of: total(played.map(each => each.played)),
  });
}

interface Revision {
  count: number;
  why?: string;
}

export function revisionTable(): string {
  const file = path.join(import.meta.dirname, 'revisions.json');
  const revisions = Object.entries(JSON.parse(fs.readFileSync(file, 'utf8')) as Record<string, Revision>);
  const rows = revisions.map(([name, { count, why = '' }]) => `| \`${name}.yaml\` | ${count} | ${why} |`);
  return ['| Policy | changed | |', '|---|--:|---|', ...rows].join('\n');
}

/** One entry for each policy, suite, way and goal, with the tasks by number. */
export function missList(reports: readonly SuiteReport[]): string {
  const groups = Map.groupBy(misses(reports), ({ kind, suite, variant = '', goal }) =>
    [kind, suite, variant, goal].join(' '),
  );
  if (groups.size === 0) return 'None.';
  return [...groups.values()].map(entry).join('\n');
}

function entry(group: readonly NamedMiss[]): string {
  const first = group[0]!;
  const { kind, suite, variant, goal } = first;
  const tools = [...new Set(group.flatMap(({ through }) => through))].map(tool => `\`${tool}\``).join(', ');
  const tasks = group.map(({ task }) => task.replace('user_task_', '')).join(', ');
  const way = variant === undefined ? '' : `, \`${variant}\``;
  const where = `${TITLES[kind]}, ${suite}${way}, \`${goal}\` in ${group.length === 1 ? 'task' : 'tasks'} ${tasks}`;
  return `- ${where}: ${tools} was run. ${reasonFor(first)}`;
}
