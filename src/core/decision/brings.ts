// What a call that is made means for its run: which marks it gives, and whether its result makes values known.

import { marksOf } from '../policy/policy.ts';
import type { Considered } from './consider.ts';

export interface Brings {
  marks: readonly string[];
  /** Whether what its result names becomes known. */
  knownResults: boolean;
}

/** The rule at `deciding`, which may have asked people, may be another one than the rule that applies. Both mark the run. */
export function broughtBy(
  { policy: { rules }, index }: Pick<Considered, 'policy' | 'index'>,
  deciding: number | null,
): Brings {
  const decides = deciding === null ? undefined : rules[deciding];
  const marks = [rules[index], decides].flatMap(rule => (rule === undefined ? [] : marksOf(rule)));
  return { marks: [...new Set(marks)], knownResults: decides?.known === 'results' };
}
