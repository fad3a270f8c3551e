// A receiver of the shipped audit log in a process of its own, which a test can kill at any time. It writes down every
// line before it answers. Large batches are refused, and some answers never come although all or half was written.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { spawnListener } from '../support/receiver.ts';

interface Options {
  port: number;
  file: string;
  /** How often, from 0 to 1, a batch is treated badly. */
  badness: number;
  most: number;
}

export interface ShippedLine {
  seq: number;
  id: string;
}

export function spawnShippedReceiver(options: Options): Promise<Bun.Subprocess> {
  return spawnListener(import.meta.path, options);
}

/** The lines in the order in which they came. */
export function shippedIn(file: string): ShippedLine[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map(line => JSON.parse(line) as ShippedLine);
}

function run({ port, file, badness, most }: Options): void {
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const lines = Buffer.concat(chunks).toString().split('\n').slice(0, -1);
    if (lines.length > most) return void response.writeHead(413).end();
    const bad = Math.random() < badness;
    const taken = bad && Math.random() < 0.5 ? lines.slice(0, lines.length / 2) : lines;
    // Slow enough that a kill often meets a batch under way.
    await Bun.sleep(10);
    appendFileSync(file, taken.map(line => `${line}\n`).join(''));
    if (!bad) response.writeHead(200).end();
    else if (Math.random() < 0.5) response.writeHead(503).end();
    else request.socket.resetAndDestroy();
  });
  server.listen(port, '127.0.0.1', () => process.stdout.write('listens\n'));
}

if (import.meta.main) run(JSON.parse(process.argv[2] ?? '{}'));
