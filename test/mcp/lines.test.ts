// Lines of a stdio server, however it cuts its chunks, and the bound on one, in bytes.

import { expect, test } from 'bun:test';
import { Lines, readLines } from '../../src/mcp/lines.ts';
import { countTurns } from '../support/turns.ts';

const MIB = 1024 * 1024;
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

test('a line that is too long is passed over where others go on, and both its ends are told', () => {
  const long = `${'a'.repeat(300)}${'b'.repeat(5000)}${'c'.repeat(300)}`;
  const whole = bytes(`one\n${long}\ntwo\n`);
  for (const size of [1, 7, 250, 1001, whole.length]) {
    const told: string[][] = [];
    const wasPassedOver = (...ends: string[]) => told.push(ends);
    const lines = new Lines(1000, { isPassedOver: () => true, wasPassedOver });
    const found: string[] = [];
    for (let at = 0; at < whole.length; at += size) found.push(...lines.take(whole.subarray(at, at + size)));
    expect([size, ...found]).toEqual([size, 'one', '', 'two']);
    const [[beginning = '', end]] = told as [string[]];
    expect([told.length, beginning.slice(0, 200), end]).toEqual([1, 'a'.repeat(200), 'c'.repeat(200)]);
  }
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
    // Not after each line: every turn may cost as much as others have to do.
    expect(turns).toBeLessThan(1000);
  }
});

test('a long line is whole, however it is cut, and each byte of it is copied a few times at most', () => {
  const line = Array.from({ length: 4 * MIB }, (_, n) => (n % 1000 === 0 ? 'é' : 'x')).join('');
  const whole = bytes(`${line}\n`);
  const pieces = function* (size: number) {
    for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size);
  };
  // In the smallest pieces it would take minutes to copy all that was kept with each.
  for (const size of [16, 5000, MIB]) {
    const [read_] = read([...pieces(size)], 5 * MIB);
    expect(read_ === line).toBe(true);
  }
});

test('what was kept of a long line is let go with its end', () => {
  const external = () => {
    Bun.gc(true);
    return process.memoryUsage().external;
  };
  const readers = Array.from({ length: 10 }, () => new Lines(5 * MIB));
  const long = new Uint8Array(4 * MIB).fill(0x78);
  const before = external();
  for (const lines of readers) expect([...lines.take(long)]).toEqual([]);
  expect(external() - before).toBeGreaterThan(40 * MIB);
  for (const lines of readers) expect([...lines.take(bytes('\n'))][0]).toHaveLength(4 * MIB);
  expect(external() - before).toBeLessThan(10 * MIB);
  expect(readers).toHaveLength(10);
});
