// Warnings about marks and known values: a mark that nothing reads, or that nothing gives, is probably misspelt; and a
// rule that makes values known should not rest on what strangers write.

import { type MarkReading, markReadings } from '../policy/mark-names.ts';
import { type Limits, marksOf, type Rule } from '../policy/policy.ts';
import type { Fault } from '../policy/rule-faults.ts';
import { didYouMean } from '../text/did-you-mean.ts';

export function flowWarnings(
  rules: readonly Rule[],
  limits: Limits,
  shown: (rule: number) => string,
): Fault[] {
  const given = new Set(rules.flatMap(marksOf));
  const readings = markReadings(rules, limits);
  const read = new Set(readings.flatMap(({ sought }) => sought.map(({ text }) => text)));
  const readsAny = readings.some(({ sought }) => sought.length === 0);
  const isRead = (name: string): boolean => readsAny || read.has(name);
  return [
    ...rules.flatMap((rule, index) => ruleWarnings(rule, index, shown(index), isRead)),
    ...readings.flatMap(({ of, sought }) =>
      sought
        .filter(({ text }) => !given.has(text))
        .map(({ text, offset }) => ({
          path: pathOf(of, rules),
          offset,
          message: `${labelOf(of, shown)} looks for the mark "${text}", which no rule gives.${didYouMean(text, given)}`,
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
  const unread = marksOf(rule).filter(name => !isRead(name));
  return [
    ...unread.map(name => warn(`gives the mark "${name}", which no condition reads`)),
    ...(rule.marks !== undefined && rule.known !== undefined ? [warn(LAUNDERS)] : []),
  ];
}

const LAUNDERS =
  'marks its run and makes its results known: if strangers can write what it returns, they make known what they like';

function pathOf(of: MarkReading['of'], rules: readonly Rule[]): Fault['path'] {
  if ('limit' in of) return ['limits', of.limit, 'sum'];
  const isAlone = typeof rules[of.rule]?.when === 'string';
  return ['rules', of.rule, 'when', ...(isAlone ? [] : [of.condition])];
}

function labelOf(of: MarkReading['of'], shown: (rule: number) => string): string {
  return 'limit' in of ? `limit "${of.limit}"` : `condition ${of.condition} of ${shown(of.rule)}`;
}
