// The door for tests that take long and rarely tell anything new: those on mutants, under floods and of memory, long ways
// through the dashboard, and on PostgreSQL those of what services answer and of the promises. By itself a test file runs them all, and so does
// `npm run promises`. `npm test` registers none of them, and with `--changed <commit>`, as in CI, those whose sources or
// whose own file changed (scripts/changed.ts). It says how many it has left out.

import { describe, test } from 'bun:test';
import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Patch } from './mutant.ts';
import { CHANGED, LEFT_OUT, LONG } from './need.ts';
import { type Engine, engines, ROOT } from './service.ts';

/** The paths that changed; without them every test is wanted. */
const list = process.env[CHANGED];
const changed = list === undefined ? undefined : readFileSync(list, 'utf8').split('\n').filter(Boolean);

/**
 * `test`, or what stands in for it where the test is left out. `sources` are what the test watches: the patches of its
 * mutant, or patterns of paths.
 */
export function whenChanged(...sources: (Patch | string)[]): typeof test {
  return hasChanged(sources) ? test : leftOut();
}

/** `describe`, or what stands in for it. A suite of which each test is left out by itself would still be set up. */
export function suiteWhenChanged(...sources: string[]): typeof describe {
  if (hasChanged(sources)) return describe;
  const take = () => count('s');
  return Object.assign(take, { if: () => take }) as unknown as typeof describe;
}

/**
 * SQLite, and PostgreSQL too where one of these sources has changed. For tests that look at what a service answers, and
 * for those of promises, whose sources have to include what their mutants patch. SQL, locks and transactions have tests
 * of their own that run on both whatever has changed (test/store, test/guard), and so has what replicas tell each other.
 */
export async function enginesWhenChanged(...sources: string[]): Promise<Engine[]> {
  if (hasChanged(sources)) return engines();
  count('e');
  return ['sqlite'];
}

/**
 * How much the test of a promise tries, or one that tries at random: in its long form, in its short one, and in an
 * `npm test` that looks at no changes and so measures no mutants, which need the short one to show.
 */
export function sized(long: number, short: number, least: number): number {
  if (LONG) return long;
  return changed?.length === 0 ? least : short;
}

function hasChanged(sources: readonly (Patch | string)[]): boolean {
  if (changed === undefined) return true;
  // While a test file is being read, Bun.main is that file, also where several are run by one process.
  const watched = [
    relative(ROOT, Bun.main),
    ...sources.map(each => (typeof each === 'string' ? each : each.file)),
  ];
  return changed.some(path => watched.some(pattern => new Bun.Glob(pattern).match(path)));
}

/** Takes a test as `test` does, and counts it instead. */
function leftOut(): typeof test {
  const take = () => count('t');
  return Object.assign(take, { concurrent: take, skipIf: leftOut, if: leftOut }) as unknown as typeof test;
}

/** One letter for each test, each suite, and each file on PostgreSQL; processes that write at once do not disturb each other. */
function count(letter: 't' | 's' | 'e'): void {
  const file = process.env[LEFT_OUT];
  if (file !== undefined) appendFileSync(file, letter);
}
