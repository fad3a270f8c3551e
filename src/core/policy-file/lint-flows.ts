// Warnings about marks and known values: a mark that nothing reads, or that nothing gives, is probably misspelt; and a
// rule that makes values known should not rest on what strangers write.

import { type MarkReading, markReadings } from '../policy/mark-names.ts';
import { type Limits, marksOf, type Rule } from '../policy/policy.ts';
import type { ResultEntry } from '../policy/result-fields.ts';
import type { Fault } from '../policy/rule-faults.ts';
import { didYouMean } from '../text/did-you-mean.ts';

export function flowWarnings(
  rules: readonly Rule[],
  limits: Limits,
  shown: (rule: number) => string,
  results: readonly ResultEntry[] = [],
): Fault[] {
  const given = new Set([...rules.flatMap(marksOf), ...results.flatMap(marksOf)]);
  const readings = markReadings(rules, limits, results);
  const read = new Set(readings.flatMap(({ sought }) => sought.map(({ text }) => text)));
  const readsAny = readings.some(({ sought }) => sought.length === 0);
  const isRead = (name: string): boolean => readsAny || read.has(name);
  return [
    ...rules.flatMap((rule, index) => ruleWarnings(rule, index, shown(index), isRead)),
    ...results.flatMap((entry, index) =>
      unreadMarks(entry, ['results', index, 'marks'], entryLabel(index), isRead),
    ),
    ...readings.flatMap(({ of, sought }) =>
      sought
        .filter(({ text }) => !given.has(text))
        .map(({ text, offset }) => ({
          path: pathOf(of, rules, results),
          offset,
          message: `${labelOf(of, shown)} looks for the mark "${text}", which nothing gives.${didYouMean(text, given)}`,
        })),
    ),
  ];
}

function ruleWarnings(rule: Rule, index: number, shown: string, isRead: (mark: string) => boolean): Fault[] {
  const warn = (message: string): Fault => ({
    path: ['rules', index, 'marks'],
    offset: null,
    message: `${shown} ${message}`,
  });
  return [
    ...unreadMarks(rule, ['rules', index, 'marks'], shown, isRead),
    ...(rule.marks !== undefined && rule.known !== undefined ? [warn(LAUNDERS)] : []),
  ];
}

function unreadMarks(
  giving: Pick<Rule, 'marks'>,
  path: Fault['path'],
  shown: string,
  isRead: (mark: string) => boolean,
): Fault[] {
  const unread = marksOf(giving).filter(name => !isRead(name));
  return unread.map(name => ({
    path,
    offset: null,
    message: `${shown} gives the mark "${name}", which no condition reads`,
  }));
}

const LAUNDERS =
  'marks its run and makes its results known: if strangers can write what it returns, they make known what they like';

function pathOf(
  of: MarkReading['of'],
  rules: readonly Rule[],
  results: readonly ResultEntry[],
): Fault['path'] {
  if ('limit' in of) return ['limits', of.limit, 'sum'];
  const [list, index, when] =
    'entry' in of ? ['results', of.entry, results[of.entry]?.when] : ['rules', of.rule, rules[of.rule]?.when];
  return [list as string, index as number, 'when', ...(typeof when === 'string' ? [] : [of.condition])];
}

function labelOf(of: MarkReading['of'], shown: (rule: number) => string): string {
  if ('limit' in of) return `limit "${of.limit}"`;
  return `condition ${of.condition} of ${'entry' in of ? entryLabel(of.entry) : shown(of.rule)}`;
}

const entryLabel = (index: number): string => `entry ${index} of "results"`;
