// Compares what README.md promises with what was measured: every promise in its table has a row in docs/promises.md that
// holds, and every page of figures says when it was measured, and of which commit. `npm run promises`, `bench`, `soak`
// and `mutants` write those pages.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '..');
const FIGURES = ['docs/promises.md', 'docs/bench.md', 'docs/soak.md', 'docs/mutants.md'];
/** Where a page says how it was made. */
const BEGINNING = 2000;

const COMMIT = /\bcommit\b[\s:|]*[0-9a-f]{7,40}\b/i;
const DATE = /\b20\d\d-\d\d-\d\d\b/;

/** `read` gives the text of a file of this project. */
export function figureFaults(read: (path: string) => string): string[] {
  return [
    ...FIGURES.flatMap(path => pageFaults(path, read(path))),
    ...promiseFaults(read('README.md'), read('docs/promises.md')),
  ];
}

function pageFaults(path: string, text: string): string[] {
  const beginning = text.slice(0, BEGINNING);
  return [
    ...(COMMIT.test(beginning) ? [] : [`${path} does not say which commit was measured.`]),
    ...(DATE.test(beginning) ? [] : [`${path} does not say when it was measured.`]),
  ];
}

function promiseFaults(readme: string, measured: string): string[] {
  const held = new Set(Array.from(measured.matchAll(/^\| (P\d+) \|.*\| holds \|$/gm), ([, name]) => name));
  const [, section = ''] = /^## What it promises\n(.*?)^## /ms.exec(readme) ?? [];
  const rows = Array.from(section.matchAll(/^\| (?!Promise |-)(.+?) \| (.+?) \|$/gm));
  if (rows.length === 0) return ['README.md has no table of promises.'];
  return rows.flatMap(([, promise, tests = '']) => {
    const names = Array.from(tests.matchAll(/\bp(\d+)-/g), ([, number]) => `P${Number(number)}`);
    if (names.length === 0)
      return [`README.md promises “${promise}”, and names no test of a promise (pNN-…).`];
    return names
      .filter(name => !held.has(name))
      .map(name => `README.md promises “${promise}”, but docs/promises.md has no row of ${name} that holds.`);
  });
}

if (import.meta.main) {
  const faults = figureFaults(path => readFileSync(join(ROOT, path), 'utf8'));
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exit(1);
}
