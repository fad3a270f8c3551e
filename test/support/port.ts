// Ports for servers that a test names before they listen, or stops and starts again on the same one. They lie below
// those that the system gives away by itself: of these, any connection of another process may take one in between.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const LOWEST = 15_000;
/** How far apart processes of tests begin: they run side by side, and their ids follow each other. */
const APART = 997;

function firstGivenAway(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
  } catch {
    return 32_768;
  }
}

const COUNT = Math.max(firstGivenAway() - LOWEST, 10_000);
let taken = process.pid * APART;

/** Another one each time. */
export const nextPort = (): number => LOWEST + (taken++ % COUNT);

/** One that nobody listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = nextPort();
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
