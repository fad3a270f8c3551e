// Sends checks at a fixed rate, whether or not earlier ones are answered, and measures each wait from the time the
// check was due. Without a rate, it sends as fast as its connections get answers. It is a separate process, with plain
// sockets and requests encoded beforehand (18 microseconds a check), so that it measures the service and not itself. It
// reads its order as JSON from standard input, writes the ids of verdicts to a file, and prints lines of JSON:
// progress, then a tally.

import * as fs from 'node:fs';
import type { Socket } from 'bun';
import { fault, type Kind, newTally, note, statusText, type Tally } from './tally.ts';

export interface Order {
  urls: string[];
  kinds: Kind[];
  /** Checks a second over all replicas; null means as many as are answered. */
  rate: number | null;
  seconds: number;
  /** The maximum number of connections to each replica. */
  connections: number;
  /** The file for the ids, 16 bytes each. */
  idFile: string;
}

const TICK_MS = 1;
/** The pause before the next attempt to connect to a port on which nobody listened. */
const AWAY_MS = 50;
/**
 * A listener's backlog has room for 512 connections. If more are opened at once, some wait a second or three until
 * their SYN is sent again.
 */
const MOST_CONNECTING = 100;
/** The maximum number of due checks that wait for a connection to each replica. */
const MOST_WAITING = 1000;
/** Longer than any check may take. */
const LAST_ANSWERS_MS = 10_000;
const PROGRESS_MS = 10_000;
const ID_BYTES = 16;
const MOST_WRONG = 20;

/** One connection, with at most one check in progress. */
interface Peer {
  replica: Replica;
  kind: Kind;
  request: Buffer;
  due: number;
  sentAt: number;
  busy: boolean;
  received: string;
}

class Replica {
  readonly hostname: string;
  readonly port: number;
  readonly requests: Buffer[];
  readonly free: Socket<Peer>[] = [];
  /** The due times of the checks that wait for a connection. */
  readonly waiting: number[] = [];
  open = 0;
  connecting = 0;
  asked = 0;
  awayUntil = 0;

  constructor(url: string, kinds: readonly Kind[]) {
    const { hostname, port, host } = new URL(url);
    [this.hostname, this.port] = [hostname, Number(port)];
    this.requests = kinds.map(kind => encode(host, kind));
  }
}

class Generator {
  readonly tally = newTally();
  readonly #order: Order;
  readonly #replicas: Replica[];
  readonly #ids: number;
  readonly #idBuffer = Buffer.alloc(ID_BYTES * 4096);
  #idBytes = 0;
  #begun = 0;
  #end = 0;
  #next = 0;
  #underWay = 0;

  constructor(order: Order) {
    this.#order = order;
    this.#replicas = order.urls.map(url => new Replica(url, order.kinds));
    this.#ids = fs.openSync(order.idFile, 'a');
  }

