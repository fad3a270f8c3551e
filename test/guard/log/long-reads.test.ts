// Long reads take turns: one at a time, in order, and only a few wait.

import { expect, test } from 'bun:test';
import { LongReads } from '../../../src/guard/log/long-reads.ts';
import { refusal } from '../../support/refusal.ts';

test('one reads at a time, in the order in which they came, and a failure ends only its own turn', async () => {
  const turns = new LongReads();
  const seen: string[] = [];
  const read = (name: string) =>
    turns.take(async () => {
      seen.push(`${name} begins`);
      await Bun.sleep(1);
      seen.push(`${name} ends`);
      if (name === 'b') throw new Error('b failed');
      return name;
    });
  const [a, b, c] = await Promise.allSettled([read('a'), read('b'), read('c')]);
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  expect([a.status, b.status, c.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('eight wait behind the one that reads; a further one is refused until there is room', async () => {
  const turns = new LongReads();
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const first = Array.from({ length: 9 }, () => turns.take(() => gate));
  const refused = await refusal(turns.take(() => gate));
  expect(refused).toMatchObject({ code: 'overloaded', retryAfter: 2 });
  open();
  await Promise.all(first);
  expect(await turns.take(async () => 'read')).toBe('read');
});
