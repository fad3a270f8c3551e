// The client for tool servers, against servers on bare sockets that answer what no library would: how a body ends, what
// is refused, which connections are used again, what is held back, and which certificates count.

import { afterAll, describe, expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, isIP, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { Chunks } from '../../../src/guard/outgoing/client/chunks.ts';
import { HttpClient, headerLines } from '../../../src/guard/outgoing/client/client.ts';
import { BadAnswer } from '../../../src/guard/outgoing/client/head.ts';
import { ResponseBody } from '../../../src/guard/outgoing/client/response.ts';
import type { Surroundings } from '../../../src/guard/outgoing/pins.ts';
import { until } from '../../support/faults.ts';
import { refusal } from '../../support/refusal.ts';

const closing: (() => void)[] = [];
afterAll(() => {
  for (const close of closing) close();
});

interface Bare {
  client: HttpClient;
  connections: Socket[];
  /** What was asked, one text for each time that something arrived. */
  heard: string[];
}

/** A server that does this with each thing that arrives, and a client for it. */
async function bare(
  onData: (socket: Socket, text: string, nth: number) => void,
  { scheme = 'http', ...surroundings }: Surroundings & { scheme?: string } = {},
): Promise<Bare> {
  const connections: Socket[] = [];
  const heard: string[] = [];
  const server = createServer(socket => {
    connections.push(socket);
    socket.on('error', () => {});
    socket.on('data', bytes => {
      heard.push(bytes.toString());
      onData(socket, bytes.toString(), heard.length);
    });
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  closing.push(() => {
    server.close();
    for (const each of connections) each.destroy();
  });
  const { port } = server.address() as { port: number };
  const client = new HttpClient(`${scheme}://127.0.0.1:${port}`, { allowPrivate: true }, surroundings);
  return { client, connections, heard };
}

const never = new AbortController().signal;
const request = (body: string | null = '{}', signal = never) =>
  ({ method: body === null ? 'GET' : 'POST', path: '/mcp?a=1', headers: '', body, signal }) as const;
const textOf = async (client: HttpClient, asked = request()) => {
  const answer = await client.send(asked);
  return `${answer.status} ${await answer.body.bytes(1000)}`;
};

/** Answers in pieces of this many bytes, each in a turn of its own. */
const inPieces = (answer: string, size: number) => async (socket: Socket) => {
  socket.setNoDelay(true);
  for (let at = 0; at < answer.length; at += size) {
    socket.write(answer.slice(at, at + size), 'latin1');
    if (size < answer.length) await new Promise(resolve => setImmediate(resolve));
  }
};

const READ: [name: string, answer: string, expected: string, again: boolean][] = [
  ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', '200 hello', true],
  ['no reason in the status line', 'HTTP/1.1 200\r\ncontent-length:5\r\n\r\nhello', '200 hello', true],
  ['an empty body', 'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n', '202 ', true],
  ['a status without a body', 'HTTP/1.1 204 No Content\r\n\r\n', '204 ', true],
  [
    'chunks',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nhe\r\n3;a=b\r\nllo\r\n0\r\nTrailer: x\r\n\r\n',
    '200 hello',
    true,
  ],
  [
    'interim answers',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi',
    '200 hi',
    true,
  ],
  [
    'a wish to close',
    'HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nhi',
    '200 hi',
    false,
  ],
  ['the older version', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi', '200 hi', false],
  ['more than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200', '200 hi', false],
  [
    'a length beside chunks',
    'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
    '200 hi',
    false,
  ],
];

describe('an answer', () => {
  for (const [name, answer, expected, again] of READ) {
    // What comes after an answer is noticed if it comes with it.
    for (const size of name.startsWith('more') ? [answer.length] : [answer.length, 1]) {
      test(`with ${name} is read${size === 1 ? ', byte by byte' : ''}`, async () => {
        const { client, connections } = await bare(inPieces(answer, size));
        expect(await textOf(client)).toBe(expected);
        await Bun.sleep(0);
        expect(await textOf(client)).toBe(expected);
        expect(connections).toHaveLength(again ? 1 : 2);
      });
    }
  }

  test('that ends with its connection is read to the end, and is a failure if the connection breaks', async () => {
    const { client, connections } = await bare((socket, _, nth) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\nall of it', () =>
        nth < 3 ? socket.end() : socket.resetAndDestroy(),
      );
    });
    for (let round = 0; round < 2; round++) expect(await textOf(client)).toBe('200 all of it');
    expect(connections).toHaveLength(2);
    expect(await refusal(textOf(client))).toBeInstanceOf(Error);
  });

  const REFUSED: [name: string, answer: string][] = [
    ['no status', 'hello\r\n\r\n'],
    ['another version', 'HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
    ['a folded header', 'HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n'],
    ['a blank before the colon', 'HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n'],
    ['a bare line feed', 'HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n'],
    ['a zero byte', 'HTTP/1.1 200 OK\r\nX: \0\r\nContent-Length: 0\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi'],
    ['a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nhi'],
    ['a length with a sign', 'HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi'],
    ['an unknown encoding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
    ['chunks of the older version', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    [
      'chunks without a number',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nhi\r\n0\r\n\r\n',
    ],
    [
      'a chunk that is too long',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi!\r\n0\r\n\r\n',
    ],
    ['chunks with bare line feeds', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nhi\n0\n\n'],
    ['a line without end', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;${'x'.repeat(2000)}`],
    [
      'trailers without end',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${'X: y\r\n'.repeat(20)}`,
    ],
    ['a head without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}`],
    ['interim answers without end', `HTTP/1.1 100 Continue\r\nX: ${'x'.repeat(1000)}\r\n\r\n`.repeat(70)],
    ['headers without end', `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(300)}\r\n`],
  ];
  for (const [name, answer] of REFUSED) {
    test(`with ${name} is refused, and its connection closed`, async () => {
      const { client, connections } = await bare(socket => socket.write(answer, 'latin1'));
      expect(await refusal(textOf(client))).toBeInstanceOf(BadAnswer);
      await until('it was closed', () => connections[0]?.destroyed === true);
    });
  }

  test('that is cut off is a failure', async () => {
    for (const answer of ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel', 'HTTP/1.1 200', '']) {
      const { client } = await bare(socket => socket.end(answer));
      expect(await refusal(textOf(client))).toBeInstanceOf(Error);
    }
  });

  test('larger than wanted is not read, whatever length it declares', async () => {
    const heads = ['Content-Length: 3000000', 'Transfer-Encoding: chunked', 'X: y'];
    for (const head of heads) {
      const chunked = head.includes('chunked');
      const { client, connections } = await bare(socket => {
        socket.write(
          `HTTP/1.1 200 OK\r\n${head}\r\n\r\n${chunked ? '2dc6c0\r\n' : ''}${'x'.repeat(3_000_000)}`,
        );
      });
      const answer = await client.send(request());
      expect(await answer.body.bytes(1000)).toBeNull();
      await until('it was closed', () => connections[0]?.destroyed === true);
    }
  });

  test('that nobody reads is held back, and comes whole once somebody does', async () => {
    const part = 'x'.repeat(65_536);
    let sent = 0;
    const { client } = await bare(socket => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      const pour = () => {
        while (sent < 512) {
          sent++;
          if (!socket.write(`10000\r\n${part}\r\n`)) return;
        }
        socket.removeListener('drain', pour);
        socket.write('0\r\n\r\n');
      };
      socket.on('drain', pour);
      pour();
    });
    const answer = await client.send(request());
    let before = -1;
    await until('the server waits', async () => {
      const stands = sent === before;
      before = sent;
      await Bun.sleep(20);
      return stands;
    });
    // The kernel holds some megabytes for both sides.
    expect(sent).toBeLessThan(400);
    expect((await answer.body.bytes(64 * 1024 * 1024))?.length).toBe(512 * 65_536);
  });

  test('that nobody reads does not hold back the next one on its connection', () => {
    const told: string[] = [];
    const tell = (word: string) => () => told.push(word);
    const body = new ResponseBody({ pause: tell('pause'), resume: tell('resume'), destroy: tell('destroy') });
    body.push(Buffer.alloc(2_000_000));
    body.end();
    body.cancel();
    expect(told).toEqual(['pause', 'resume']);
  });

  test('in a million chunks is one part of a body for each time that something arrives', () => {
    const chunks = new Chunks();
    const parts: string[] = [];
    const read = (text: string) => chunks.read(Buffer.from(text), part => parts.push(part.toString()));
    read(`${'1\r\nx\r\n'.repeat(1000)}3\r\nab`);
    read('c\r\n4\r\ndefg\r\n1');
    expect(read('0\r\n0123456789abcdef\r\n0\r\n\r\nmore')).toBe(26);
    expect(parts).toEqual([`${'x'.repeat(1000)}ab`, 'cdefg', '0123456789abcdef']);
  });
});

describe('a request', () => {
  test('names the host, its length in bytes and nothing that could be unpacked; one without a body has none', async () => {
    const { client, heard } = await bare(socket => socket.write('HTTP/1.1 204 No\r\n\r\n'));
    await client.send(request('{"é":1}'));
    await client.send({ ...request(null), headers: headerLines({ Accept: 'x' }) });
    const host = /\r\nHost: (127\.0\.0\.1:\d+)\r\n/.exec(heard[0] as string)?.[1];
    expect(heard).toEqual([
      `POST /mcp?a=1 HTTP/1.1\r\nHost: ${host}\r\nAccept-Encoding: identity\r\nContent-Length: 8\r\n\r\n{"é":1}`,
      `GET /mcp?a=1 HTTP/1.1\r\nHost: ${host}\r\nAccept-Encoding: identity\r\nUser-Agent: toolgate\r\nAccept: x\r\n\r\n`,
    ]);
  });

  test('of many megabytes arrives whole, though the server reads it late', async () => {
    let size = 0;
    const { client, connections } = await bare((socket, text) => {
      if (size === 0) {
        socket.pause();
        setTimeout(() => socket.resume(), 50);
      }
      size += Buffer.byteLength(text);
      if (text.endsWith('end')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
    const body = `${'x'.repeat(20_000_000)}end`;
    expect(await textOf(client, request(body))).toBe('200 ok');
    expect(size).toBeGreaterThan(body.length);
    expect(connections).toHaveLength(1);
  });

  test('is given up as soon as its signal says so: before it is sent, before its answer, and within it', async () => {
    const { client, connections, heard } = await bare((socket, _, nth) => {
      if (nth === 2) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel');
      if (nth === 3) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
    const reason = new Error('enough');
    expect(await refusal(client.send(request('{}', AbortSignal.abort(reason))))).toBe(reason);
    for (let nth = 1; nth <= 2; nth++) {
      const cancel = new AbortController();
      const asked = textOf(client, request('{}', cancel.signal));
      await until('it arrived', () => heard.length === nth);
      await Bun.sleep(5);
      cancel.abort(reason);
      expect(await refusal(asked)).toBe(reason);
      await until('its connection was closed', () => connections.every(each => each.destroyed));
    }
    // One that was answered leaves its connection to the next, whatever becomes of its signal.
    const answered = new AbortController();
    expect(await textOf(client, request('{}', answered.signal))).toBe('200 ok');
    answered.abort();
    expect(connections.at(-1)?.destroyed).toBe(false);
  });

  test('is not sent twice, though its connection was open before and is closed without an answer', async () => {
    const { client, heard } = await bare((socket, _, nth) => {
      if (nth === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      else socket.end();
    });
    expect(await textOf(client)).toBe('200 ok');
    expect(await refusal(textOf(client))).toBeInstanceOf(Error);
    expect(heard).toHaveLength(2);
  });

  test('finds no connection that the server has closed, or on which it sent what nobody asked for', async () => {
    const { client, connections } = await bare(socket => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
    for (const spoil of [(each: Socket) => each.end(), (each: Socket) => each.write('HTTP/1.1 200 OK\r\n')]) {
      expect(await textOf(client)).toBe('200 ok');
      const socket = connections.at(-1) as Socket;
      spoil(socket);
      await until('it is closed', () => socket.destroyed);
    }
    expect(await textOf(client)).toBe('200 ok');
    expect(connections).toHaveLength(3);
  });

  test('finds no connection that was idle for as long as servers keep one, or as this one said', async () => {
    for (const [said, keptMs] of [
      ['X: y', 4000],
      ['Keep-Alive: max=100', 4000],
      ['Keep-Alive: timeout=5', 4000],
      ['keep-alive: max=9, Timeout = 2', 1000],
      ['Keep-Alive: timeout=1', 0],
      ['Keep-Alive: timeout=0', 0],
      ['Keep-Alive: timeout=86400', 60_000],
    ] as const) {
      let now = 0;
      const { client, connections } = await bare(
        socket => socket.write(`HTTP/1.1 200 OK\r\n${said}\r\nContent-Length: 2\r\n\r\nok`),
        { now: () => now },
      );
      for (const wait of [0, keptMs - 1, keptMs]) {
        now += Math.max(0, wait);
        expect(await textOf(client)).toBe('200 ok');
      }
      expect(`${said} ${connections.length}`).toBe(`${said} ${keptMs === 0 ? 3 : 2}`);
      client.close();
    }
  });

  test('that is given up during the handshake of TLS leaves no connection', async () => {
    const { client, connections, heard } = await bare(() => {}, { scheme: 'https' });
    const cancel = new AbortController();
    const asked = client.send(request('{}', cancel.signal));
    await until('the handshake began', () => heard.length === 1);
    cancel.abort(new Error('enough'));
    expect(await refusal(asked)).toBe(cancel.signal.reason);
    await until('it was closed', () => connections[0]?.destroyed === true);
  });

  test('leaves at most 64 connections open, and none once the client is closed', async () => {
    const { client, connections } = await bare(socket => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
    const open = () => connections.filter(each => !each.destroyed).length;
    await Promise.all(Array.from({ length: 100 }, () => textOf(client)));
    await until('some are closed', () => open() === 64);
    client.close();
    await until('all are closed', () => open() === 0);
    expect(await textOf(client)).toBe('200 ok');
    await until('it is not kept', () => open() === 0);
  });
});

describe('a name with several addresses', () => {
  const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  /** A port at which nobody listens, at whichever address: other tests run at the same time. */
  async function free(): Promise<number> {
    const everywhere = createServer();
    await new Promise<void>(resolve => everywhere.listen(0, '0.0.0.0', resolve));
    const { port } = everywhere.address() as { port: number };
    await new Promise(resolve => everywhere.close(resolve));
    return port;
  }
  /** A server at one address of this machine. */
  async function at(host: string, port: number, onData: (socket: Socket) => void) {
    const sockets: Socket[] = [];
    let heard = 0;
    const server = createServer(socket => {
      sockets.push(socket);
      socket.on('error', () => {});
      socket.on('data', () => {
        heard++;
        onData(socket);
      });
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.on('error', reject);
    server.listen(port === 0 ? await free() : port, host, resolve);
    await promise;
    const stop = () => {
      server.close();
      for (const each of sockets) each.destroy();
    };
    closing.push(stop);
    return { port: (server.address() as { port: number }).port, heard: () => heard, sockets, stop };
  }
  const named = (port: number, addresses: string[], more: Surroundings = {}, scheme = 'http') =>
    new HttpClient(
      `${scheme}://tools.example:${port}`,
      { allowPrivate: true },
      { resolve: async () => addresses.map(address => ({ address })), ...more },
    );

  test('is reached at the next one where the first takes no connection, and stays there', async () => {
    let now = 0;
    const second = await at('127.0.0.2', 0, socket => socket.write(OK));
    const client = named(second.port, ['127.0.0.1', '127.0.0.2'], { now: () => now });
    expect(await textOf(client)).toBe('200 ok');
    const first = await at('127.0.0.1', second.port, socket => socket.write(OK));
    now = 60_000;
    expect(await textOf(client)).toBe('200 ok');
    expect([first.sockets.length, second.heard()]).toEqual([0, 2]);
    second.stop();
    now = 120_000;
    expect(await textOf(client)).toBe('200 ok');
    expect(first.heard()).toBe(1);
  });

  test('is reached at the next one where the first is silent', async () => {
    const silent = await at('127.0.0.1', 0, () => {});
    const client = named(silent.port, ['127.0.0.1', '127.0.0.2'], { connectMs: 50 }, 'https');
    // At the second nobody listens.
    expect(await refusal(textOf(client))).toMatchObject({ code: 'ECONNREFUSED' });
    await until(
      'the first is let go',
      () => silent.sockets.length > 0 && silent.sockets.every(each => each.destroyed),
    );
    expect(silent.sockets).toHaveLength(1);
  });

  test('is sent nothing again once one of them may have seen it', async () => {
    const first = await at('127.0.0.1', 0, socket => socket.destroy());
    const second = await at('127.0.0.2', first.port, socket => socket.write(OK));
    expect(await refusal(textOf(named(first.port, ['127.0.0.1', '127.0.0.2'])))).toBeInstanceOf(Error);
    expect([first.heard(), second.sockets.length]).toEqual([1, 0]);
  });

  test('is sent nothing if one of them is not allowed', async () => {
    const first = await at('127.0.0.1', 0, socket => socket.write(OK));
    const said = await refusal(textOf(named(first.port, ['127.0.0.1', '169.254.169.254'])));
    expect((said as Error).message).toContain('link-local');
    expect(first.sockets).toEqual([]);
  });

  test('gives the error of the last one, and of eight at most', async () => {
    const ninth = await at('127.0.0.9', 0, socket => socket.write(OK));
    const all = Array.from({ length: 9 }, (_, each) => `127.0.0.${each + 1}`);
    expect(await refusal(textOf(named(ninth.port, all)))).toMatchObject({ code: 'ECONNREFUSED' });
    expect(ninth.sockets).toEqual([]);
    expect(await textOf(named(ninth.port, all.slice(1)))).toBe('200 ok');
  });

  test('is given up with the request', async () => {
    const silent = await at('127.0.0.1', 0, () => {});
    const cancel = new AbortController();
    const client = named(silent.port, ['127.0.0.1', '127.0.0.2'], { connectMs: 60_000 }, 'https');
    const said = refusal(textOf(client, request('{}', cancel.signal)));
    await until('it is connecting', () => silent.sockets.length === 1);
    cancel.abort(new Error('enough'));
    expect(await said).toMatchObject({ message: 'enough' });
    await until('the first is let go', () => silent.sockets.every(each => each.destroyed));
  });
});

test('headers that would be more than one are not sent, nor those that are the client’s own', () => {
  for (const [name, value] of [
    ['X', 'a\r\nY: b'],
    ['X', 'a\nb'],
    ['X', 'é'],
    ['X: y', 'z'],
    ['', 'z'],
  ] as const)
    expect(() => headerLines({ [name]: value })).toThrow(TypeError);
  const own = {
    host: 'a',
    'Content-Length': '1',
    'TRANSFER-ENCODING': 'x',
    Connection: 'y',
    'accept-encoding': 'z',
  };
  expect(headerLines({ ...own, 'user-agent': 'me', A: 'b' })).toBe('user-agent: me\r\nA: b\r\n');
});

describe('over TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-client-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const certify = (name: string) => {
    const made = spawnSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
        ...['-subj', `/CN=${name}`, '-addext', `subjectAltName=${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`],
        ...['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.pem`)],
      ],
      { encoding: 'utf8' },
    );
    if (made.status !== 0) throw new Error(made.stderr);
    return {
      key: readFileSync(join(folder, `${name}.key`)),
      cert: readFileSync(join(folder, `${name}.pem`)),
    };
  };
  const serving = (name: string) => {
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      tls: certify(name),
      fetch: request => new Response(`${request.method} for ${request.headers.get('host')}`),
    });
    closing.push(() => server.stop(true));
    return server.port as number;
  };

  /** Asks in a process that trusts the certificate of this name, since that is read at its start. */
  async function asking(port: number, trusted: string | null, host = 'tools.example'): Promise<string> {
    const script = `
      import { HttpClient } from ${JSON.stringify(join(import.meta.dir, '../../../src/guard/outgoing/client/client.ts'))};
      const resolve = async () => [{ address: '127.0.0.1' }];
      const client = new HttpClient('https://${host}:${port}', { allowPrivate: true }, { resolve });
      const asked = { method: 'GET', path: '/', headers: '', body: null, signal: new AbortController().signal };
      const ask = () => client.send(asked).then(async answer => String(await answer.body.bytes(100)), error => error.code);
      console.log(await ask(), await ask());
      process.exit(0);`;
    const env = {
      ...process.env,
      NODE_EXTRA_CA_CERTS: trusted === null ? '' : join(folder, `${trusted}.pem`),
    };
    const child = Bun.spawn([process.execPath, '-e', script], { env, stdout: 'pipe', stderr: 'inherit' });
    return (await child.stdout.text()).trim().replaceAll(String(port), 'port');
  }

  test('the certificate has to be trusted, and to be for the name that was asked for, not for the address', async () => {
    const right = serving('tools.example');
    const other = serving('other.example');
    const [trusted, untrusted, foreign] = await Promise.all([
      asking(right, 'tools.example'),
      asking(right, null),
      asking(other, 'other.example'),
    ]);
    expect(trusted).toBe('GET for tools.example:port GET for tools.example:port');
    expect(untrusted).toBe('DEPTH_ZERO_SELF_SIGNED_CERT DEPTH_ZERO_SELF_SIGNED_CERT');
    expect(foreign).toBe('ERR_TLS_CERT_ALTNAME_INVALID ERR_TLS_CERT_ALTNAME_INVALID');
  });

  test('an address is not told to the server as its name, and the certificate has to be for it', async () => {
    const named: string[] = [];
    const certificate = certify('127.0.0.1');
    const server = createTlsServer(
      { ...certificate, SNICallback: (name, done) => done(null, void named.push(name)) },
      socket => socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')),
    );
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(0, '127.0.0.1', resolve);
    await promise;
    closing.push(() => server.close());
    const { port } = server.address() as { port: number };
    const other = serving('127.0.0.9');
    const [right, foreign] = await Promise.all([
      asking(port, '127.0.0.1', '127.0.0.1'),
      asking(other, '127.0.0.9', '127.0.0.1'),
    ]);
    expect(right).toBe('ok ok');
    expect(foreign).toBe('ERR_TLS_CERT_ALTNAME_INVALID ERR_TLS_CERT_ALTNAME_INVALID');
    expect(named).toEqual([]);
  });
});
