// The load generator for a server that is asked with lines of JSON over a Unix socket: one request in flight on each
// connection. Its first argument is the order as JSON; it prints the figures as one line of JSON.

import { connect } from 'node:net';
import { figures, ID, type Request } from '../load.ts';

interface Order extends Request {
  lines: { allow: string };
  seconds: number;
  connections: number;
}

/** So many names take turns in the place of the id. */
const NAMES = 200;

const order = JSON.parse(process.argv[2] ?? '{}') as Order;
const requests = Array.from({ length: NAMES }, (_, name) => `${order.body.replace(ID, `"agent-${name}"`)}\n`);
const latencies: number[] = [];
let [asked, failures] = [0, 0];

const begun = performance.now();
const deadline = begun + order.seconds * 1000;
await Promise.all(Array.from({ length: order.connections }, converse));
console.log(JSON.stringify(figures(latencies, failures, (performance.now() - begun) / 1000)));

/** One connection: sends a request, waits for the whole answer and repeats, until the time is over. */
function converse(): Promise<void> {
  return new Promise(resolve => {
    const socket = connect(order.url.replace('unix:', ''));
    let received = '';
    let since = 0;
    const ask = () => {
      since = performance.now();
      socket.write(requests[asked++ % NAMES]!);
    };
    socket.setEncoding('utf8');
    socket.on('connect', ask);
    socket.on('data', (chunk: string) => {
      received += chunk;
      if (!received.endsWith('\n')) return;
      latencies.push(performance.now() - since);
      if (!received.includes(order.lines.allow)) failures++;
      received = '';
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
