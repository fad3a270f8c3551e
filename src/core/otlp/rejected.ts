// What a collector answers to a request of OTLP over HTTP with a status of 2xx: nothing, or how many of the items it did
// not take.

import { isObject } from '../wire/json.ts';
import { Malformed, messageAt, numberAt } from '../wire/protobuf.ts';

/** The fields of both messages: `partial_success` of the answer, and `rejected_…` in that. */
const PARTIAL_SUCCESS = 1;
const REJECTED = 1;

/** How many items were rejected. An answer that is not of the protocol says nothing about any. */
export function rejectedItems(answer: Uint8Array, name: 'rejectedLogRecords'): number {
  const text = new TextDecoder().decode(answer);
  // Some receivers answer in JSON whatever they were sent. No message of the protocol begins with this byte.
  if (text.startsWith('{')) return rejectedInJson(text, name);
  try {
    return numberAt(messageAt(answer, PARTIAL_SUCCESS), REJECTED);
  } catch (error) {
    if (error instanceof Malformed) return 0;
    throw error;
  }
}

function rejectedInJson(text: string, name: string): number {
  try {
    const answer: unknown = JSON.parse(text);
    const partial = isObject(answer) ? answer['partialSuccess'] : null;
    return isObject(partial) ? Number(partial[name]) || 0 : 0;
  } catch {
    return 0;
  }
}
