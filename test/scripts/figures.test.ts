// The comparison of README.md's promises with their figures: what it finds, in copies of the pages with one fault each.

import { expect, test } from 'bun:test';
import { figureFaults } from '../../scripts/figures.ts';

const PAGE = '- Date: 2026-11-16 14:39 UTC\n- Commit: 488d3fc\n';
const PAGES: Record<string, string> = {
  'README.md': `## What it promises

| Promise | Test |
|---|---|
| Nothing is lost | \`test/faults/p01-kill.test.ts\` |
| Nothing is late, and all is told | \`test/faults/p02-*\`, \`p13-*\` |

## Speed

| Figure | by |
|---|---|
| 3 | somebody |
`,
  'docs/promises.md': `${PAGE}
| P1 | Nothing is lost | sqlite | 5 | 0 | 0 | 1 of 1 | holds |
| P2 | Nothing is late | sqlite | 5 | 0 | 0 | 1 of 1 | holds |
| P13 | All is told | sqlite | 5 | 0 | 0 | 1 of 1 | holds |
`,
  'docs/bench.md': '| date | 2026-11-17 |\n| commit | fae829a |\n',
  'docs/soak.md': PAGE,
  'docs/mutants.md': '2026-11-16, seed 1, commit dd7c2db, 2 cores.\n',
};

function faultsWith(path: string, change: (text: string) => string): string[] {
  const pages = { ...PAGES, [path]: change(PAGES[path] as string) };
  return figureFaults(name => pages[name] ?? '');
}

test('pages that agree have no faults', () => {
  expect(faultsWith('README.md', text => text)).toEqual([]);
});

test('a promise without a figure is found, and so is one that is broken', () => {
  const gone = (text: string) => text.replace(/^\| P13 .*\n/m, '');
  const broken = (text: string) => text.replace(/(\| P13 .*)holds \|/, '$1**broken** |');
  for (const change of [gone, broken])
    expect(faultsWith('docs/promises.md', change)).toEqual([
      'README.md promises “Nothing is late, and all is told”, but docs/promises.md has no row of P13 that holds.',
    ]);
});

test('a promise that names no test of a promise is found, and so is a table that is gone', () => {
  expect(faultsWith('README.md', text => text.replace('p01-kill', 'kill'))).toEqual([
    'README.md promises “Nothing is lost”, and names no test of a promise (pNN-…).',
  ]);
  expect(faultsWith('README.md', text => text.replace('What it promises', 'Else'))).toHaveLength(1);
});

test('a page of figures without a commit or a date is found', () => {
  expect(faultsWith('docs/soak.md', text => text.replace('488d3fc', ''))).toEqual([
    'docs/soak.md does not say which commit was measured.',
  ]);
  expect(faultsWith('docs/mutants.md', text => text.replace('2026-11-16, ', ''))).toEqual([
    'docs/mutants.md does not say when it was measured.',
  ]);
});
