// The sender against receivers that behave, misbehave and disappear, over real sockets on loopback.

import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Resolve } from '../../../src/guard/outgoing/addresses.ts';
import { type SendRequest, sendJson } from '../../../src/guard/outgoing/send.ts';
import { need } from '../../support/need.ts';
import { ROOT } from '../../support/service.ts';

const NAME = 'hooks.example.test';
const LONG_MS = 20_000;
const closing: (() => unknown)[] = [];
afterAll(() => Promise.all(closing.map(close => close())));

const toLoopback: Resolve = async () => [{ address: '127.0.0.1' }];

function send(port: number, more: Partial<SendRequest> = {}) {
  const url = `http://127.0.0.1:${port}/in?token=s3cret`;
  const rules = { allowPrivate: true };
  return sendJson({ url, headers: {}, body: '{"a":1}', timeoutMs: LONG_MS, rules, ...more });
}

async function failure(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (each: unknown) => each,
  );
  expect(error).toBeInstanceOf(Error);
  const { message } = error as Error;
  expect(message).not.toContain('s3cret');
  return message;
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('waited a minute in vain');
    await Bun.sleep(5);
  }
}

interface Receiver {
  port: number;
  received: string;
  opened: number;
  closed: number;
  drop: () => void;
}

/** A receiver that says exactly what `behave` writes, once it has the request. */
async function receiver(
  behave: (socket: Socket) => void,
  at = { host: '127.0.0.1', port: 0 },
): Promise<Receiver> {
  const sockets = new Set<Socket>();
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  const seen: Receiver = { port: 0, received: '', opened: 0, closed: 0, drop };
  const server: Server = createServer(socket => {
    seen.opened++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      seen.closed++;
      sockets.delete(socket);
    });
    socket.once('data', () => behave(socket));
    socket.on('data', chunk => {
      seen.received += chunk.toString('latin1');
    });
  });
  await new Promise<void>((resolve, reject) => server.on('error', reject).listen(at, resolve));
  closing.push(() => {
    drop();
    server.close();
  });
  seen.port = (server.address() as AddressInfo).port;
  return seen;
}

