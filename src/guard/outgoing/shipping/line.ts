// How an entry is written for receivers: one line of JSON, in the schema that the server file chooses.

import { ocsfEvent } from '../../../core/log/ocsf.ts';
import type { Schema } from '../../../core/log/shipping.ts';
import type { Shipped } from './target.ts';

export function shippedValue({ seq, entry }: Shipped, schema: Schema): object {
  return schema === 'ocsf' ? ocsfEvent(seq, entry) : { seq, ...entry };
}

/** The line, without a line break at its end. */
export function shippedLine(shipped: Shipped, schema: Schema): string {
  return inOneLine(shippedValue(shipped, schema));
}

/** What JSON may contain as it is, but many programs take for a line break or a control character. */
const ODD = /[\u007f-\u009f\u2028\u2029]/g;

/** A value as JSON that stays one line, however the receiver divides a text into lines. */
export function inOneLine(value: object): string {
  return JSON.stringify(value).replace(ODD, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
