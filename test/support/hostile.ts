// A program that treats a service badly over plain sockets until it is told to stop: senders that trickle, bodies
// that are huge, deep or slow to read, garbage, and messages whose length can be read in two ways, each with another
// request hidden in it. At the end it prints what it was answered. What must hold meanwhile is the tests' business.

import { randomBytes } from 'node:crypto';
import { createConnection, type Socket } from 'node:net';

export interface HostileOptions {
  url: string;
  key: string;
  /** Connections that send a byte now and then. */
  slow: number;
}

/** By kind: how often each status came; 0 is an end without an answer. */
export type Answers = Record<string, Record<string, number>>;

/** The tool that only hidden requests call. */
export const HIDDEN_TOOL = 'hidden';

const TRICKLE_MS = 200;
const PATIENCE_MS = 3000;
/** A slow sender stays until the end. */
const SLOW_MS = 600_000;
const MIB = 1024 * 1024;
const HUGE_BYTES = 32 * MIB;
const BODY = '{"serverName":"x","toolName":"hostile"}';

interface Target extends HostileOptions {
  host: string;
}

const head = ({ host, key }: Target, ...lines: string[]): string =>
  [
    'POST /v1/check HTTP/1.1',
    `Host: ${host}`,
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    ...lines,
    '\r\n',
  ].join('\r\n');

const whole = (target: Target, body: string): string =>
  head(target, `Content-Length: ${Buffer.byteLength(body)}`) + body;

const hidden = (target: Target): string => whole(target, BODY.replace('hostile', HIDDEN_TOOL));
const chunked = (size = BODY.length.toString(16), end = '\r\n'): string =>
  `${size}${end}${BODY}${end}0${end}${end}`;
const called = (args: string): string => BODY.replace('}', `,"args":${args}}`);

/** A body that ends, for one of the readers, before the hidden request begins. */
function twoLengths(target: Target, lines: string[], body = BODY): string {
  return head(target, ...lines) + body + hidden(target);
}

const LENGTH = `Content-Length: ${BODY.length}`;
const CHUNKED = 'Transfer-Encoding: chunked';

/** Every spelling must be refused, and its connection closed. */
const SPELLINGS: ((target: Target) => string)[] = [
  target =>
    `${head(target, `Content-Length: ${5 + hidden(target).length}`, CHUNKED)}0\r\n\r\n${hidden(target)}`,
  target => twoLengths(target, [CHUNKED, 'Content-Length: 4'], chunked()),
  target => twoLengths(target, [LENGTH, `Content-Length: ${BODY.length + hidden(target).length}`]),
  target => twoLengths(target, [`${LENGTH}, ${BODY.length}`]),
  target => twoLengths(target, [LENGTH.replace(': ', ': +')]),
  target => twoLengths(target, ['Content-Length: 0x2']),
  target => twoLengths(target, ['Content-Length: -1']),
  target => twoLengths(target, ['Content-Length: 99999999999999999999999']),
  target => twoLengths(target, ['Content-Length: ']),
  target => twoLengths(target, [LENGTH.replace(':', ' :')]),
  target => twoLengths(target, [LENGTH, 'Transfer-Encoding : chunked']),
  target => twoLengths(target, [LENGTH, 'Transfer-Encoding:\tchunked']),
  target => twoLengths(target, [LENGTH, 'Transfer-Encoding:\r\n chunked']),
  target => twoLengths(target, [LENGTH, 'Transfer-Encoding: \x0bchunked']),
  target => twoLengths(target, [LENGTH, 'Transfer-Encoding: identity']),
  target => twoLengths(target, ['Transfer-Encoding: xchunked'], chunked()),
  target => twoLengths(target, ['Transfer-Encoding: chunked, identity'], chunked()),
  target => twoLengths(target, [CHUNKED, 'Transfer-Encoding: identity'], chunked()),
  target => twoLengths(target, [CHUNKED], chunked(`1${'0'.repeat(16)}27`)),
  target => twoLengths(target, [CHUNKED], chunked('+27')),
  target => twoLengths(target, [CHUNKED], chunked('0x27')),
  target => twoLengths(target, [CHUNKED], chunked('27', '\n')),
  target => twoLengths(target, [CHUNKED], chunked().replace('}\r\n', '}XX')),
  target => twoLengths(target, ['X: a\rContent-Length: 1', LENGTH]),
  target => twoLengths(target, ['X: a\0b', LENGTH]),
  target => head(target, CHUNKED).replace('1.1', '1.0') + chunked() + hidden(target),
  target => twoLengths(target, [LENGTH]).replaceAll('\r\n', '\n'),
];

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
const nested = (open: string, close: string, depth: number): string =>
  called(`{"a":${open.repeat(depth)}${close.repeat(depth)}}`);
const keys = Array.from({ length: 19_000 }, (_, index) => `"k${index}":0`).join();

