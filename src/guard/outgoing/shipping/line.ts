// How an entry is written for receivers: one line of JSON, in the schema that the server file chooses.

import { ocsfEvent } from '../../../core/ocsf.ts';
import type { Schema } from '../../../core/shipping.ts';
import type { Shipped } from './target.ts';

export function shippedValue({ seq, entry }: Shipped, schema: Schema): object {
  return schema === 'ocsf' ? ocsfEvent(seq, entry) : { seq, ...entry };
}

/** The line, without a line break at its end. */
export function shippedLine(shipped: Shipped, schema: Schema): string {
  return JSON.stringify(shippedValue(shipped, schema));
}
