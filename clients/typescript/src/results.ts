// What a call brought back, as the service looks at it: an MCP result, of which it gives back what may be passed on.
// Nothing here lets a result pass without an answer.

import { InvalidRequest } from './errors.ts';
import { fieldsOf, listOf, own } from './shape.ts';
import type { AllowVerdict } from './verdict.ts';

/** What the service gives in the place of a result that it withholds. */
export interface WithheldResult {
  content: { type: 'text'; text: string }[];
  isError: true;
}

/** What the service takes, in bytes of UTF-8. */
const LIMIT = 6 * 1024 * 1024;
/** Hiding can make a result longer. */
export const GUARDED_LIMIT = 64 * 1024 * 1024;

/** Whether the policy has a say about what this call brings back. */
export function isLookedAt(verdict: AllowVerdict): boolean {
  if (verdict.decision === 'allow') return verdict.results === true;
  throw invalid('Only a call that was allowed has a result.');
}

/** The request, or the error that says why nobody can look at the result. */
export function resultBody({ toolCallId }: AllowVerdict, result: object): string {
  const body = written({ toolCallId, result });
  if (new TextEncoder().encode(body).length <= LIMIT) return body;
  throw invalid('The result is larger than 6 MiB, so nobody can look at it.', 'too_large');
}

/** Reads what the service gave back for this result. An answer in which the result's contents are missing is none. */
export function readGuarded<R extends object>(result: R): (value: unknown) => R | WithheldResult {
  return value => {
    const fields = fieldsOf(value, 'the result');
    if (own(fields, 'content') !== undefined || Object.hasOwn(result, 'content')) listOf(fields, 'content');
    return fields as unknown as R | WithheldResult;
  };
}

function written(body: object): string {
  try {
    return JSON.stringify(body);
  } catch {
    throw invalid('The result cannot be written as JSON.');
  }
}

function invalid(message: string, code = 'invalid_request'): InvalidRequest {
  return new InvalidRequest(message, null, null, code);
}
