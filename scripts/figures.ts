// Compares what is promised with what was measured: every promise (promised.ts) has a row in docs/promises.md that
// holds, and every page of figures says when it was measured, and of which commit. `npm run promises`, `bench`, `soak`,
// `mutants` and `attacks` write those pages.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROMISES } from './promised.ts';

const ROOT = join(import.meta.dir, '..');
const FIGURES = ['docs/promises.md', 'docs/bench.md', 'docs/soak.md', 'docs/mutants.md', 'docs/attacks.md'];
/** Where a page says how it was made. */
const BEGINNING = 2000;

const COMMIT = /\bcommit\b[\s:|]*[0-9a-f]{7,40}\b/i;
const DATE = /\b20\d\d-\d\d-\d\d\b/;

/** `read` gives the text of a file of this project. */
export function figureFaults(read: (path: string) => string): string[] {
  return [
    ...FIGURES.flatMap(path => pageFaults(path, read(path))),
    ...promiseFaults(read('docs/promises.md')),
  ];
}

function pageFaults(path: string, text: string): string[] {
  const beginning = text.slice(0, BEGINNING);
  return [
    ...(COMMIT.test(beginning) ? [] : [`${path} does not say which commit was measured.`]),
    ...(DATE.test(beginning) ? [] : [`${path} does not say when it was measured.`]),
  ];
}

function promiseFaults(measured: string): string[] {
  const held = new Set(Array.from(measured.matchAll(/^\| (P\d+) \|.*\| holds \|$/gm), ([, name]) => name));
  return Object.entries(PROMISES)
    .filter(([name]) => !held.has(name))
    .map(([name, promise]) => `docs/promises.md has no row of ${name} (“${promise}”) that holds.`);
}

if (import.meta.main) {
  const faults = figureFaults(path => readFileSync(join(ROOT, path), 'utf8'));
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exit(1);
}
