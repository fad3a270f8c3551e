// Server-sent events read from an upstream, however it ends its lines and cuts its chunks.

import { expect, test } from 'bun:test';
import { readEvents } from '../../src/mcp/event-stream.ts';
import { countTurns } from '../support/turns.ts';

async function read(chunks: Uint8Array[], maxBytes = 1000) {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const found: string[] = [];
  for await (const { event, data } of readEvents(body, maxBytes)) found.push(`${event}=${data}`);
  return found;
}

const bytes = (text: string) => new TextEncoder().encode(text);
const LINES = [
  ': a comment',
  '',
  'id: 1',
  'data:',
  '',
  'event: message',
  'data: {"é":"😀"}',
  '',
  'data: two',
  'data:  lines',
  'retry: 5',
  '',
  'event: endpoint',
  'data:/there',
  '',
  '',
  'data: cut off',
];
const EXPECTED = ['message={"é":"😀"}', 'message=two\n lines', 'endpoint=/there'];

for (const [name, end] of Object.entries({ LF: '\n', CRLF: '\r\n', CR: '\r' })) {
  test(`lines that end with ${name}, cut at every place`, async () => {
    const whole = bytes(LINES.join(end));
    expect(await read([whole])).toEqual(EXPECTED);
    for (let at = 1; at < whole.length; at++) {
      expect(await read([whole.slice(0, at), whole.slice(at)])).toEqual(EXPECTED);
    }
    expect(await read(Array.from(whole, byte => Uint8Array.of(byte)))).toEqual(EXPECTED);
  });
}

test('an event that is too large ends the reading; many small ones do not', async () => {
  const small = `data: ${'x'.repeat(50)}\n\n`;
  expect((await read([bytes(small.repeat(100))], 10_000)).length).toBe(100);
  expect((await read(new Array(100).fill(bytes(small)), 100)).length).toBe(100);
  const line = [bytes('data: '), ...new Array(30).fill(bytes('x'.repeat(50)))];
  expect(read(line)).rejects.toThrow('too large');
  // Bytes count, not characters.
  expect(read([bytes(`data: ${'€'.repeat(30)}`), bytes('€'.repeat(4))], 100)).rejects.toThrow('too large');
  const manyLines = new Array(30).fill(bytes(`data: ${'x'.repeat(50)}\n`));
  expect(read(manyLines)).rejects.toThrow('too large');
});

test('a flood is read in slices, also where it makes no event, and everything else has its turn', async () => {
  for (const unit of ['\n', ':\n\n', 'id: 1\n\n', 'data: x\n\n']) {
    const others = countTurns();
    const found = await read([bytes(unit.repeat(100_000))], 1_000_000);
    const turns = others.stop();
    expect([unit, found.length]).toEqual([unit, unit.startsWith('data') ? 100_000 : 0]);
    expect(turns).toBeGreaterThan(50);
  }
});
