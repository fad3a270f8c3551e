// Waits for something, but no longer than somebody wants it.

/** Settles as `waiting` does, or rejects with the reason of the signal as soon as it is aborted. */
export function unlessAborted<T>(waiting: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const aborted = () => reject(signal.reason);
  if (signal.aborted) aborted();
  signal.addEventListener('abort', aborted, { once: true });
  waiting.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  return promise;
}
