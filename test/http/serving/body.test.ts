// How bodies are read, by a server of the runtime itself and over plain sockets.

import { expect, test } from 'bun:test';
import { createConnection } from 'node:net';
import { GuardError } from '../../../src/core/errors.ts';
import { Rations, REQUEST_BYTES } from '../../../src/guard/rations/rations.ts';
import { readBytes } from '../../../src/http/serving/body.ts';

const CHUNKS = 60_000;
const MIB = 1024 * 1024;

interface Tried {
  status: number;
  /** Into how many pieces the body fell. */
  pieces: number;
}

/** Reads bodies with one caller's rations, and tells how. */
async function withServer(work: (port: number, rations: Rations) => Promise<void>): Promise<void> {
  const rations = new Rations();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async request => {
      const ration = rations.request(() => ({ name: 'key 1', anonymous: false }));
      let pieces = 0;
      const grow = ration.grow.bind(ration);
      ration.grow = bytes => {
        pieces++;
        grow(bytes);
      };
      try {
        const bytes = await readBytes(request, { limit: 4 * MIB, ration });
        return Response.json({ bytes: bytes.length, pieces });
      } catch (error) {
        const { code } = error as GuardError;
        return Response.json({ code, pieces }, { status: code === 'rate_limited' ? 429 : 413 });
      } finally {
        ration.free();
      }
    },
  });
  try {
    await work(server.port as number, rations);
  } finally {
    await server.stop(true);
  }
}

function send(port: number, lines: string[], body: string | Buffer): Promise<Tried> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1');
    let text = '';
    socket.on('data', chunk => {
      text += chunk.toString('latin1');
      const pieces = /"pieces":(\d+)/.exec(text);
      if (pieces === null) return;
      socket.destroy();
      resolve({ status: Number(text.slice(9, 12)), pieces: Number(pieces[1]) });
    });
    socket.on('error', reject);
    socket.write(`${['POST / HTTP/1.1', 'Host: x', ...lines].join('\r\n')}\r\n\r\n`);
    socket.write(body);
  });
}

test('a body in chunks of one byte is read in large pieces', async () => {
  await withServer(async port => {
    const chunks = Buffer.from(`${'1\r\n \r\n'.repeat(CHUNKS)}0\r\n\r\n`);
    const { status, pieces } = await send(port, ['Transfer-Encoding: chunked'], chunks);
    expect(status).toBe(200);
    expect(pieces).toBeLessThan(CHUNKS / 20);
  });
});

test('a body without a declared length is refused past its limit', async () => {
  await withServer(async (port, rations) => {
    const body = `${(5 * MIB).toString(16)}\r\n${'x'.repeat(5 * MIB)}\r\n0\r\n\r\n`;
    expect((await send(port, ['Transfer-Encoding: chunked'], body)).status).toBe(413);
    expect(rations.held.requests).toBe(0);
  });
});

test('bodies that never end fill the share of their caller, and the next one is refused', async () => {
  await withServer(async (port, rations) => {
    const held = Array.from({ length: REQUEST_BYTES / (2 * MIB) }, () => {
      const socket = createConnection(port, '127.0.0.1');
      socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${2 * MIB}\r\n\r\nx`);
      return socket;
    });
    while (rations.held.requests < REQUEST_BYTES) await Bun.sleep(5);
    const large = 'x'.repeat(100_000);
    expect((await send(port, ['Content-Length: 100000'], large)).status).toBe(429);
    // What is small has room at any time.
    expect((await send(port, ['Content-Length: 1000'], 'x'.repeat(1000))).status).toBe(200);
    for (const socket of held) socket.destroy();
    while (rations.held.requests > 0) await Bun.sleep(5);
    expect((await send(port, ['Content-Length: 100000'], large)).status).toBe(200);
  });
});

test('a full share of one key is none of another key’s business', () => {
  const rations = new Rations();
  const of = (name: string) => rations.request(() => ({ name, anonymous: false }));
  of('key 1').grow(REQUEST_BYTES);
  expect(() => of('key 1').grow(1)).toThrow(GuardError);
  of('key 2').grow(REQUEST_BYTES);
});
