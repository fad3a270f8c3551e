// The load generator for machines without wrk: raw sockets with one request in flight on each, and just enough of
// HTTP/1.1 to read answers with a content-length. Its first argument is the order as JSON; it prints the figures as one
// line of JSON.

import { connect } from 'node:net';
import { figures, type Request, single } from './load.ts';

interface Order extends Request {
  seconds: number;
  connections: number;
}

const order = JSON.parse(process.argv[2] ?? '{}') as Order;
const target = new URL(order.url);
const requests = single(order).map(encode);
const latencies: number[] = [];
let failures = 0;

const begun = performance.now();
const deadline = begun + order.seconds * 1000;
await Promise.all(Array.from({ length: order.connections }, (_, index) => converse(index)));
console.log(JSON.stringify(figures(latencies, failures, (performance.now() - begun) / 1000)));

function encode({ method, headers, body }: Request): Buffer {
  const all = { host: target.host, ...headers, 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method ?? 'POST'} ${target.pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

/** One connection: sends a request, waits for the whole answer and repeats, until the time is over. */
function converse(index: number): Promise<void> {
  return new Promise(resolve => {
    const socket = connect({ host: target.hostname, port: Number(target.port), noDelay: true });
    let received = '';
    let asked = 0;
    const ask = () => {
      asked = performance.now();
      socket.write(requests[index % requests.length]!);
    };
    socket.setEncoding('latin1');
    socket.on('connect', ask);
    socket.on('data', (chunk: string) => {
      received += chunk;
      const answer = parse(received);
      if (!answer) return;
      received = '';
      note(answer.status, performance.now() - asked);
      if (performance.now() < deadline) ask();
      else socket.destroy();
    });
    // The close event that follows counts the failure.
    socket.on('error', () => {});
    socket.on('close', () => {
      if (performance.now() < deadline) failures++;
      resolve();
    });
  });
}

/** The status of a complete answer, or null while a part of it is missing. */
function parse(text: string): { status: number } | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = text.slice(0, end);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head);
  if (!length) throw new Error(`An answer without content-length:\n${head}`);
  return text.length < end + 4 + Number(length[1]) ? null : { status: Number(head.slice(9, 12)) };
}

function note(status: number, latency: number): void {
  latencies.push(latency);
  if (status < 200 || status > 299) failures++;
}