const answering = (text: string | Uint8Array) => receiver(socket => socket.end(text));
const HEAD = 'HTTP/1.1 200 OK\r\n';
const withBody = (body: string) => `${HEAD}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

function trickle(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 20);
  socket.on('close', () => clearInterval(timer));
}

function flood(socket: Socket, head: string, piece: string): void {
  const pour = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', pour);
  socket.write(head);
  pour();
}

describe('a receiver that answers', () => {
  test('gets one POST with the body as given, the headers and the host, on a connection of its own', async () => {
    const seen = await answering(withBody('fine'));
    const body = '{"ü":  1}';
    const result = await send(seen.port, { body, headers: { 'webhook-id': 'msg_1' } });
    expect(result).toMatchObject({ status: 200, durationMs: expect.any(Number), response: 'fine' });
    expect(Buffer.from(result.bytes).toString()).toBe('fine');
    const [head, sent] = seen.received.split('\r\n\r\n') as [string, string];
    expect(Buffer.from(sent, 'latin1').toString()).toBe(body);
    const lines = head.toLowerCase().split('\r\n');
    expect(lines[0]).toBe('post /in?token=s3cret http/1.1');
    expect(lines).toContain(`host: 127.0.0.1:${seen.port}`);
    expect(lines).toContain('content-type: application/json');
    expect(lines).toContain(`content-length: ${Buffer.byteLength(body)}`);
    expect(lines).toContain('webhook-id: msg_1');
    expect(lines).toContain('connection: close');
    await until(() => seen.closed === 1);
  });

  test('it says how long the exchange took, and nothing else', async () => {
    const seen = await answering(withBody('x'));
    const begun = performance.now();
    const { durationMs } = await send(seen.port);
    expect(durationMs).toBeGreaterThanOrEqual(0);
    expect(durationMs).toBeLessThanOrEqual(Math.ceil(performance.now() - begun));
  });

  test('any status is an answer', async () => {
    for (const status of [204, 400, 404, 410, 500, 503]) {
      const seen = await answering(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`);
      expect((await send(seen.port)).status).toBe(status);
    }
  });

  test('a redirect is a status and nothing more', async () => {
    const elsewhere = await answering(withBody('taken in'));
    for (const status of [301, 302, 303, 307, 308]) {
      const location = `http://127.0.0.1:${elsewhere.port}/`;
      const seen = await answering(
        `HTTP/1.1 ${status} X\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`,
      );
      expect((await send(seen.port)).status).toBe(status);
    }
    expect(elsewhere.opened).toBe(0);
  });

  test('informational answers are passed over', async () => {
    const seen = await answering(
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n${withBody('x')}`,
    );
    expect((await send(seen.port)).status).toBe(200);
  });

  test('control and invisible characters of the answer are shown escaped', async () => {
    const seen = await answering(withBody('a\n\t\r\u001b[31mred\u0000\u007f\u202e\u200bé\u2028'));
    expect((await send(seen.port)).response).toBe(
      'a\\n\\t\\r\\u001b[31mred\\u0000\\u007f\\u202e\\u200bé\\u2028',
    );
  });

  test('bytes that are not UTF-8 are replaced, and a character cut in two is left out', async () => {
    const head = Buffer.from(`${HEAD}Content-Length: 4\r\n\r\n`);
    const broken = await answering(Buffer.concat([head, Buffer.from([0x61, 0xff, 0xc3, 0x62])]));
    expect((await send(broken.port)).response).toBe('a\ufffd\ufffdb');
    const long = await answering(withBody('é'.repeat(10)));
    expect((await send(long.port, { maxResponseBytes: 5 })).response).toBe('éé');
  });

  test('an endless answer is cut at the limit and its connection dropped', async () => {
    const seen = await receiver(socket => flood(socket, `${HEAD}\r\n`, 'a'.repeat(65_536)));
    expect((await send(seen.port)).response).toBe('a'.repeat(1024));
    await until(() => seen.closed === 1);
    const short = await receiver(socket => flood(socket, `${HEAD}\r\n`, 'a'.repeat(65_536)));
    expect((await send(short.port, { maxResponseBytes: 10 })).response).toBe('a'.repeat(10));
  });

  test('a compressed answer is not unpacked', async () => {
    const packed = gzipSync('x'.repeat(1_000_000));
    const head = `${HEAD}Content-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`;
    const seen = await answering(Buffer.concat([Buffer.from(head), packed]));
    expect((await send(seen.port)).response).not.toContain('xx');
  });
});

const SHORT_MS = 200;
const LATE = 'no answer within 0.2 s';

/** In so short a time a machine that stalls may not get as far as to connect: then it is tried again. */
async function givenUp(seen: Receiver, sending: () => Promise<unknown>): Promise<void> {
  do expect(await failure(sending())).toBe(LATE);
  while (seen.opened === 0);
  await until(() => seen.closed === seen.opened);
}

describe('a receiver that does not answer', () => {
  const STALLS: [string, (socket: Socket) => void][] = [
    ['says nothing', () => {}],
    [
      'sends its headers line by line, without end',
      socket => {
        socket.write(HEAD);
        trickle(socket, 'x-a: b\r\n');
      },
    ],
    [
      'sends its body byte by byte',
      socket => {
        socket.write(`${HEAD}Content-Length: 900\r\n\r\n`);
        trickle(socket, 'x');
      },
    ],
    [
      'sends informational answers without end',
      socket => trickle(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'),
    ],
  ];
  for (const [what, behave] of STALLS) {
    test(`${what}: given up in time, and the connection is closed`, async () => {
      const seen = await receiver(behave);
      await givenUp(seen, () => send(seen.port, { timeoutMs: SHORT_MS }));
    });
  }

  test('a name look-up that never ends counts as well, and nothing is sent when it ends late', async () => {
    const seen = await answering(withBody('x'));
    const late = Promise.withResolvers<{ address: string }[]>();
    const work = send(0, {
      url: `http://${NAME}:${seen.port}/`,
      timeoutMs: SHORT_MS,
      resolve: () => late.promise,
    });
    expect(await failure(work)).toBe(LATE);
    late.resolve([{ address: '127.0.0.1' }]);
    await send(seen.port);
    expect(seen.opened).toBe(1);
  });

  test('others are served meanwhile', async () => {
    const dead = await receiver(() => {});
    let pending = 30;
    const stuck = Array.from({ length: pending }, () => failure(send(dead.port)).finally(() => pending--));
    await until(() => dead.opened === 30);
    for (let round = 0; round < 5; round++) {
      const seen = await answering(withBody('ok'));
      expect((await send(seen.port)).status).toBe(200);
    }
    expect(pending).toBe(30);
    dead.drop();
    expect(new Set(await Promise.all(stuck))).toEqual(new Set(['connection reset']));
  });

  const BREAKS: [string, (socket: Socket) => void, string][] = [
    ['resets', socket => socket.resetAndDestroy(), 'connection reset'],
    ['closes at once', socket => socket.end(), 'connection reset'],
    [
      'closes inside the body',
      socket => socket.end(`${HEAD}Content-Length: 900\r\n\r\nabc`),
      'connection closed before the answer was complete',
    ],
    [
      'speaks another protocol',
      socket => socket.end('SSH-2.0-OpenSSH_9\r\n'),
      'the answer is not valid HTTP',
    ],
    [
      'floods headers',
      socket => flood(socket, HEAD, `x-a: ${'b'.repeat(8000)}\r\n`),
      'the answer is not valid HTTP',
    ],
    [
      'switches protocols',
      socket => socket.write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
      'connection closed before the answer was complete',
    ],
  ];
  for (const [what, behave, sentence] of BREAKS) {
    test(`${what}: ${sentence}`, async () => {
      const seen = await receiver(behave);
      expect(await failure(send(seen.port))).toBe(sentence);
      await until(() => seen.closed === 1);
    });
  }

  test('refuses the connection, or has a name that leads nowhere', async () => {
    expect(await failure(send(1))).toBe('connection refused');
    expect(await failure(send(0, { url: 'http://no-such-host.invalid/?token=s3cret' }))).toBe(
      'The host name could not be resolved.',
    );
  });

  test('a header that cannot be sent tells nothing of its value', async () => {
    const seen = await answering(withBody('x'));
    expect(await failure(send(seen.port, { headers: { 'x-key': 's3cret\r\nx: y' } }))).toMatch(
      /^request failed/,
    );
    expect(seen.received).toBe('');
  });
});

