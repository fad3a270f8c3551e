/** Does the work for each item, `atOnce` at a time. */
export async function parallel<T, R>(
  atOnce: number,
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++)
      results[index] = await work(items[index]!, index);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

/** Each hook is a process of its own. */
export const PROGRAMS_AT_ONCE = 3;
