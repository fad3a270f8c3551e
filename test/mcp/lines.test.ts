// Lines of a stdio server, however it cuts its chunks, and the bound on one, in bytes.

import { expect, test } from 'bun:test';
import { Lines, readLines } from '../../src/mcp/lines.ts';
import { countTurns } from '../support/turns.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const read = (chunks: Uint8Array[], maxBytes = 1000) => {
  const lines = new Lines(maxBytes);
  return chunks.flatMap(chunk => [...lines.take(chunk)]);
};

test('cut at every place', () => {
  const whole = bytes('{"é":"😀"}\n\r\n  \ntwo\r\n\nthree\nnot ended');
  const expected = ['{"é":"😀"}', '', '', 'two', '', 'three'];
  expect(read([whole])).toEqual(expected);
  for (let at = 1; at < whole.length; at++) {
    expect(read([whole.slice(0, at), whole.slice(at)])).toEqual(expected);
  }
  expect(read(Array.from(whole, byte => Uint8Array.of(byte)))).toEqual(expected);
});

test('a line that is too long, in bytes, is refused, in one chunk or many; many short ones are not', () => {
  expect(read([bytes('x\n'.repeat(10_000))], 10).length).toBe(10_000);
  expect(read([bytes(`${'x'.repeat(10)}\n`)], 10)).toEqual(['x'.repeat(10)]);
  expect(() => read([bytes('€€€€')], 10)).toThrow('too long');
  expect(() => read([bytes(`${'€'.repeat(4)}\n`)], 10)).toThrow('too long');
  expect(() =>
    read(
      Array.from({ length: 11 }, () => bytes('x')),
      10,
    ),
  ).toThrow('too long');
  expect(read([bytes('xxxxx'), bytes('xxxxx\n')], 10)).toEqual(['x'.repeat(10)]);
  expect(() => read([bytes('xxxxx'), bytes('xxxxxx\n')], 10)).toThrow('too long');
});

test('a flood is read in slices, also where it holds nothing, and everything else has its turn', async () => {
  for (const unit of ['\n', ' \n', '{}\n']) {
    const others = countTurns();
    const chunks = async function* () {
      yield bytes(unit.repeat(100_000));
    };
    let found = 0;
    for await (const line of readLines(chunks(), 1000)) found += line === '{}' ? 1 : 0;
    const turns = others.stop();
    expect([unit, found]).toEqual([unit, unit === '{}\n' ? 100_000 : 0]);
    expect(turns).toBeGreaterThan(50);
  }
});