describe('the address that was checked', () => {
  test('is the one connected to, whatever the name says later', async () => {
    const seen = await answering(withBody('x'));
    const answers = ['127.0.0.1', '169.254.169.254', '10.0.0.1'];
    let lookUps = 0;
    const resolve: Resolve = async () => [{ address: answers[lookUps++]! }];
    await send(0, { url: `http://${NAME}:${seen.port}/`, resolve });
    expect(lookUps).toBe(1);
    expect(seen.received.toLowerCase()).toContain(`\r\nhost: ${NAME}:${seen.port}\r\n`);
    expect(await failure(send(0, { url: `http://${NAME}:${seen.port}/`, resolve }))).toContain('link-local');
    expect(seen.opened).toBe(1);
  });

  test('is followed by the next one only where nobody took the connection', async () => {
    const seen = await answering(withBody('x'));
    const url = `http://${NAME}:${seen.port}/`;
    const resolve: Resolve = async () => [{ address: '127.0.0.2' }, { address: '127.0.0.1' }];
    expect((await send(0, { url, resolve })).status).toBe(200);

    const broken = await receiver(socket => socket.resetAndDestroy());
    const twice: Resolve = async () => [{ address: '127.0.0.1' }, { address: '127.0.0.1' }];
    await failure(send(0, { url: `http://${NAME}:${broken.port}/`, resolve: twice }));
    expect(broken.opened).toBe(1);
  });

  test('is not left for a proxy named in the environment', async () => {
    const proxy = await answering(withBody('proxied'));
    const seen = await answering(withBody('direct'));
    const at = `http://127.0.0.1:${proxy.port}`;
    const output = await inChild(seen.port, 'http', {
      HTTP_PROXY: at,
      http_proxy: at,
      NODE_USE_ENV_PROXY: '1',
    });
    expect(output).toContain('"response":"direct"');
    expect(proxy.opened).toBe(0);
  });

  test('may not be private where the rules forbid it, and then nothing is opened', async () => {
    const seen = await answering(withBody('x'));
    const url = `http://${NAME}:${seen.port}/`;
    const rules = { allowPrivate: false };
    expect(await failure(send(0, { url, rules, resolve: toLoopback }))).toContain('loopback');
    expect(seen.opened).toBe(0);
  });
});

/** Receivers on the ports that a URL does not name; null where only root may listen on them. */
async function onDefaultPorts(host: string): Promise<{ plain: Receiver; secure: Receiver } | null> {
  try {
    const plain = await receiver(socket => socket.end(withBody('plain')), { host, port: 80 });
    return { plain, secure: await receiver(socket => socket.destroy(), { host, port: 443 }) };
  } catch {
    return null;
  }
}

const HOST = '127.80.4.43';
const standard = await onDefaultPorts(HOST);

test.if(need(standard !== null, 'the right to listen on the ports 80 and 443'))(
  'a URL without a port leads to the one of its scheme',
  async () => {
    const { plain, secure } = standard as NonNullable<typeof standard>;
    expect((await send(0, { url: `http://${HOST}/` })).response).toBe('plain');
    expect([plain.opened, secure.opened]).toEqual([1, 0]);
    await failure(send(0, { url: `https://${HOST}/` }));
    expect([plain.opened, secure.opened]).toEqual([1, 1]);
    // How a TLS handshake begins.
    expect(secure.received.charCodeAt(0)).toBe(0x16);
  },
);

