// A name server of the test's own, for a service in a process of its own: silent about every name under silent.test,
// until it is told to fail them, and with one address for any other. A small library in C, compiled here, leads the service to it (names.c), so
// that no file of the system has to be changed.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { udp } from 'bun';

const ANSWERED = 0x8180;
const FAILED = 0x8182;
const TYPE_A = 1;

export class NameServer {
  /** Every name that was asked about, in order. */
  readonly asked: string[] = [];
  /** For the processes that are to ask it. */
  readonly env: Record<string, string>;
  /** The file that names this server. */
  readonly servers: string;
  readonly #folder: string;
  readonly #socket: udp.Socket<'buffer'>;
  /** Sends a failure to each who asked about a silent name; null once nothing is silent any more. */
  #silent: (() => void)[] | null = [];

  private constructor(folder: string, socket: udp.Socket<'buffer'>, library: string, servers: string) {
    this.#folder = folder;
    this.#socket = socket;
    this.servers = servers;
    this.env = { LD_PRELOAD: library, TEST_NAME_SERVERS: servers };
  }

  /** `address`: what every name that is answered stands for. */
  static async start(address = '127.0.0.1'): Promise<NameServer> {
    const folder = mkdtempSync(join(tmpdir(), 'toolgate-names-'));
    const library = join(folder, 'names.so');
    const source = join(import.meta.dir, 'names.c');
    const compiled = Bun.spawnSync(['cc', '-shared', '-fPIC', '-O1', '-o', library, source, '-ldl']);
    if (compiled.exitCode !== 0) throw new Error(`cc: ${compiled.stderr}`);
    const servers = join(folder, 'resolv.conf');
    const socket = await Bun.udpSocket({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data: (from, question, port, host) => {
          const answer = names.#answer(question, address);
          if (answer === null) names.#hold(() => from.send(failure(question), port, host));
          else from.send(answer, port, host);
        },
      },
    });
    writeFileSync(servers, `nameserver 127.0.0.1:${socket.port}\nsearch corp.test\n`);
    const names: NameServer = new NameServer(folder, socket, library, servers);
    return names;
  }

  /** From now on silent names fail, also those that were asked about before. */
  failSilent(): void {
    for (const fail of this.#silent ?? []) fail();
    this.#silent = null;
  }

  #hold(fail: () => void): void {
    if (this.#silent === null) fail();
    else this.#silent.push(fail);
  }

  close(): void {
    this.#socket.close();
    rmSync(this.#folder, { recursive: true });
  }

  #answer(question: Buffer, address: string): Buffer | null {
    const labels: string[] = [];
    let at = 12;
    for (let length = question[at]!; length > 0; length = question[at]!) {
      labels.push(question.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join('.');
    this.asked.push(name);
    if (name.endsWith('.silent.test')) return null;
    const found = question.readUInt16BE(at + 1) === TYPE_A ? 1 : 0;
    const head = Buffer.alloc(12);
    question.copy(head, 0, 0, 2);
    for (const [offset, value] of [
      [2, ANSWERED],
      [4, 1],
      [6, found],
    ] as const)
      head.writeUInt16BE(value, offset);
    // The name of the question, type A, class IN, for 5 s, four bytes.
    const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, ...address.split('.').map(Number)];
    return Buffer.concat([head, question.subarray(12, at + 5), Buffer.from(found === 1 ? record : [])]);
  }
}

function failure(question: Buffer): Buffer {
  const answer = Buffer.from(question);
  answer.writeUInt16BE(FAILED, 2);
  return answer;
}
