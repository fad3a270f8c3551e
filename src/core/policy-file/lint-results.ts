// Warnings about entries of `results`: what has no effect beside other fields or other entries, and conditions that are always
// true, always false, or fail where an argument is missing.

import { compileResultWhen } from '../policy/compiled-results.ts';
import { conditionsOf } from '../policy/policy.ts';
import { hiddenOf, type ResultEntry } from '../policy/result-fields.ts';
import type { Fault } from '../policy/rule-faults.ts';
import { untested } from './lint-conditions.ts';
import { patternWarnings, shadowedRules } from './tool-patterns.ts';

export function resultWarnings(results: readonly ResultEntry[]): Fault[] {
  return results.flatMap((entry, index) => {
    const about = (message: string, field?: string): Fault => ({
      path: ['results', index, ...(field === undefined ? [] : [field])],
      offset: null,
      message: `${shown(index)} ${message}`,
    });
    const idle = idleBecause(results, index);
    return [
      ...patternWarnings(entry.tool).map(each => about(each, 'tool')),
      ...vainFields(entry).map(([field, message]) => about(message, field)),
      ...conditionWarnings(entry, index),
      ...(idle === null ? [] : [about(idle)]),
    ];
  });
}

const shown = (index: number): string => `entry ${index} of "results"`;

function vainFields({
  hide,
  withhold,
  reason,
  atMost,
  when,
}: ResultEntry): [field: string, message: string][] {
  const found: [string, string][] = [];
  if (withhold && hide !== undefined)
    found.push(['hide', 'hides nothing, because it withholds the whole result']);
  if (withhold && atMost !== undefined)
    found.push(['atMost', 'cuts nothing, because it withholds the whole result']);
  if (!withhold && when === undefined && reason !== undefined)
    found.push(['reason', 'has a reason that is never given, because it withholds nothing']);
  return found;
}

/** Why an entry has no effect, because of another one that always applies wherever this one may. */
function idleBecause(results: readonly ResultEntry[], index: number): string | null {
  const entry = results[index] as ResultEntry;
  if (entry.marks !== undefined) return null;
  for (const [at, other] of results.entries()) {
    if (at === index || other.when !== undefined || !covers(other.tool, entry.tool)) continue;
    if (other.withhold && !(entry.withhold && entry.reason !== undefined && at > index))
      return `has no effect: ${shown(at)} withholds all these results`;
    if (!entry.withhold && entry.atMost === undefined && at < index && hidesAll(other, entry))
      return `has no effect: ${shown(at)} hides all of it`;
  }
  return null;
}

function covers(wide: string, narrow: string): boolean {
  return shadowedRules([
    { tool: wide, action: 'deny' },
    { tool: narrow, action: 'deny' },
  ]).some(({ index }) => index === 1);
}

function hidesAll(other: ResultEntry, entry: ResultEntry): boolean {
  const hidden = new Set(hiddenOf(other).map(each => JSON.stringify(each)));
  return hiddenOf(entry).every(each => hidden.has(JSON.stringify(each)));
}

function conditionWarnings(entry: ResultEntry, index: number): Fault[] {
  const conditions = conditionsOf(entry).map(each => compileResultWhen(each, true));
  const found = conditions.flatMap((condition, at): Fault[] => {
    const path = ['results', index, 'when', ...(typeof entry.when === 'string' ? [] : [at])];
    const warn = (message: string, offset = 0): Fault => ({ path, offset, message });
    if (condition.constant === false)
      return [warn(`${shown(index)} can never apply: its condition ${at} is always false`)];
    if (condition.constant === true)
      return [warn(`condition ${at} of ${shown(index)} is always true; leave it out`)];
    const unsure = condition.reads.flatMap(read => {
      const missing = untested(read, conditions);
      if (missing === null) return [];
      const message = `${shown(index)} reads ${missing} without has(${missing}), so it withholds results where that is missing`;
      return [warn(message, read.offset)];
    });
    const remarks = condition.remarks.map(({ message, offset }) =>
      warn(`condition ${at} of ${shown(index)} ${message}`, offset),
    );
    return [...remarks, ...unsure];
  });
  const messages = found.map(each => each.message);
  return found.filter((each, at) => messages.indexOf(each.message) === at);
}