/** Sends once from a process of its own, since some of what matters is read from the environment at start. */
async function inChild(
  port: number,
  scheme: string,
  env: Record<string, string>,
  name = NAME,
): Promise<string> {
  const script = `
    const { sendJson } = await import(${JSON.stringify(join(ROOT, 'src/guard/outgoing/send.ts'))});
    const resolve = async () => [{ address: '127.0.0.1' }];
    const request = { url: '${scheme}://${name}:${port}/', headers: {}, body: '{}', timeoutMs: 20000,
      rules: { allowPrivate: true }, resolve };
    console.log(await sendJson(request).then(JSON.stringify, error => 'failed: ' + error.message));`;
  const child = Bun.spawn([process.execPath, '-e', script], {
    env: { ...process.env, ...env },
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const output = await new Response(child.stdout).text();
  await child.exited;
  return output;
}

const openssl = need(Bun.which('openssl') !== null, 'openssl on PATH, for the HTTPS receivers');

describe.skipIf(!openssl)('over HTTPS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-tls-'));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));

  function certificate(altName: string): { cert: string; key: string; file: string } {
    const base = join(folder, altName.replace(/\W/g, '_'));
    const made = Bun.spawnSync(
      [
        'openssl',
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-keyout',
        `${base}.key`,
        '-out',
        `${base}.crt`,
        '-days',
        '2',
        '-subj',
        '/CN=test',
        '-addext',
        `subjectAltName=${altName}`,
      ],
      { stderr: 'pipe' },
    );
    if (made.exitCode !== 0) throw new Error(made.stderr.toString());
    return {
      cert: readFileSync(`${base}.crt`, 'utf8'),
      key: readFileSync(`${base}.key`, 'utf8'),
      file: `${base}.crt`,
    };
  }

  function secureReceiver(altName: string) {
    const { cert, key, file } = certificate(altName);
    const seen = { requests: 0, host: '' };
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      tls: { cert, key },
      fetch: request => {
        seen.requests++;
        seen.host = request.headers.get('host') ?? '';
        return new Response('secure');
      },
    });
    closing.push(() => server.stop(true));
    return { port: server.port!, file, seen };
  }

  test('a certificate for the host name, by a trusted authority, is accepted', async () => {
    const { port, file, seen } = secureReceiver(`DNS:${NAME}`);
    expect(await inChild(port, 'https', { NODE_EXTRA_CA_CERTS: file })).toContain('"response":"secure"');
    expect(seen).toEqual({ requests: 1, host: `${NAME}:${port}` });
  });

  test('a trusted certificate for another name is refused', async () => {
    const { port, file, seen } = secureReceiver('DNS:other.example.test,IP:127.0.0.1');
    expect(await inChild(port, 'https', { NODE_EXTRA_CA_CERTS: file })).toBe(
      'failed: TLS certificate is for another host name\n',
    );
    expect(seen.requests).toBe(0);
  });

  test('a literal address needs a certificate for that address', async () => {
    const right = secureReceiver('IP:127.0.0.1');
    const trusted = { NODE_EXTRA_CA_CERTS: right.file };
    expect(await inChild(right.port, 'https', trusted, '127.0.0.1')).toContain('"response":"secure"');
    const wrong = secureReceiver('DNS:localhost,IP:127.0.0.9');
    expect(await inChild(wrong.port, 'https', { NODE_EXTRA_CA_CERTS: wrong.file }, '127.0.0.1')).toContain(
      'another host name',
    );
  });

  test('a certificate nobody vouches for is refused, even where the environment says not to verify', async () => {
    const { port, seen } = secureReceiver(`DNS:${NAME}`);
    const url = `https://${NAME}:${port}/?token=s3cret`;
    expect(await failure(send(0, { url, resolve: toLoopback }))).toBe('TLS certificate is not trusted');
    expect(await inChild(port, 'https', { NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toBe(
      'failed: TLS certificate is not trusted\n',
    );
    expect(seen.requests).toBe(0);
  });

  test('a receiver without TLS, and one that stalls in the handshake, fail by name', async () => {
    const plain = await answering(withBody('x'));
    const silent = await receiver(() => {});
    const at = (port: number) => `https://${NAME}:${port}/?token=s3cret`;
    expect(await failure(send(0, { url: at(plain.port), resolve: toLoopback }))).toBe('TLS handshake failed');
    const stalled = { url: at(silent.port), resolve: toLoopback, timeoutMs: SHORT_MS };
    await givenUp(silent, () => send(0, stalled));
  });
});
