// Which marks a policy names: those that its rules and entries of `results` give, and those that its
// conditions look for.

import { readOf, type Sought, textsSought } from '../condition/condition.ts';
import { compileSum, compileWhen } from './compiled-policy.ts';
import { compileResultWhen } from './compiled-results.ts';
import { conditionsOf, type Limits, marksOf, type Policy, type Rule } from './policy.ts';
import type { ResultEntry } from './result-fields.ts';

/** A condition of a rule or of an entry of `results`, or what a limit adds up, that reads marks. */
export interface MarkReading {
  of: { rule: number; condition: number } | { entry: number; condition: number } | { limit: string };
  /** Those that it names. If there are none, as in `size(marks) > 1`, it may be about any of them. */
  sought: Sought[];
}

export function markReadings(
  rules: readonly Rule[],
  limits: Limits,
  results: readonly ResultEntry[] = [],
): MarkReading[] {
  const found: MarkReading[] = [];
  rules.forEach((rule, index) => {
    conditionsOf(rule).forEach((source, condition) => {
      if (readsMarks(source, compileWhen))
        found.push({ of: { rule: index, condition }, sought: textsSought(source, MARKS) });
    });
  });
  results.forEach((entry, index) => {
    conditionsOf(entry).forEach((source, condition) => {
      if (readsMarks(source, compileResultWhen))
        found.push({ of: { entry: index, condition }, sought: textsSought(source, MARKS) });
    });
  });
  for (const [limit, { sum }] of Object.entries(limits))
    if (sum !== undefined && readsMarks(sum, compileSum))
      found.push({ of: { limit }, sought: textsSought(sum, MARKS) });
  return found;
}
const MARKS = 'marks';

/** Most conditions do not even have the word in them, and are not compiled for this. */
function readsMarks(source: string, compile: typeof compileWhen | typeof compileSum): boolean {
  return source.includes(MARKS) && readOf(compile(source, true), MARKS) !== undefined;
}

/** What is wrong with a mark that a run is said to have while a policy is tried, or null. */
export function triedMarkFault({ rules, limits = {}, results = [] }: Policy, name: string): string | null {
  const readings = markReadings(rules, limits, results);
  if (readings.some(({ sought }) => sought.length === 0)) return null;
  const names = new Set([
    ...rules.flatMap(marksOf),
    ...results.flatMap(marksOf),
    ...readings.flatMap(({ sought }) => sought.map(({ text }) => text)),
  ]);
  if (names.has(name)) return null;
  return `the policy has no mark "${name}"${names.size === 0 ? '' : `; it has ${[...names].join(', ')}`}`;
}
