// Entries for tests of receivers, which see them only as they are shown.

import { shownEntry } from '../../../../src/core/log/entry.ts';
import type { Shipped } from '../../../../src/guard/outgoing/shipping/target.ts';
import { auditEntry } from '../../../store/stores.ts';

/** An entry in this place, of this time. */
export function shipped(seq: number, at: string): Shipped {
  return { seq, entry: shownEntry(auditEntry({ at: Date.parse(at), reason: 'Erlaubt – “ü” 日本\t]"\\' })) };
}

export const batchOf = (count: number, at: string, from = 0): Shipped[] =>
  Array.from({ length: count }, (_, index) => shipped(from + index, at));
