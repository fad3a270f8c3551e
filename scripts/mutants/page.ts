// docs/mutants.md: how many of the changes that `npm run mutants` made were noticed, and which were not.

import type { Change } from './changes.ts';

export interface Tried {
  change: Change;
  /** The test file that failed, or null when the change survived. */
  foundBy: string | null;
}

/** A change that has no visible effect. */
export interface Same {
  change: Change;
  why: string;
}

export interface Conditions {
  seed: string;
  commit: string;
  /** Such as 2026-11-16. */
  date: string;
  machine: string;
}

export function page(
  tried: readonly Tried[],
  same: readonly Same[],
  { seed, commit, date, machine }: Conditions,
): string {
  const folders = [...new Set(tried.map(({ change }) => folderOf(change)))].sort();
  const survivors = tried.filter(each => each.foundBy === null);
  return `# Small changes that a test should notice

\`npm run mutants\` makes small changes to the program, one at a time, chosen by chance: a bound moved by one, a condition
turned round, a branch always or never taken, a statement left out, a comparison in an SQL statement reversed. For each,
the tests that know its file best are run, and one of them should fail (\`scripts/mutants/tests.ts\`). This page is what it wrote.

${date}, seed ${seed}, commit ${commit}, ${machine}.

| Folder | Changes | Survived | Share |
|---|--:|--:|--:|
${[...folders.map(folder => row(folder, inFolder(tried, folder))), row('all', tried)].join('\n')}

## Survivors

A better test would find these.

${listed(survivors, ({ change }) => shown(change))}

## Changes without a difference

${same.length} more were drawn and not tried: each makes no difference that anybody could tell, for the reason beside it.

${listed(same, ({ change, why }) => `${shown(change)}. ${why}`)}
`;
}

function listed<Each extends { change: Change }>(all: readonly Each[], line: (each: Each) => string): string {
  const byPlace = (a: Each, b: Each) =>
    a.change.file.localeCompare(b.change.file) || a.change.line - b.change.line;
  return [...all].sort(byPlace).map(line).join('\n') || 'None.';
}

function folderOf({ file }: Change): string {
  return file.split('/').slice(0, 2).join('/');
}

function inFolder(tried: readonly Tried[], folder: string): Tried[] {
  return tried.filter(({ change }) => folderOf(change) === folder);
}

function row(name: string, tried: readonly Tried[]): string {
  const survived = tried.filter(each => each.foundBy === null).length;
  return `| ${name} | ${tried.length} | ${survived} | ${((100 * survived) / tried.length).toFixed(1)} % |`;
}

function shown({ file, line, was, becomes }: Change): string {
  const code = (text: string) => `\`\`${text.replaceAll('\n', ' ').replace(/ +/g, ' ') || ' '}\`\``;
  return `- \`${file}:${line}\`: ${code(was)} becomes ${code(becomes)}`;
}
