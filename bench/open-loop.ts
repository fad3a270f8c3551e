// Sends requests at a fixed rate, whether or not the last ones are answered, and measures each wait from the time the
// request was due, so that a stalled server is charged for all requests that came due in between. Its first argument is
// the order as JSON; it prints the figures as one line of JSON.

import { connect, type Socket } from 'node:net';
import { type Request, single } from './load.ts';

export interface OpenLoop {
  rate: number;
  requests: number;
  failures: number;
  p50Ms: number;
  p99Ms: number;
  p999Ms: number;
}

interface Order extends Request {
  /** Another request, sent in turn with the first one; its waits are not measured. */
  beside?: Request;
  /** Of all requests together. */
  rate: number;
  seconds: number;
  connections: number;
}

if (import.meta.main) console.log(JSON.stringify(await ask(JSON.parse(process.argv[2] ?? '{}') as Order)));

async function ask(order: Order): Promise<OpenLoop> {
  const target = new URL(order.url);
  const measured = bytesOf(order, target);
  const beside = order.beside && bytesOf(order.beside, target);
  const isBeside = (index: number) => beside !== undefined && index % 2 === 1;
  const total = Math.floor(order.rate * order.seconds);
  const waits: number[] = [];
  const free: Socket[] = [];
  let [next, answers, failures] = [0, 0, 0];
  const begun = performance.now() + 100;
  const due = (index: number) => begun + (index * 1000) / order.rate;
  const done = Promise.withResolvers<void>();
  /** Sends all due requests for which there are connections. */
  const send = () => {
    while (next < total && due(next) <= performance.now()) {
      const socket = free.pop();
      if (socket === undefined) return;
      const bytes = beside !== undefined && isBeside(next) ? beside : measured;
      socket.write(bytes[(next >> 1) % bytes.length]!);
      asked.set(socket, next++);
    }
  };
  const asked = new Map<Socket, number>();
  const answered = (socket: Socket, status: number) => {
    const index = asked.get(socket) as number;
    if (!isBeside(index)) waits.push(performance.now() - due(index));
    if (status !== 200) failures++;
    free.push(socket);
    if (++answers === total) done.resolve();
    send();
  };
  for (let index = 0; index < order.connections; index++) open(target, free, answered);
  // A timer would be up to a millisecond late, which is more than an answer takes. This process has its core to itself.
  let spinning = true;
  const spin = () => {
    send();
    if (spinning) setImmediate(spin);
  };
  spin();
  await Promise.race([done.promise, Bun.sleep(order.seconds * 1000 + 10_000)]);
  spinning = false;
  const sorted = Float64Array.from(waits).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  setTimeout(() => process.exit(0), 50);
  failures += total - answers;
  return { rate: order.rate, requests: total, failures, p50Ms: at(0.5), p99Ms: at(0.99), p999Ms: at(0.999) };
}

function open(target: URL, free: Socket[], answered: (socket: Socket, status: number) => void): void {
  const socket = connect({ host: target.hostname, port: Number(target.port), noDelay: true });
  let received = '';
  socket.setEncoding('latin1');
  socket.on('connect', () => free.push(socket));
  socket.on('data', (chunk: string) => {
    received += chunk;
    const end = received.indexOf('\r\n\r\n');
    const length = /\r\ncontent-length: *(\d+)/i.exec(received);
    if (end < 0 || length === null || received.length < end + 4 + Number(length[1])) return;
    const status = Number(received.slice(9, 12));
    received = '';
    answered(socket, status);
  });
  socket.on('error', () => {});
}

function bytesOf(request: Request, target: URL): Buffer[] {
  return single(request).map(each => encode(each, target));
}

function encode({ headers, body }: Request, target: URL): Buffer {
  const all = { host: target.host, ...headers, 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${target.pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}
