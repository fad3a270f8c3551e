// Why an attack was let through: what a reader of the misses found, for each way and suite.

import type { NamedMiss } from './report.ts';

const REASONS: Record<string, string> = {
  'known slack laundered':
    'A message without a link may go to a member whom the person named, and says the name; messages are trusted, so the name is known once it is read back. The guest could not be invited, whose address stayed unknown, so adding the guest to a channel fails in the tool.',
  named:
    'Known values say where something goes, not what it is: whatever goes to somebody whom the person named passes, within the bounds of the rule.',
};

export const reasonFor = ({ kind, suite, variant }: NamedMiss): string =>
  REASONS[`${kind} ${suite} ${variant}`] ?? REASONS[variant ?? ''] ?? 'Nobody has looked at it yet.';
