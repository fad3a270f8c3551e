// CallSlots for what is forwarded, counted for each key and each Connected Tool; and others' turns between slices of what
// an upstream says.

import { expect, test } from 'bun:test';
import { CallSlots } from '../../src/mcp/call-slots.ts';
import { ReadSlices } from '../../src/mcp/read-slices.ts';

const tool = (keyId: string, id: string) => ({ keyId, id });

test('each key and each Connected Tool has its places, and gets back what was freed', () => {
  const places = new CallSlots({ perKey: 3, perConnectedTool: 2 });
  const first = places.take(tool('k', 'a'));
  const second = places.take(tool('k', 'a'));
  expect([first.none, second.none]).toEqual([undefined, undefined]);
  expect(places.take(tool('k', 'a')).none).toEqual({ atMost: 2, of: 'connected_tool' });
  const third = places.take(tool('k', 'b'));
  expect(third.none).toBeUndefined();
  const refused = places.take(tool('k', 'c'));
  expect(refused.none).toEqual({ atMost: 3, of: 'key' });
  // What was not taken gives nothing back.
  refused.free();
  expect(places.take(tool('k', 'c')).none).toEqual({ atMost: 3, of: 'key' });
  expect(places.take(tool('other', 'd')).none).toBeUndefined();
  first.free();
  const again = places.take(tool('k', 'a'));
  expect(again.none).toBeUndefined();
  expect(places.take(tool('k', 'c')).none).toEqual({ atMost: 3, of: 'key' });
  for (const each of [second, third, again]) each.free();
  const taken = [tool('k', 'a'), tool('k', 'a'), tool('k', 'b')].map(each => places.take(each));
  expect(taken.map(each => each.none)).toEqual([undefined, undefined, undefined]);
  expect(places.take(tool('k', 'b')).none).toEqual({ atMost: 3, of: 'key' });
});

test('others have their turn after 64 KiB, of which a line takes 64 bytes more than it holds, and again', async () => {
  const turns = new ReadSlices();
  for (let round = 0; round < 2; round++) {
    expect([turns.took(40_000), turns.took(65_535 - 40_000 - 3 * 64)]).toEqual([null, null]);
    const turn = turns.took(1);
    expect(turn).toBeInstanceOf(Promise);
    await turn;
    for (let line = 1; line < 1024; line++) expect(turns.took(0)).toBeNull();
    expect(turns.took(0)).toBeInstanceOf(Promise);
  }
});
