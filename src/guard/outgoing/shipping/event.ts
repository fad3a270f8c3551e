// An entry as it stands in a shipped line, in the schema that the target wants.

import type { Schema } from '../../../core/shipping.ts';
import type { Shipped } from './target.ts';

export function eventOf({ seq, entry }: Shipped, _schema: Schema): object {
  return { seq, ...entry };
}
