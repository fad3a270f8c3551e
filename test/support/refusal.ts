// What a promise was refused with. `expect(…).rejects` waits in a loop of its own, in which no word of a thread
// arrives: on SQLite, whose log is synced by a thread, it would wait for ever.

export async function refusal(promise: Promise<unknown>): Promise<unknown> {
  const result = await promise.then(
    value => ({ value }),
    error => ({ error }),
  );
  if ('error' in result) return result.error;
  throw new Error(`it was not refused, and gave ${JSON.stringify(result.value)}`);
}