/** Written at once; small enough to be read as a whole. */
const BODIES: Record<string, (target: Target) => string | Buffer> = {
  deep: target => whole(target, pick([nested('[', ']', 400_000), nested('[', ']', 2000)])),
  twisted: target =>
    whole(target, pick([nested('{"a":[', ']}', 1000), '['.repeat(MIB - 1), '{"a":'.repeat(200_000)])),
  large: target => whole(target, called(`{"a":"${'x'.repeat(2 * MIB)}"}`)),
  manyKeys: target => whole(target, called(`{${keys}}`)),
  longNumber: target => whole(target, called(`{"n":${'1'.repeat(900_000)}}`)),
  escapes: target => whole(target, called(`{"s":"${'\\u0041'.repeat(170_000)}"}`)),
  garbage: () =>
    pick([randomBytes(20_000), Buffer.from('\x16\x03\x01\x02\x00\x01\x00\x01\xfc'), Buffer.alloc(65_536)]),
  longHead: target => head(target, `X: ${'y'.repeat(200_000)}`, LENGTH) + BODY,
  ambiguous: target => pick(SPELLINGS)(target),
};

/** These are read as a whole and then refused, so there is always an answer. */
const REFUSED = ['deep', 'twisted', 'large'];
const MOST_TRIES = 10;

/** Given away as fast as it is taken, up to a bound. */
const ENDLESS: Record<string, (target: Target) => { start: string; more: string }> = {
  declared: target => ({ start: head(target, `Content-Length: ${1024 * MIB}`), more: 'x'.repeat(64 * 1024) }),
  undeclared: target => ({
    start: `${head(target, CHUNKED)}${MIB.toString(16)}\r\n`,
    more: `${'x'.repeat(MIB)}\r\n${MIB.toString(16)}\r\n`,
  }),
};

/** The status of the first answer on a connection that the work writes to. */
function exchange(target: Target, work: (socket: Socket) => void, patienceMs = PATIENCE_MS): Promise<number> {
  const { hostname, port } = new URL(target.url);
  return new Promise(resolve => {
    const socket = createConnection(Number(port), hostname);
    const end = (status: number) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(status);
    };
    const timer = setTimeout(() => end(0), patienceMs);
    socket.once('data', (chunk: Buffer) =>
      end(Number(/^HTTP\/1\.1 (\d+)/.exec(chunk.toString('latin1'))?.[1] ?? 0)),
    );
    socket.on('close', () => end(0));
    socket.on('error', () => end(0));
    socket.once('connect', () => work(socket));
  });
}

function pour(socket: Socket, { start, more }: { start: string; more: string }): void {
  let left = HUGE_BYTES;
  socket.write(start);
  const on = () => {
    while (left > 0 && !socket.destroyed) {
      left -= more.length;
      if (!socket.write(more)) return;
    }
  };
  socket.on('drain', on);
  on();
}

/** Never says enough to be answered: the head, or the body, comes in bytes. */
function trickle(target: Target, state: { stopped: boolean }): Promise<number> {
  const text = Math.random() < 0.5 ? head(target, LENGTH) : head(target, 'Content-Length: 100000');
  let at = text.includes(LENGTH) ? 1 : text.length;
  const sends = (socket: Socket) => {
    socket.write(text.slice(0, at));
    const timer = setInterval(() => {
      if (state.stopped) socket.destroy();
      if (socket.destroyed) return clearInterval(timer);
      socket.write(at < text.length ? (text[at++] as string) : ' ');
    }, TRICKLE_MS);
  };
  return exchange(target, sends, SLOW_MS);
}

/** Runs until `stopped`; answers what came of it. */
async function attack(target: Target, state: { stopped: boolean }): Promise<Answers> {
  const answers: Answers = {};
  const count = (kind: string, status: number) => {
    answers[kind] ??= {};
    answers[kind][status] = (answers[kind][status] ?? 0) + 1;
  };
  const keep = async (kind: string, once: () => Promise<number>) => {
    while (!state.stopped) count(kind, await once());
  };
  /** On a machine that is too busy to answer in time, it goes on until it was answered once. */
  const untilAnswered = async (kind: string, once: () => Promise<number>) => {
    await keep(kind, once);
    const none = () => Object.keys(answers[kind] ?? {}).every(status => status === '0');
    for (let left = MOST_TRIES; left > 0 && none(); left--) count(kind, await once());
  };
  const all = [
    ...Array.from({ length: target.slow }, () => keep('slow', () => trickle(target, state))),
    ...Object.entries(BODIES).map(([kind, make]) =>
      (REFUSED.includes(kind) ? untilAnswered : keep)(kind, () =>
        exchange(target, socket => void socket.write(make(target))),
      ),
    ),
    ...Object.entries(ENDLESS).map(([kind, make]) =>
      keep(kind, () => exchange(target, socket => pour(socket, make(target)))),
    ),
  ];
  await Promise.all(all);
  return answers;
}

export interface Hostile {
  stop: () => Promise<Answers>;
}

/** The program in a process of its own. */
export function startHostile(options: HostileOptions): Hostile {
  const child = Bun.spawn([process.execPath, import.meta.path, JSON.stringify(options)], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const stop = async () => {
    child.stdin.end();
    return JSON.parse(await new Response(child.stdout).text()) as Answers;
  };
  return { stop };
}

if (import.meta.main) {
  const options = JSON.parse(process.argv[2] ?? '{}') as HostileOptions;
  const state = { stopped: false };
  process.stdin.on('end', () => {
    state.stopped = true;
  });
  process.stdin.resume();
  const answers = await attack({ ...options, host: new URL(options.url).host }, state);
  process.stdout.write(JSON.stringify(answers), () => process.exit(0));
}