  async run(): Promise<void> {
    this.#begun = performance.now();
    this.#end = this.#begun + this.#order.seconds * 1000;
    const timer = setInterval(() => this.#tick(), TICK_MS);
    const teller = setInterval(() => print({ progress: this.#soFar() }), PROGRESS_MS);
    await Bun.sleep(this.#order.seconds * 1000);
    clearInterval(timer);
    clearInterval(teller);
    for (const end = performance.now() + LAST_ANSWERS_MS; this.#underWay > 0 && performance.now() < end; )
      await Bun.sleep(TICK_MS);
    this.tally.lost += this.#underWay;
    for (const { waiting } of this.#replicas) this.tally.notSent += waiting.length;
    fs.writeSync(this.#ids, this.#idBuffer, 0, this.#idBytes);
    fs.closeSync(this.#ids);
  }

  #soFar(): string {
    const seconds = Math.round((performance.now() - this.#begun) / 1000);
    const { sent, lost, statuses } = this.tally;
    return `${seconds} s: ${sent} sent, ${statusText(statuses)}, ${lost} lost`;
  }

  #tick(): void {
    const { rate, connections } = this.#order;
    const now = performance.now();
    if (rate === null) {
      for (const replica of this.#replicas)
        while (canConnect(replica, connections) && replica.awayUntil < now) this.#ask(replica, now);
      return;
    }
    for (let due = this.#due(rate); due <= now && due < this.#end; due = this.#due(rate)) {
      const replica = this.#replicas[this.#next % this.#replicas.length] as Replica;
      if (replica.awayUntil > now) this.tally.unreachable++;
      else if (replica.free.length > 0 || canConnect(replica, connections)) this.#ask(replica, due);
      else if (replica.waiting.length < MOST_WAITING) replica.waiting.push(due);
      else this.tally.notSent++;
      this.#next++;
    }
  }

  #due(rate: number): number {
    return this.#begun + (this.#next * 1000) / rate;
  }

  #ask(replica: Replica, due: number): void {
    const { kinds } = this.#order;
    const which = replica.asked++ % kinds.length;
    const kind = kinds[which] as Kind;
    const request = replica.requests[which] as Buffer;
    this.#underWay++;
    const socket = replica.free.pop();
    if (socket === undefined) {
      this.#connect({ replica, kind, request, due, sentAt: 0, busy: true, received: '' });
      return;
    }
    Object.assign(socket.data, { kind, request, due, busy: true });
    this.#send(socket);
  }

  #send(socket: Socket<Peer>): void {
    this.tally.sent++;
    socket.data.sentAt = performance.now();
    note(this.tally.lateMs, socket.data.sentAt - socket.data.due);
    socket.write(socket.data.request);
  }

  #connect(peer: Peer): void {
    const { replica } = peer;
    replica.open++;
    replica.connecting++;
    const failed = () => {
      if (!peer.busy) return;
      peer.busy = false;
      replica.open--;
      replica.connecting--;
      this.tally.unreachable += replica.waiting.splice(0).length;
      replica.awayUntil = performance.now() + AWAY_MS;
      this.#underWay--;
      this.tally.unreachable++;
    };
    Bun.connect<Peer>({
      hostname: replica.hostname,
      port: replica.port,
      data: peer,
      socket: { ...this.#handlers, connectError: failed },
    }).catch(failed);
  }

  readonly #handlers: Bun.SocketHandler<Peer> = {
    open: socket => {
      socket.data.replica.connecting--;
      this.#send(socket);
    },
    data: (socket, chunk) => this.#take(socket, chunk),
    close: socket => this.#closed(socket),
    error: () => {},
  };

  #closed(socket: Socket<Peer>): void {
    const { data: peer } = socket;
    peer.replica.open--;
    const at = peer.replica.free.indexOf(socket);
    if (at >= 0) peer.replica.free.splice(at, 1);
    if (!peer.busy) return;
    peer.busy = false;
    this.#underWay--;
    this.tally.lost++;
  }

  #take(socket: Socket<Peer>, chunk: Buffer): void {
    const { data: peer } = socket;
    const text = peer.received + chunk.toString('latin1');
    const headEnd = text.indexOf('\r\n\r\n');
    const length = headEnd < 0 ? null : /\r\ncontent-length: *(\d+)/i.exec(text);
    if (length === null || text.length < headEnd + 4 + Number(length[1])) {
      peer.received = text;
      return;
    }
    peer.received = '';
    peer.busy = false;
    this.#underWay--;
    this.#note(peer, text.slice(0, headEnd), text.slice(headEnd + 4));
    peer.replica.free.push(socket);
    const now = performance.now();
    const due = this.#order.rate === null && now < this.#end ? now : peer.replica.waiting.shift();
    if (due !== undefined) this.#ask(peer.replica, due);
  }

  #note({ kind, due, sentAt }: Peer, head: string, body: string): void {
    const { tally } = this;
    const now = performance.now();
    const second = Math.floor((now - this.#begun) / 1000);
    const status = Number(head.slice(9, 12));
    if (now - sentAt > tally.slowest.ms) tally.slowest = { ms: now - sentAt, status, second };
    tally.statuses[status] = (tally.statuses[status] ?? 0) + 1;
    const wrong = fault(kind, status, head, body);
    if (wrong !== null && tally.wrong.length < MOST_WRONG) tally.wrong.push(wrong.slice(0, 300));
    if (status === 503) note(tally.shedMs, now - due);
    else if (status === 500) note(tally.failedMs, now - due);
    else if (status === 200) {
      note(tally.verdictMs, now - due);
      tally.verdictsPerSecond[second] = (tally.verdictsPerSecond[second] ?? 0) + 1;
      this.#keep(body);
    }
  }

  #keep(body: string): void {
    const id = /"toolCallId":"([^"]+)"/.exec(body)?.[1] ?? '';
    this.#idBuffer.write(id.replaceAll('-', ''), this.#idBytes, 'hex');
    this.#idBytes += ID_BYTES;
    if (this.#idBytes < this.#idBuffer.length) return;
    fs.writeSync(this.#ids, this.#idBuffer);
    this.#idBytes = 0;
  }
}

function canConnect({ open, connecting }: Replica, connections: number): boolean {
  return open < connections && connecting < MOST_CONNECTING;
}

function encode(host: string, { token, tool }: Kind): Buffer {
  const body = JSON.stringify({ serverName: 'soak', toolName: tool, args: { path: '/tmp/report.txt' } });
  return Buffer.from(
    `POST /v1/check HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}

export type Line = { progress: string } | { tally: Tally };

function print(line: Line): void {
  fs.writeSync(1, `${JSON.stringify(line)}\n`);
}

if (import.meta.main) {
  const generator = new Generator((await Bun.stdin.json()) as Order);
  await generator.run();
  print({ tally: generator.tally });
  process.exit(0);
}
