// An HTTP/1.1 client for one tool server. With it a forwarded call costs a third less than with the runtime's fetch, which
// works in a thread of its own, so that every call goes there and back. It connects to addresses that were checked
// (../pins.ts), follows no redirect, uses no proxy, unpacks nothing, and sends no request twice. docs/decisions/0010 has
// the figures.

import type { TargetRules } from '../addresses.ts';
import { type Pin, Pins, type Surroundings } from '../pins.ts';
import { Connection, type Owner } from './connection.ts';
import type { IncomingResponse } from './response.ts';
import { unlessAborted } from './unless-aborted.ts';

/** How many connections are kept for later requests. */
const MAX_IDLE = 64;
/** How many connections may be opening: a server that takes none holds each of them for two minutes. */
const MAX_OPENING = 2000;
/** How long is waited for one of several addresses before the next is tried. Connecting may take 10 s in all. */
const CONNECT_MS = 3000;

export interface Outgoing {
  method: 'GET' | 'POST' | 'DELETE';
  /** Path and query. */
  path: string;
  /** What `headerLines` made. */
  headers: string;
  body: string | null;
  signal: AbortSignal;
}

export class HttpClient {
  readonly #origin: string;
  readonly #pins: Pins;
  readonly #idle: Connection[] = [];
  #opening = 0;
  #closed = false;
  readonly #owner: Owner;
  readonly #connectMs: number;

  constructor(origin: string, rules: TargetRules, surroundings?: Surroundings) {
    this.#origin = origin;
    this.#pins = new Pins(rules, surroundings);
    this.#connectMs = surroundings?.connectMs ?? CONNECT_MS;
    this.#owner = {
      free: connection => this.#free(connection),
      gone: connection => this.#gone(connection),
      now: surroundings?.now ?? (() => performance.now()),
    };
  }

  /** Resolves with the head of the answer. Rejects with the reason of the signal, or with the error of the connection. */
  send(request: Outgoing): Promise<IncomingResponse> {
    const pin = this.#pins.kept(this.#origin);
    const connection = pin === null ? null : this.#take(pin);
    return connection === null ? this.#sendAnew(request) : ask(connection, request);
  }

  /** Keeps no connection from now on. Requests under way are answered. */
  close(): void {
    this.#closed = true;
    for (const connection of this.#idle.splice(0)) connection.close();
  }

  async #sendAnew(request: Outgoing): Promise<IncomingResponse> {
    const { signal } = request;
    const pins = await unlessAborted(this.#pins.all(this.#origin), signal);
    return ask(this.#take(pins[0] as Pin) ?? (await this.#openedToOne(pins, signal)), request);
  }

  /** An idle connection to the address. One to an address of before is closed, and one that has been idle for too long. */
  #take(pin: Pin): Connection | null {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined) return null;
      if (connection.pin.address === pin.address && connection.isFresh) return connection;
      connection.close();
    }
  }

  /** A new connection to the first address that takes one. Nothing of a request was sent to those before it. */
  async #openedToOne(pins: readonly Pin[], signal: AbortSignal): Promise<Connection> {
    for (const [at, pin] of pins.entries()) {
      const isLast = at === pins.length - 1;
      const limit = isLast ? null : new Limit(signal, this.#connectMs);
      try {
        const connection = await this.#opened(pin, limit?.signal ?? signal);
        this.#pins.prefer(this.#origin, pin);
        return connection;
      } catch (error) {
        if (isLast || signal.aborted) throw error;
      } finally {
        limit?.end();
      }
    }
    throw new Error('there is no address');
  }

  /** A new connection. If the request is given up just when it is open, it is kept for the next one. */
  #opened(pin: Pin, signal: AbortSignal): Promise<Connection> {
    if (this.#opening >= MAX_OPENING) throw new Error('too many connections are opening');
    this.#opening++;
    const opening = Connection.open(pin, this.#owner, signal).finally(() => this.#opening--);
    return unlessAborted(opening, signal).catch(error => {
      opening.then(this.#owner.free, () => {});
      throw error;
    });
  }

  #free(connection: Connection): void {
    if (this.#closed || this.#idle.length >= MAX_IDLE) connection.close();
    else this.#idle.push(connection);
  }

  #gone(connection: Connection): void {
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }
}

/** A signal that is aborted with another one, or when its own time is up. */
class Limit {
  readonly #by: AbortSignal;
  readonly #controller = new AbortController();
  readonly #timer: Timer;

  constructor(by: AbortSignal, ms: number) {
    this.#by = by;
    this.#timer = setTimeout(() => this.#controller.abort(new Error('no connection in time')), ms);
    by.addEventListener('abort', this.#aborted);
    if (by.aborted) this.#aborted();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#by.removeEventListener('abort', this.#aborted);
  }

  readonly #aborted = () => this.#controller.abort(this.#by.reason);
}

function ask(
  connection: Connection,
  { method, path, headers, body, signal }: Outgoing,
): Promise<IncomingResponse> {
  // Size limits count bytes as they arrive, so compression is off: an answer could unpack to far more than the limit.
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${connection.pin.host}\r\nAccept-Encoding: identity\r\n${headers}`;
  if (body === null) return connection.ask(`${head}\r\n`, head.length + 2, signal);
  const length = Buffer.byteLength(body);
  const begun = `${head}Content-Length: ${length}\r\n\r\n`;
  return connection.ask(begun + body, begun.length + length, signal);
}

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e]*$/;
/** The client sets these itself: a second one could change what the server takes for the body. */
const OWN = /^(?:host|content-length|transfer-encoding|connection|accept-encoding)$/i;

/** Headers as they are sent, without those that are the client's own. Throws on what would not be one header each. */
export function headerLines(headers: Record<string, string>): string {
  const names = Object.keys(headers).filter(name => !OWN.test(name));
  // Some servers refuse a request that does not say who sends it.
  let lines = names.some(name => /^user-agent$/i.test(name)) ? '' : 'User-Agent: toolgate\r\n';
  for (const name of names) {
    const value = headers[name] as string;
    if (!NAME.test(name) || !VALUE.test(value))
      throw new TypeError(`The header ${JSON.stringify(name)} cannot be sent.`);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}
