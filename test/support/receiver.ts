// Real HTTP receivers for events and notifications: they answer as they are told (a status, a hang, a reset, a
// redirect) and keep what arrived, to be checked by the official verifier of Standard Webhooks. Run as a
// program, a receiver writes each arrival down before it answers, so that it can be killed at any moment.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** A status, or something worse. */
export type Manner = number | 'hang' | 'reset' | 'redirect';

export interface Arrival {
  method: string;
  path: string;
  headers: Record<string, string>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
  json: any;
  /** The event's id; empty when it is not an event. */
  id: string;
}

export type Answering = (arrival: Arrival, earlier: number) => Manner | Promise<Manner>;

export class Receiver {
  readonly arrivals: Arrival[] = [];
  answer: Answering;
  readonly #server: http.Server;

  private constructor(answer: Answering) {
    this.answer = answer;
    this.#server = http.createServer((request, response) => this.#take(request, response));
  }

  static async start(answer: Answering = () => 200, port = 0): Promise<Receiver> {
    const receiver = new Receiver(answer);
    await new Promise<void>((resolve, reject) => {
      receiver.#server.once('error', reject);
      receiver.#server.listen(port, '127.0.0.1', resolve);
    });
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The events that arrived, in order, retries too. */
  get events(): Arrival[] {
    return this.arrivals.filter(each => each.id !== '');
  }

  of(referenceId: string): Arrival[] {
    return this.events.filter(each => each.json.data?.referenceId === referenceId);
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise(resolve => this.#server.close(() => resolve()));
  }

  async #take(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const arrival = await read(request);
    const earlier = this.arrivals.filter(each => each.id !== '' && each.id === arrival.id).length;
    this.arrivals.push(arrival);
    const manner = await this.answer(arrival, earlier);
    if (manner === 'hang') return;
    if (manner === 'reset') request.socket.resetAndDestroy();
    else if (manner === 'redirect') response.writeHead(307, { Location: `${this.url}/elsewhere` }).end();
    else response.writeHead(manner).end(`answered ${manner}`);
  }
}

async function read(request: http.IncomingMessage): Promise<Arrival> {
  let text = '';
  request.setEncoding('utf8');
  for await (const chunk of request) text += chunk;
  const headers = request.headers as Record<string, string>;
  const { method = '', url: path = '' } = request;
  let json: unknown = null;
  try {
    json = JSON.parse(text);
  } catch {}
  return { method, path, headers, text, json, id: headers['webhook-id'] ?? '' };
}

/** Whether the official verifier takes the arrival for one signed with the secret. */
export function verifies(secret: string, { text, headers }: Arrival): boolean {
  try {
    new Webhook(secret).verify(text, headers);
    return true;
  } catch {
    return false;
  }
}

/** The same without a look at the clock, for services that run on another. */
export function signedWith(secret: string, { id, text, headers }: Arrival): boolean {
  const at = new Date(Number(headers['webhook-timestamp']) * 1000);
  return (headers['webhook-signature'] ?? '').split(' ').includes(new Webhook(secret).sign(id, at, text));
}

// --- as a program of its own ---------------------------------------------------------------------

export interface Written {
  id: string;
  manner: Manner;
  verified: boolean;
  path: string;
}

export interface ProgramOptions {
  port: number;
  file: string;
  secret: string;
  /** How often, from 0 to 1, the first arrival of an event is treated badly. */
  badness: number;
}

/** A receiver in a process of its own; resolves once it listens. */
export function spawnReceiver(options: ProgramOptions): Promise<Bun.Subprocess> {
  return spawnListener(import.meta.path, options);
}

/** Runs a file as a program, which prints something once it listens. */
export async function spawnListener(file: string, options: object): Promise<Bun.Subprocess> {
  const child = Bun.spawn([process.execPath, file, JSON.stringify(options)], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const first = await child.stdout.getReader().read();
  if (first.done) throw new Error('the receiver did not start');
  return child;
}

export function writtenIn(file: string): Written[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  // A kill may have cut the last line short; then it was not answered either.
  return lines.slice(0, -1).flatMap(line => {
    try {
      return [JSON.parse(line) as Written];
    } catch {
      return [];
    }
  });
}

/** Weighted: a hang holds one of a webhook's places for 15 seconds. */
const BAD: Manner[] = [500, 500, 503, 'reset', 'reset', 'redirect', 404, 500, 'reset', 'hang'];

async function runProgram({ port, file, secret, badness }: ProgramOptions): Promise<void> {
  const seen = new Set(writtenIn(file).map(each => each.id));
  await Receiver.start(async arrival => {
    const bad = !seen.has(arrival.id) && Math.random() < badness;
    const manner = bad ? (BAD[Math.floor(Math.random() * BAD.length)] as Manner) : 200;
    seen.add(arrival.id);
    // Slow enough that a kill often meets an attempt under way.
    await Bun.sleep(20);
    const line: Written = { id: arrival.id, manner, verified: verifies(secret, arrival), path: arrival.path };
    appendFileSync(file, `${JSON.stringify(line)}\n`);
    return manner;
  }, port);
  process.stdout.write('listens\n');
}

if (import.meta.main) await runProgram(JSON.parse(process.argv[2] ?? '{}'));
