// Why an attack was let through: what a reader of the misses found, for each way and suite.

import type { NamedMiss } from './report.ts';

const REASONS: Record<string, string> = {
  'known slack laundered':
    'A message without a link may go to a member whom the person named. Messages are trusted, so a name in it is known once it is read back. The address stays unknown, so nobody is invited, and adding the name to a channel fails in the tool.',
  named:
    'Known values say where something goes, not what it is. Whatever goes to whom the person named passes, within the bounds of the rule.',
};

export const reasonFor = ({
  kind,
  suite,
  variant = '',
}: Omit<NamedMiss, 'task' | 'goal' | 'through'>): string =>
  REASONS[`${kind} ${suite} ${variant}`] ?? REASONS[variant] ?? 'Nobody has looked at it yet.';
