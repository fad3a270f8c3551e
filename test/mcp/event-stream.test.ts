// Server-sent events: read from an upstream, however it ends its lines and cuts its chunks, and written to a client,
// however slowly it reads.

import { heapStats } from 'bun:jsc';
import { afterEach, describe, expect, jest, test } from 'bun:test';
import { EventWriter } from '../../src/guard/rations/event-writer.ts';
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
    expect(turns).toBeLessThan(1000);
  }
});

test('an event of just the size that is allowed is taken, in one chunk or many', async () => {
  const event = bytes('data: 0123456789\n\n');
  expect(await read([event], event.length)).toEqual(['message=0123456789']);
  expect(await read([event.slice(0, 9), event.slice(9)], event.length)).toEqual(['message=0123456789']);
  expect(read([event], event.length - 1)).rejects.toThrow('too large');
  // What stands behind an event counts to the next one.
  const next = [bytes('data: 1\n\ndata: 0'), bytes('123456789\n\n')];
  expect(await read(next, 18)).toEqual(['message=1', 'message=0123456789']);
  expect(read(next, 17)).rejects.toThrow('too large');
});

test('an event of millions of short lines, or of short pieces of one, takes little more memory than its bytes', async () => {
  const used = () => {
    Bun.gc(true);
    return heapStats().heapSize;
  };
  const EVENT = 8 * 1024 * 1024;
  const floods = {
    'lines of data': [bytes('data:ab\n'.repeat(8192))],
    'other lines': [bytes('ab\n'.repeat(20_000))],
    'pieces of a line': [bytes('data: ab'), bytes('cd')],
  };
  for (const [name, [first = bytes(''), piece = first]] of Object.entries(floods)) {
    const before = used();
    let grown = 0;
    async function* body() {
      yield first;
      for (let sent = 0; sent < EVENT; sent += piece.length) yield piece;
      grown = used() - before;
      yield bytes('\n\n');
    }
    let found = 0;
    for await (const { data } of readEvents(body(), 2 * EVENT)) found += data.length;
    expect([name, found > 0]).toEqual([name, name !== 'other lines']);
    expect([name, grown < 4 * EVENT]).toEqual([name, true]);
  }
});

describe('a stream to a client', () => {
  const MOST = 1024 * 1024;
  const MOST_HINTS = 64 * 1024;
  const PIECE = 64 * 1024;
  afterEach(() => {
    jest.useRealTimers();
  });
  function opened(onKeepAlive?: () => void) {
    const ends = { count: 0 };
    const writer = new EventWriter(() => ends.count++, onKeepAlive);
    const reader = writer.body.getReader();
    const next = async () => {
      const { value, done } = await reader.read();
      return done ? null : new TextDecoder().decode(value);
    };
    return { writer, next, ends, reader };
  }

  test('carries messages, named events, places and the first words, until it is closed, once', async () => {
    const { writer, next, ends } = opened();
    writer.open();
    writer.place('7', 2000);
    writer.hint({ b: 2 });
    writer.tell('call', { c: 3 }, '8');
    writer.end({ a: 1 });
    expect([await next(), await next(), await next(), await next(), await next()]).toEqual([
      ': open\n\n',
      'retry: 2000\nid: 7\n\n',
      'event: message\ndata: {"b":2}\n\n',
      'id: 8\nevent: call\ndata: {"c":3}\n\n',
      'event: message\ndata: {"a":1}\n\n',
    ]);
    writer.close();
    writer.end({ too: 'late' });
    expect(await next()).toBeNull();
    expect(ends.count).toBe(1);
  });

  test('that the client leaves is over', async () => {
    const { writer, ends, reader } = opened();
    await reader.cancel();
    writer.end({});
    writer.close();
    expect(ends.count).toBe(1);
  });

  test('of a client that does not read: hints are lost, and named events end it', async () => {
    const { writer, next, ends } = opened();
    const frame = 'event: message\ndata: ""\n\n'.length;
    writer.hint('x'.repeat(MOST_HINTS - frame + 1));
    writer.hint('x'.repeat(MOST_HINTS - 2 * frame));
    writer.hint('');
    writer.hint('lost');
    writer.tell('call', 'x'.repeat(MOST - MOST_HINTS), '9');
    expect(ends.count).toBe(0);
    writer.tell('call', {}, '10');
    expect(ends.count).toBe(1);
    expect((await next())?.length).toBe(MOST_HINTS - frame);
    expect(await next()).toBe('event: message\ndata: ""\n\n');
    expect(await next()).toContain('id: 9');
    expect(await next()).toBeNull();
  });

  test('hands its last message out as fast as it is read, and is over when it is', async () => {
    const { writer, next, ends } = opened();
    const answer = 'x'.repeat(3 * PIECE);
    let pieces = 0;
    writer.hint({ before: true });
    writer.end(answer, () => pieces++);
    expect(await next()).toContain('before');
    let read = '';
    for (let piece = await next(); piece !== null; piece = await next()) {
      read += piece;
      expect(piece.length).toBeLessThanOrEqual(PIECE);
      // One piece is handed out before it is asked for.
      expect(pieces * PIECE).toBeLessThanOrEqual(read.length + 2 * PIECE);
    }
    expect(read).toBe(`event: message\ndata: "${answer}"\n\n`);
    expect([pieces, ends.count]).toEqual([4, 1]);
  });

  test('whose client leaves within the last message is over', async () => {
    const { writer, next, ends, reader } = opened();
    writer.end('x'.repeat(5 * PIECE));
    await next();
    expect(ends.count).toBe(0);
    await reader.cancel();
    expect(ends.count).toBe(1);
  });

  test('is kept alive every five seconds, unless the client does not read, and not after its end', async () => {
    jest.useFakeTimers();
    let looks = 0;
    const { writer, next } = opened(() => looks++);
    jest.advanceTimersByTime(4999);
    expect(looks).toBe(0);
    jest.advanceTimersByTime(1);
    expect(looks).toBe(1);
    expect(await next()).toBe(': keep-alive\n\n');
    writer.tell('call', 'x'.repeat(MOST), '1');
    jest.advanceTimersByTime(5000);
    expect(looks).toBe(2);
    writer.close();
    jest.advanceTimersByTime(20_000);
    expect(looks).toBe(2);
    await next();
    expect(await next()).toBeNull();
  });
});
