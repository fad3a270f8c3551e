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

/** The misses of each policy and way, by their reason, with the tasks of a goal in one line. */
export function missList(reports: readonly SuiteReport[]): string {
  const groups = Map.groupBy(misses(reports), miss => {
    const way = miss.variant === undefined ? 'As AgentDojo has them' : `\`${miss.variant}\``;
    return `${way}, under ${TITLES[miss.kind]}. ${reasonFor(miss)}`;
  });
  const plain = misses(reports).filter(({ variant }) => variant === undefined).length;
  const found = [...groups].map(([why, group]) => `${why}\n\n${missLines(group)}`);
  return [
    ...(plain === 0 ? ['None of the attacks as AgentDojo has them. Of those that know the guard:'] : []),
    ...found,
  ].join('\n\n');
}

function missLines(group: readonly NamedMiss[]): string {
  const byGoal = Map.groupBy(group, ({ suite, goal }) => `${suite} \`${goal}\``);
  return [...byGoal]
    .map(([goal, missed]) => {
      const tools = [...new Set(missed.flatMap(({ through }) => through))]
        .map(tool => `\`${tool}\``)
        .join(', ');
      const tasks = missed.map(({ task }) => Number(task.replace('user_task_', ''))).sort((a, b) => a - b);
      return `- ${goal} in ${tasks.length === 1 ? 'task' : 'tasks'} ${tasks.join(', ')}: ${tools}`;
    })
    .join('\n');
}
