// The comparison of the promises with their figures: what it finds, in copies of the pages with one fault each.

import { expect, test } from 'bun:test';
import { figureFaults } from '../../scripts/figures.ts';
import { PROMISES } from '../../scripts/promised.ts';

const PAGE = '- Date: 2026-11-16 14:39 UTC\n- Commit: 488d3fc\n';
const PAGES: Record<string, string> = {
  'docs/promises.md': `${PAGE}
${Object.entries(PROMISES)
  .map(([name, promise]) => `| ${name} | ${promise} | sqlite | 5 | 0 | 0 | 1 of 1 | holds |`)
  .join('\n')}
`,
  'docs/bench.md': '| date | 2026-11-17 |\n| commit | fae829a |\n',
  'docs/soak.md': PAGE,
  'docs/mutants.md': '2026-11-16, seed 1, commit dd7c2db, 2 cores.\n',
  'docs/attacks.md': 'Written on 2026-11-18, commit dd7c2db, in 5 minutes.\n',
};

function faultsWith(path: string, change: (text: string) => string): string[] {
  const pages = { ...PAGES, [path]: change(PAGES[path] as string) };
  return figureFaults(name => pages[name] ?? '');
}

test('pages that agree have no faults', () => {
  expect(faultsWith('docs/promises.md', text => text)).toEqual([]);
});

test('a promise without a figure is found, and so is one that is broken', () => {
  const gone = (text: string) => text.replace(/^\| P13 .*\n/m, '');
  const broken = (text: string) => text.replace(/(\| P13 .*)holds \|/, '$1**broken** |');
  for (const change of [gone, broken])
    expect(faultsWith('docs/promises.md', change)).toEqual([
      `docs/promises.md has no row of P13 (“${PROMISES['P13']}”) that holds.`,
    ]);
});

test('a page of figures without a commit or a date is found', () => {
  expect(faultsWith('docs/soak.md', text => text.replace('488d3fc', ''))).toEqual([
    'docs/soak.md does not say which commit was measured.',
  ]);
  expect(faultsWith('docs/mutants.md', text => text.replace('2026-11-16, ', ''))).toEqual([
    'docs/mutants.md does not say when it was measured.',
  ]);
});
