import { expect, test } from 'bun:test';
import { CallerTurns } from '../../../src/guard/rations/caller-turns.ts';

test('callers take turns, however much each of them waits with', async () => {
  const turns = new CallerTurns();
  const order: string[] = [];
  const piece = (caller: string) => turns.next(caller).then(() => order.push(caller));
  const all = [piece('a'), piece('a'), piece('a'), piece('b'), piece('b'), piece('c')];
  await Promise.all(all);
  expect(order.join('')).toBe('aabcab');
});

test('the event loop serves everything else before all pieces are done', async () => {
  const turns = new CallerTurns();
  const seen: string[] = [];
  const first = turns.next('a').then(() => setImmediate(() => seen.push('other')));
  const rest = ['b', 'c'].map(caller => turns.next(caller).then(() => seen.push(caller)));
  await Promise.all([first, ...rest]);
  // A piece that took long is followed by a rest, in which the other comes even before the second piece.
  expect(seen.indexOf('other')).toBeLessThan(seen.indexOf('c'));
});

test('pieces that come after all others have ended get their turn too', async () => {
  const turns = new CallerTurns();
  await turns.next('a');
  await new Promise(setImmediate);
  await turns.next('a');
  await turns.next('b');
});
