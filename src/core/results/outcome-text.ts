// What became of a result, for people.

import type { Outcome } from './apply.ts';

/** In a few words. */
export function outcomeText({ hidden, withheld, cut }: Outcome): string {
  if (withheld) return 'withheld';
  const names = Object.entries(hidden).map(([name, count]) => `${count} ${name}`);
  const done = [...(names.length > 0 ? [`hidden: ${names.join(', ')}`] : []), ...(cut ? ['cut'] : [])];
  return done.length === 0 ? 'passed on as it is' : done.join('; ');
}
