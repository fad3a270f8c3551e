// A server under Valgrind, and how many instructions it executes for a request. Requests are sent in groups of a fixed
// size, each when the group before is answered, so that a check shares its transaction with equally many others.

import * as fs from 'node:fs';
import { connect, type Socket } from 'node:net';
import * as path from 'node:path';
import type { Request } from '../load.ts';
import { type Server, startServer } from '../process.ts';
import type { Place } from '../service.ts';

export const GROUP = 64;
/** Groups that are counted together. Such a window is short, so that few of them contain a garbage collection. */
const WINDOW = 4;
const WINDOWS = 40;
/** A cold service under Valgrind needs seconds for a large group. */
const SMALL_GROUPS = [1, 4, 16];
const SMALL_TIMES = 40;
/**
 * Valgrind is so slow that checks of a cold service, or on a machine that does much else, may pass their time limit and
 * are refused, and that the server may close a connection. Such a window is counted again.
 */
const MOST_SPOILED = 40;
/** A group takes less than a second as soon as the service is warm. */
const ALLOWED = /"allow"/;
const ANSWERED_WITHIN_MS = 60_000;
const PRINTED_WITHIN_MS = 60_000;

/**
 * What would make two runs differ: compilers and collectors in threads of their own, collections by the clock, a heap
 * as large as the machine allows, and the restart of `serve` (src/cli/outbound.ts), whose copy Valgrind would not see.
 */
const STEADY = {
  BUN_JSC_useConcurrentJIT: '0',
  BUN_JSC_useConcurrentGC: '0',
  BUN_JSC_numberOfGCMarkers: '1',
  BUN_JSC_forceRAMSize: String(4 * 2 ** 30),
  BUN_GC_TIMER_DISABLE: '1',
  BUN_CONFIG_MAX_HTTP_REQUESTS: '65535',
};

const VALGRIND = [
  'valgrind',
  '--tool=cachegrind',
  '--cache-sim=no',
  '--cachegrind-out-file=/dev/null',
  // The code of the compilers changes, that of files does not.
  '--smc-check=all-non-file',
  // Otherwise a thread that waits for another one can keep it from running.
  '--fair-sched=yes',
  process.execPath,
  '--no-env-file',
  '--preload',
  path.join(import.meta.dirname, 'mark.ts'),
];

export class Counted {
  readonly server: Server;
  readonly #log: string;
  #marks = 0;

  private constructor(server: Server, log: string) {
    this.server = server;
    this.#log = log;
  }

  static async start(
    name: string,
    words: string[],
    env: Record<string, string>,
    place: Place,
  ): Promise<Counted> {
    const log = path.join(place.folder, `${name}.counted.log`);
    const server = await startServer([...VALGRIND, ...words], { ...env, ...STEADY }, log);
    place.resources.defer(() => server.stop());
    return new Counted(server, log);
  }

  /**
   * Instructions per request, once `warmUp` groups are answered. The lowest of many short windows is
   * taken, because collections, compilations and timers only ever add to a window.
   */
  async perRequest(requests: Request[], warmUp: number, wanted = ALLOWED): Promise<number> {
    for (const size of SMALL_GROUPS) {
      using few = new Callers(this.server, requests, size, wanted);
      for (let times = 0; times < SMALL_TIMES; times++) await few.allowed();
    }
    using callers = new Callers(this.server, requests, GROUP, wanted);
    for (let times = 0; times < warmUp; times++) await callers.allowed();
    const counts: number[] = [];
    let spoiled = 0;
    let before = await this.#mark();
    while (counts.length < WINDOWS) {
      let whole = true;
      for (let times = 0; times < WINDOW; times++) whole = (await callers.allowed()) && whole;
      const after = await this.#mark();
      if (whole) counts.push((after - before) / (WINDOW * GROUP));
      else if (++spoiled > MOST_SPOILED) throw new Error(`${spoiled} windows had refused requests`);
      before = after;
    }
    return Math.round(Math.min(...counts));
  }

