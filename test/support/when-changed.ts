// The door for tests that take long and rarely tell anything new: those on mutants, under floods, and of memory. By
// itself a test file runs them all, and so does `npm run promises`. `npm test` registers none of them, and with
// `--changed <commit>`, as in CI, those whose sources or whose own file changed (scripts/changed.ts). It says how many
// it has left out.

import { test } from 'bun:test';
import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Patch } from './mutant.ts';
import { CHANGED, LEFT_OUT } from './need.ts';
import { ROOT } from './service.ts';

/** The paths that changed; without them every test is wanted. */
const list = process.env[CHANGED];
const changed = list === undefined ? undefined : readFileSync(list, 'utf8').split('\n').filter(Boolean);

/**
 * `test`, or what stands in for it where the test is left out. `sources` are what the test watches: the patches of its
 * mutant, or patterns of paths.
 */
export function whenChanged(...sources: (Patch | string)[]): typeof test {
  // While a test file is being read, Bun.main is that file, also where several are run by one process.
  const watched = [
    relative(ROOT, Bun.main),
    ...sources.map(each => (typeof each === 'string' ? each : each.file)),
  ];
  const isWanted = changed?.some(path => watched.some(pattern => new Bun.Glob(pattern).match(path))) ?? true;
  return isWanted ? test : (leftOut() as unknown as typeof test);
}

/** Takes a test as `test` does, and counts it instead. */
function leftOut() {
  const count = () => {
    const file = process.env[LEFT_OUT];
    if (file !== undefined) appendFileSync(file, '.');
  };
  const same = () => count;
  return Object.assign(count, { concurrent: count, skipIf: same, if: same });
}
