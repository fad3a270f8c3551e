// Time as a bound: work that ends, one way or the other, before a moment or when the caller aborts. The work
// is told by a signal; whether it listens does not matter to the caller, who is answered in time anyway.

import { CallAborted, CallTimedOut, InvalidConfiguration } from './errors.ts';

/** What a timer can hold; more would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

export interface Bounds {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

export function wantTimeout(timeoutMs: number): number {
  if (typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= LONGEST_MS) return timeoutMs;
  throw new InvalidConfiguration(`timeoutMs must be more than 0 and at most ${LONGEST_MS} milliseconds.`);
}

export function within<T>(
  { timeoutMs, signal: outer }: Bounds,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (outer?.aborted) return Promise.reject(new CallAborted(outer.reason));
  const inner = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', aborted);
    };
    const stop = (error: Error) => {
      end();
      reject(error);
      inner.abort(error);
    };
    const aborted = () => stop(new CallAborted(outer?.reason));
    const timer = setTimeout(() => stop(new CallTimedOut(`No answer within ${timeoutMs} ms.`)), timeoutMs);
    outer?.addEventListener('abort', aborted, { once: true });
    work(inner.signal).then(resolve, reject).finally(end);
  });
}

/** Waits; an abort ends the wait with the signal's reason. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', aborted);
      resolve();
    }, ms);
    signal.addEventListener('abort', aborted, { once: true });
  });
}
