// `Idempotency-Key: call` among the headers of a tool server: each call that is forwarded to it carries a key of its own, which
// is the same if the same call is sent twice. No other request carries it.

import { IDEMPOTENCY_HEADER } from '../../core/text/idempotency-key.ts';

const VALUE = 'call';

const isKey = (name: string): boolean => name.toLowerCase() === IDEMPOTENCY_HEADER.toLowerCase();
/** Older versions took other values, which are sent as they are. */
const isCallHeader = ([name, value]: [string, string]): boolean => isKey(name) && value === VALUE;

/** What is wrong with these headers, or null. With a fixed key, the server would take all calls for one. */
export function callHeaderFault(headers: Record<string, string>): string | null {
  const isWrong = Object.entries(headers).some(([name, value]) => isKey(name) && value !== VALUE);
  return isWrong
    ? `can have ${IDEMPOTENCY_HEADER} only with the value "${VALUE}", which stands for a key of each call`
    : null;
}

/** Whether calls to a server with these headers carry keys. */
export function namesCalls(headers: Record<string, string>): boolean {
  return Object.entries(headers).some(isCallHeader);
}

/** The headers of every request. */
export function withoutCallHeader(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(each => !isCallHeader(each)));
}
