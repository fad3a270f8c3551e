// Servers that misbehave, byte by byte: whatever a client may meet in place of the service. Each waits for a
// whole request first, so that a test knows how often one was sent.

import net from 'node:net';
import { ToolgateError } from '../../clients/typescript/src/index.ts';

export type Manner = (socket: net.Socket, request: string, earlier: number) => void;

export interface Rude {
  url: string;
  /** The requests that arrived in full. */
  requests: string[];
  close: () => Promise<void>;
}

export async function rude(manner: Manner, port = 0): Promise<Rude> {
  const requests: string[] = [];
  const sockets = new Set<net.Socket>();
  const server = net.createServer(socket => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    let text = '';
    socket.on('data', bytes => {
      text += bytes.toString('latin1');
      if (!isWhole(text)) return;
      const request = text;
      text = '';
      requests.push(request);
      manner(socket, request, requests.length - 1);
    });
  });
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>(resolve => server.close(() => resolve()));
  };
  return { url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`, requests, close };
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /^content-length: *(\d+)/im.exec(text.slice(0, end))?.[1] ?? '0';
  return text.length >= end + 4 + Number(length);
}

export function answer(
  status: number,
  body: string,
  headers: Record<string, string> = { 'Content-Type': 'application/json' },
): Manner {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = Buffer.byteLength(body);
  return socket =>
    socket.write(`HTTP/1.1 ${status} Said\r\n${lines.join('')}Content-Length: ${length}\r\n\r\n${body}`);
}

const PROBLEM = { 'Content-Type': 'application/problem+json' };

export function problem(status: number, code: string, headers: Record<string, string> = {}): Manner {
  const body = { type: 'about:blank', title: 'Said', status, detail: `It is ${code}.`, code, requestId: 'r' };
  return answer(status, JSON.stringify(body), { ...PROBLEM, ...headers });
}

export const ALLOW = {
  decision: 'allow',
  reason: 'Rule 0 of policy "p" allows s__t.',
  policyId: '0190a0a0-0000-7000-8000-000000000001',
  toolCallId: '0190a0a0-0000-7000-8000-000000000002',
  latencyMs: 1,
};

export const allow = answer(200, JSON.stringify(ALLOW));
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

/** Allows every call, trusts what its tool returns, and takes whatever it is told. */
export const trusting: Manner = (socket, request, earlier) => {
  const known = JSON.stringify({ ...ALLOW, known: 'results' });
  const said = request.startsWith('POST /v1/told ') ? answer(202, '', {}) : answer(200, known);
  said(socket, request, earlier);
};

/**
 * Allows every call, trusts what its tool returns, and has it looked at: each `canary` is hidden, and a result with
 * `poison` is withheld.
 */
export const looking: Manner = (socket, request, earlier) => {
  const verdict = JSON.stringify({ ...ALLOW, known: 'results', results: true });
  if (request.startsWith('POST /v1/results ')) answer(200, guarded(request))(socket, request, earlier);
  else if (request.startsWith('POST /v1/told ')) trusting(socket, request, earlier);
  else answer(200, verdict)(socket, request, earlier);
};

const WITHHELD = { content: [{ type: 'text', text: 'It is withheld.' }], isError: true };

function guarded(request: string): string {
  const text = JSON.stringify((bodyOf(request) as { result: object }).result);
  return text.includes('poison') ? JSON.stringify(WITHHELD) : text.replaceAll('canary', '[hidden: birds]');
}

/** What the requests to `/v1/told` said. */
export const told = (server: Rude) => bodiesTo('/v1/told', server);
/** What was to be looked at. */
export const lookedAt = (server: Rude) => bodiesTo('/v1/results', server);

function bodiesTo(path: string, { requests }: Rude): unknown[] {
  return requests.filter(each => each.startsWith(`POST ${path} `)).map(bodyOf);
}

function bodyOf(request: string): unknown {
  return JSON.parse(Buffer.from(request.slice(request.indexOf('\r\n\r\n')), 'latin1').toString());
}

/** The beginning of an allow, and then nothing more. */
export const cutInside: Manner = socket => {
  socket.write(`${HEAD}Content-Length: 300\r\n\r\n${JSON.stringify(ALLOW)}`, () => socket.destroy());
};

/** A true allow, one byte at a time, with its end never coming. */
export const trickle: Manner = socket => {
  const text = `${HEAD}Content-Length: 100000\r\n\r\n${JSON.stringify(ALLOW)}`;
  let at = 0;
  const timer = setInterval(() => socket.write(text[at++] ?? ' '), 5);
  socket.on('close', () => clearInterval(timer));
};

export const endless: Manner = socket => {
  socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
  const block = ' '.repeat(65_536);
  const more = () => {
    while (!socket.destroyed && socket.write(`10000\r\n${block}\r\n`));
  };
  socket.on('drain', more);
  more();
};

/** Two hundred megabytes of spaces in two hundred kilobytes. */
export const bomb: Manner = socket => {
  const packed = Bun.gzipSync(new Uint8Array(200 * 1024 * 1024).fill(0x20), { level: 1 });
  socket.write(`${HEAD}Content-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`);
  socket.write(packed);
};

/** What is not a verdict, though it came with 200. */
export const NOT_VERDICTS: [string, string][] = [
  ['an empty body', ''],
  ['null', 'null'],
  ['a list', JSON.stringify([ALLOW])],
  ['a string', '"allow"'],
  ['true', 'true'],
  ['an empty object', '{}'],
  ['only a decision', '{"decision":"allow"}'],
  ['an unknown decision', verdictWith({ decision: 'allowed' })],
  ['a decision in capitals', verdictWith({ decision: 'ALLOW' })],
  ['a decision as a list', verdictWith({ decision: ['allow'] })],
  ['a decision as true', verdictWith({ decision: true })],
  ['no decision', verdictWith({ decision: undefined })],
  ['no reason', verdictWith({ reason: undefined })],
  ['a reason that is no string', verdictWith({ reason: 7 })],
  ['no toolCallId', verdictWith({ toolCallId: undefined })],
  ['an empty toolCallId', verdictWith({ toolCallId: '' })],
  ['no policyId', verdictWith({ policyId: undefined })],
  ['latencyMs as a string', verdictWith({ latencyMs: '1' })],
  ['latencyMs as a fraction', verdictWith({ latencyMs: 1.5 })],
  ['latencyMs as true', verdictWith({ latencyMs: true })],
  ['a pending verdict without its referenceId', verdictWith({ decision: 'pending', message: 'm' })],
  ['a verdict inside an envelope', JSON.stringify({ verdict: ALLOW })],
  ['a verdict and more', `${JSON.stringify(ALLOW)} ${JSON.stringify(ALLOW)}`],
  ['a cut verdict', JSON.stringify(ALLOW).slice(0, -1)],
];

function verdictWith(change: Record<string, unknown>): string {
  return JSON.stringify({ ...ALLOW, ...change });
}

/** What the client threw; it must throw, and from its own family. */
export async function failure(work: Promise<unknown>): Promise<ToolgateError> {
  const [thrown] = await Promise.allSettled([work]);
  if (thrown.status === 'fulfilled') throw new Error('it did not throw');
  if (thrown.reason instanceof ToolgateError) return thrown.reason;
  throw new Error('it threw something else', { cause: thrown.reason });
}