  /** The instructions that all threads have executed so far. */
  async #mark(): Promise<number> {
    this.#marks++;
    process.kill(this.server.pid, 'SIGUSR2');
    const end = performance.now() + PRINTED_WITHIN_MS;
    while (performance.now() < end) {
      const printed = [...fs.readFileSync(this.#log, 'latin1').matchAll(/\bI\s+refs:\s+([\d,]+)/g)];
      if (printed.length >= this.#marks) return Number(printed.at(-1)![1]!.replaceAll(',', ''));
      await Bun.sleep(5);
    }
    throw new Error(`Valgrind printed no count:\n${fs.readFileSync(this.#log, 'latin1').slice(-2000)}`);
  }
}

/**
 * Connections that each send one request of a group. All of them are used, because the server closes those that are idle
 * for ten seconds; if it does, all are opened anew.
 */
class Callers implements Disposable {
  readonly #server: Server;
  readonly #requests: Request[];
  readonly #wanted: RegExp;
  #callers: Caller[] = [];

  constructor(server: Server, requests: Request[], size: number, wanted: RegExp) {
    this.#wanted = wanted;
    this.#server = server;
    this.#requests = Array.from({ length: size }, (_, index) => requests[index % requests.length]!);
  }

  /** Sends a group, and says whether each answer is the wanted one. */
  async allowed(): Promise<boolean> {
    try {
      if (this.#callers.length === 0)
        for (const request of this.#requests) this.#callers.push(await Caller.open(request));
      const answers = await Promise.all(this.#ask());
      return answers.every(answer => answer.startsWith('HTTP/1.1 200 ') && this.#wanted.test(answer));
    } catch {
      this[Symbol.dispose]();
      return false;
    }
  }

  /** The server stands still meanwhile, so that it finds the whole group however slow this process is. */
  #ask(): Promise<string>[] {
    process.kill(this.#server.pid, 'SIGSTOP');
    try {
      return this.#callers.map(caller => caller.ask());
    } finally {
      process.kill(this.#server.pid, 'SIGCONT');
    }
  }

  [Symbol.dispose](): void {
    for (const caller of this.#callers) caller.close();
    this.#callers = [];
  }
}

class Caller {
  readonly #socket: Socket;
  readonly #bytes: Buffer;
  #answer: PromiseWithResolvers<string> | null = null;

  private constructor(socket: Socket, bytes: Buffer) {
    this.#socket = socket;
    this.#bytes = bytes;
    let received = '';
    socket.setEncoding('latin1');
    socket.setTimeout(ANSWERED_WITHIN_MS, () => socket.destroy());
    socket.on('data', (chunk: string) => {
      received += chunk;
      const end = received.indexOf('\r\n\r\n');
      const length = /\r\ncontent-length: *(\d+)/i.exec(received)?.[1];
      if (end < 0 || received.length < end + 4 + Number(length)) return;
      this.#answer?.resolve(received);
      received = '';
    });
    // An error is followed by "close".
    socket.on('error', () => {});
    socket.on('close', () => this.#answer?.reject(closed()));
  }

  static async open(request: Request): Promise<Caller> {
    const { hostname, port } = new URL(request.url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    const caller = new Caller(socket, encode(request));
    await new Promise<void>((resolve, reject) =>
      socket.once('connect', resolve).once('close', () => reject(closed())),
    );
    return caller;
  }

  ask(): Promise<string> {
    if (this.#socket.destroyed) return Promise.reject(closed());
    this.#answer = Promise.withResolvers<string>();
    this.#socket.write(this.#bytes);
    return this.#answer.promise;
  }

  close(): void {
    this.#socket.destroy();
  }
}

const closed = (): Error => new Error('The connection was closed.');

function encode({ url, headers, body }: Request): Buffer {
  const { host, pathname } = new URL(url);
  const all = { host, ...headers, 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}
